package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
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

// hosts contains the in-memory listeners of stand-ins, by host name.
type hosts map[string]*memnet.Listener

func (h hosts) transport() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		name, _, _ := strings.Cut(address, ":")
		return h[name].Dial(ctx, network, address)
	}}
}

const longConfig = `
models: [{name: main, base_url: "http://model.test/v1", api_key: k, model: standin, context_window: 4000, max_output_tokens: 500}]
platforms: {telegram: {token: "1:a", api_base: "http://telegram.test"}}
admin: {listen: ""}
access: {default: allow, limits: {turns_per_minute: 0}}
streaming: {enabled: true}
`

// longConversation runs a conversation of 500 turns in virtual time.
func longConversation(t *testing.T, factor string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { converse(t, factor) })
}

func converse(t *testing.T, factor string) {
	net := hosts{"telegram.test": memnet.Listen(), "model.test": memnet.Listen()}
	people := telegram.New(telegram.Options{Token: "1:a"})
	model := openai.New(openai.Options{Key: "k", Rate: -1, Context: 4000})
	if err := model.Rule(openai.Rule{Do: "token_factor=" + factor}); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 2)
	go func() { served <- people.Serve(net["telegram.test"]) }()
	go func() { served <- model.Serve(net["model.test"]) }()
	c, err := config.Parse("config.yaml", []byte(longConfig), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	transport := net.transport()
	a, err := app.New(t.Context(), c, app.Options{
		Log: slog.New(slog.DiscardHandler), Transport: transport, Store: memory.New(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()

	const turns = 500
	var asked []string
	for i := range turns {
		question := fmt.Sprintf("words: %d", 10+i%40)
		if i == 2 {
			question = "say: Noted. Please remember that the key lies under the blue stone."
		}
		asked = append(asked, question)
		people.Say(telegram.Incoming{User: ada, Text: question})
		time.Sleep(10 * time.Second)
	}
	people.Say(telegram.Incoming{User: ada, Text: "/status"})
	time.Sleep(5 * time.Second)

	var shown []string
	for _, m := range people.History(ada) {
		if m.FromBot && m.Alive() {
			shown = append(shown, m.Text())
		}
	}
	told := slices.IndexFunc(shown, func(s string) bool { return strings.HasPrefix(s, "Our conversation is long") })
	if told < 0 {
		t.Fatalf("nobody was told that the beginning was summarized; the last messages are %q", shown[max(0, len(shown)-3):])
	}
	shown = slices.Delete(shown, told, told+1)
	if len(shown) != turns+1 {
		t.Fatalf("%d messages were shown, want %d answers and the status", len(shown), turns)
	}
	for i, q := range asked {
		if want := openai.Answer(q); shown[i] != want {
			t.Errorf("answer %d: got %q, want %q", i, shown[i], want)
		}
	}
	if status := shown[turns]; strings.Contains(status, "Summaries: 0") || !strings.Contains(status, "of 4,000 tokens") {
		t.Errorf("status: %q", status)
	}
	requests := model.Requests()
	last := requests[len(requests)-1]
	if !strings.Contains(string(last.Body), "under the blue stone") {
		t.Errorf("the last request knows nothing of turn 3: %s", last.Body)
	}

	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	transport.CloseIdleConnections()
	if err := errors.Join(people.Close(), model.Close(), <-served, <-served); err != nil {
		t.Error(err)
	}
}
