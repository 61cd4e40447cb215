package app_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/app"
	"telex/internal/config"
	"telex/internal/store/memory"
	"telex/standin/memnet"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// visit runs a whole daemon between the stand-ins of a platform and of a model, for one question.
type visit struct {
	people *telegram.Server
	model  *openai.Server
	log    strings.Builder
}

// answers returns the texts of the bot's messages that the person ada sees.
func (v *visit) answers() (texts []string) {
	for _, m := range v.people.History(ada) {
		if m.FromBot && m.Alive() {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

const ada = 1001

// ask runs the daemon with the shortest possible configuration, to which it appends the parameter more, and asks a question.
func (v *visit) ask(t *testing.T, o openai.Options, model, more, question string) {
	t.Helper()
	net := hosts{"telegram.test": memnet.Listen(), "model.test": memnet.Listen()}
	o.Key = "k"
	v.people, v.model = telegram.New(telegram.Options{Token: "1:a"}), openai.New(o)
	served := make(chan error, 2)
	go func() { served <- v.people.Serve(net["telegram.test"]) }()
	go func() { served <- v.model.Serve(net["model.test"]) }()
	text := `
models: [{name: main, base_url: "http://model.test/v1", api_key: k, model: standin` + model + `}]
platforms: {telegram: {token: "1:a", api_base: "http://telegram.test"}}
admin: {listen: ""}
access: {allow: ["telegram:user:1001"]}
streaming: {enabled: true}
` + more
	c, err := config.Parse("config.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	transport := net.transport()
	a, err := app.New(t.Context(), c, app.Options{Log: slog.New(slog.NewTextHandler(&v.log, nil)), Transport: transport, Store: memory.New()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	v.people.Say(telegram.Incoming{User: ada, Text: question})
	time.Sleep(2 * time.Minute)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	transport.CloseIdleConnections()
	if err := errors.Join(v.people.Close(), v.model.Close(), <-served, <-served); err != nil {
		t.Error(err)
	}
}

// The shortest possible configuration names a model with a small context window. The model must be able to answer,
// whatever maximum length of an answer is configured.
func TestShortestConfiguration_smallWindow(t *testing.T) {
	for name, model := range map[string]string{
		"as it is":                ``,
		"a cap above the window":  `, max_output_tokens: 4096`,
		"a cap nearly as large":   `, max_output_tokens: 3990`,
		"by the other API":        `, api: responses, max_output_tokens: 4096`,
		"and a window that is it": `, context_window: 4000, max_output_tokens: 3999`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var v visit
				v.ask(t, openai.Options{Rate: -1, Context: 4000}, model, "", "words: 50")
				if got := v.answers(); len(got) != 1 || got[0] != openai.Answer("words: 50") {
					t.Errorf("ada sees %q\n%s", got, v.log.String())
				}
			})
		})
	}
}

// No maximum length of an answer is configured, so requests must not limit it. If an answer ends because of the model's own
// limit, people must see a line that says so.
func TestShortestConfiguration_noCap(t *testing.T) {
	for _, api := range []string{"chat_completions", "responses"} {
		synctest.Test(t, func(t *testing.T) {
			var v visit
			v.ask(t, openai.Options{Rate: -1}, ", api: "+api, "", "{{standin finish=length}} say: Half an")
			body := string(v.model.Requests()[0].Body)
			for _, key := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
				if strings.Contains(body, key) {
					t.Errorf("%s: the request holds %s", api, key)
				}
			}
			if got := v.answers(); len(got) != 1 || !strings.Contains(got[0], "reached the length limit") {
				t.Errorf("%s: ada sees %q", api, got)
			}
		})
	}
}

// If show_reasoning is set, requests to the Responses API must ask for summaries of the reasoning, and people must see
// the summaries.
func TestShowReasoning_ofTheResponsesAPI(t *testing.T) {
	for _, show := range []string{"off", "summary"} {
		synctest.Test(t, func(t *testing.T) {
			var v visit
			v.ask(t, openai.Options{Rate: 3}, ", api: responses", "agent: {show_reasoning: "+show+"}",
				`{{standin think="Weighing the moon against the sun. It is far away and large. It is hot, too, and bright all day long, in summer more than in winter."}} say: Noon it is, and noon it stays for a while.`)
			asked := strings.Contains(string(v.model.Requests()[0].Body), `"summary":"auto"`)
			seen := false
			for _, m := range v.people.History(ada) {
				for _, version := range m.Versions {
					seen = seen || m.FromBot && strings.Contains(version.Text, "far away")
				}
			}
			if want := show == "summary"; asked != want || seen != want {
				t.Errorf("%s: a summary was asked for: %t, and seen: %t\n%s", show, asked, seen, v.log.String())
			}
		})
	}
}

// A single request has more tokens than the account may use per minute, so the provider would refuse it again and
// again. telex must give up after two requests at most.
func TestTokensPerMinute_areNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v visit
		v.ask(t, openai.Options{Rate: -1}, "", "",
			`{{standin status=413 code=rate_limit_exceeded message="Request too large for model x on tokens per minute (TPM): Limit 12, Requested 14137, please reduce your message size"}} hi`)
		if n := len(v.model.Requests()); n > 2 {
			t.Errorf("the model was asked %d times", n)
		}
		if got := v.answers(); len(got) != 1 || !strings.Contains(got[0], "isn't available right now") {
			t.Errorf("ada sees %q\n%s", got, v.log.String())
		}
	})
}
