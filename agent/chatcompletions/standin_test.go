package chatcompletions_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/agent/chatcompletions"
	"telex/standin/memnet"
	"telex/standin/openai"
)

// provider runs f in a synctest bubble with an agent and the stand-in of its provider.
func provider(t *testing.T, f func(*testing.T, *agent.Agent, *openai.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := openai.New(openai.Options{Key: secret, Models: []string{"gpt-5-mini"}, Rate: 50})
		transport := memnet.Serve(t, server).Transport(t)
		log := slog.New(slog.DiscardHandler)
		model, err := chatcompletions.New(chatcompletions.Options{
			Name: "main", BaseURL: "http://provider/v1", APIKey: secret, Model: "gpt-5-mini",
			MaxOutputTokens: 1_000_000, Stream: true, Transport: transport, Log: log,
		})
		if err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(agent.Options{
			Models: []agent.ModelOptions{{Model: model}}, ThinkTags: []string{"think", "thinking", "reasoning"}, Log: log,
			Limits: agent.Limits{Turn: 5 * time.Minute, FirstToken: 20 * time.Second, Silence: 10 * time.Second, ModelCalls: 16},
		})
		if err != nil {
			t.Fatal(err)
		}
		f(t, a, server)
	})
}

// told runs a turn, and returns the text and the reasoning that the events contain.
func told(ctx context.Context, a *agent.Agent, question string, stream bool) (text, reasoning string, resets int, r agent.Result, err error) {
	turn := agent.Turn{Stream: stream, Messages: []agent.Message{{Role: agent.User, Text: question}}}
	r, err = a.Run(ctx, turn, func(e agent.Event) {
		switch e := e.(type) {
		case agent.Text:
			text += e.Delta
		case agent.Reasoning:
			reasoning += e.Delta
		case agent.Reset:
			text = ""
			resets++
		}
	})
	return text, reasoning, resets, r, err
}

func TestStandin(t *testing.T) {
	tides := openai.Answer("Explain the tides")
	lines := agent.DefaultLines()
	for _, tt := range []struct {
		name, question string
		stop           agent.StopReason
		text           string
		reasoning      string
		resets, calls  int
		noUsage        bool
	}{
		{name: "plain", question: "Explain the tides", text: tides},
		{name: "jitter and big chunks", question: "{{standin jitter=0.5 chunk=7}} Explain the tides", text: tides},
		{name: "CRLF, noise and comments (F10)", question: "{{standin crlf noise=3 comment_every=2}} Explain the tides", text: tides},
		{name: "no space after the colon, several lines", question: "{{standin nospace multiline no_last_newline}} Explain the tides", text: tides},
		{name: "a megabyte in one line", question: "{{standin rate=0 chunk=1048576}} length: 1048576", text: openai.Answer("length: 1048576")},
		{name: "cut connection (F09)", question: "{{standin cut=120 on=stream times=1}} Explain the tides", text: tides, resets: 1, calls: 2},
		{name: "early end (F09)", question: "{{standin eof=120 on=stream times=1}} Explain the tides", text: tides, resets: 1, calls: 2},
		{name: "end without finish_reason (F09)", question: "{{standin eof=text on=stream times=1}} Explain the tides", text: tides, resets: 1, calls: 2},
		{name: "end after finish_reason", question: "{{standin eof=finish}} Explain the tides", text: tides, noUsage: true},
		{name: "hang after finish_reason", question: "{{standin hang=finish}} Explain the tides", text: tides, noUsage: true},
		{name: "error event", question: "{{standin fail=50 on=stream times=1}} Explain the tides", text: tides, resets: 1, calls: 2},
		{name: "error of vLLM", question: "{{standin fail=50 fail_as=vllm on=stream times=1}} Explain the tides", text: tides, resets: 1, calls: 2},
		{name: "error of OpenRouter", question: "{{standin fail=50 fail_as=openrouter on=stream times=1}} Explain the tides", text: tides, resets: 1, calls: 2},
		{name: "error event by name", question: "{{standin fail=50 fail_as=event on=stream times=1}} Explain the tides", text: tides, resets: 1, calls: 2},
		{name: "busy at first", question: "{{standin status=503 times=2}} say: Hello.", text: "Hello.", calls: 3},
		{name: "rate limited at first", question: "{{standin status=429 retry_after=7 times=1}} say: Hello.", text: "Hello.", calls: 2},
		{name: "no streaming", question: "{{standin refuse=stream}} say: Hello.", text: "Hello.", calls: 2},
		{name: "no stream_options", question: "{{standin refuse=stream_options usage=off}} say: Hello.", text: "Hello.", noUsage: true, calls: 2},
		{name: "only max_tokens", question: "{{standin refuse=max_completion_tokens}} say: Hello.", text: "Hello.", calls: 2},
		{name: "reasoning", question: `{{standin think="Let me see."}} say: Hello.`, text: "Hello.", reasoning: "Let me see."},
		{name: "reasoning, the other name", question: `{{standin think="Let me see." think_as=reasoning}} say: Hello.`, text: "Hello.", reasoning: "Let me see."},
		{name: "reasoning, both names", question: `{{standin think="Let me see." think_as=both}} say: Hello.`, text: "Hello.", reasoning: "Let me see."},
		{name: "think tags (F34)", question: `{{standin think="Let me see." think_as=tags}} say: Hello.`, text: "Hello.", reasoning: "Let me see."},
		{name: "only a closing tag (F34)", question: `{{standin think="Let me see." think_as=open_tag_missing}} say: Hello.`, text: "Hello.", reasoning: "Let me see.", resets: 1},
		{name: "nothing", question: "{{standin empty}} hi", stop: agent.StopEmpty, text: lines[agent.StopEmpty]},
		{name: "refusal", question: `{{standin refusal="I can't."}} hi`, stop: agent.StopRefused, text: lines[agent.StopRefused]},
		{name: "length", question: "{{standin finish=length}} say: Hello", stop: agent.StopLength, text: "Hello\n\n" + lines[agent.StopLength]},
		{name: "filter", question: "{{standin finish=content_filter}} say: Hello", stop: agent.StopFiltered, text: "Hello\n\n" + lines[agent.StopFiltered]},
		{name: "usage in every chunk", question: "{{standin usage=each}} Explain the tides", text: tides},
	} {
		for _, stream := range []bool{true, false} {
			if !stream && (tt.resets > 0 || tt.noUsage || strings.Contains(tt.question, "refuse=stream")) {
				continue // this case works only with a stream
			}
			t.Run(tt.name+map[bool]string{true: "/stream", false: "/whole"}[stream], func(t *testing.T) {
				provider(t, func(t *testing.T, a *agent.Agent, server *openai.Server) {
					text, reasoning, resets, r, err := told(t.Context(), a, tt.question, stream)
					stop, calls := tt.stop, max(tt.calls, 1)
					if stop == "" {
						stop = agent.StopDone
						if strings.TrimSpace(text) != r.Text {
							t.Errorf("told %q, result %q", text, r.Text)
						}
					}
					if err != nil || r.Stop != stop || r.Text != strings.TrimSpace(tt.text) || r.Partial {
						t.Errorf("got %s %.200q, partial %v, error %v\nwant %s %.200q", r.Stop, r.Text, r.Partial, err, stop, tt.text)
					}
					if strings.TrimSpace(reasoning) != tt.reasoning {
						t.Errorf("reasoning %q, want %q", reasoning, tt.reasoning)
					}
					if stream && resets != tt.resets || r.ModelCalls != calls {
						t.Errorf("%d resets, %d calls, want %d and %d", resets, r.ModelCalls, tt.resets, calls)
					}
					if none := r.Usage == (agent.Usage{}); none != tt.noUsage {
						t.Errorf("usage %+v", r.Usage)
					}
					for _, req := range server.Requests() {
						if req.Status == http.StatusBadRequest && !strings.Contains(tt.question, "refuse=") {
							t.Errorf("the provider refused: %s", req.Error)
						}
					}
				})
			})
		}
	}
}

func TestStandinCallsToolsThatWereNotOffered(t *testing.T) {
	for _, form := range []string{"index", "gemini", "ollama", "repeat_ids", "empty_ids", "null_index"} {
		provider(t, func(t *testing.T, a *agent.Agent, _ *openai.Server) {
			_, _, _, r, err := told(t.Context(), a, "{{standin calls_as="+form+` call="time {}" say="Let me see."}} hi`, true)
			if want := "Let me see.\n\n" + agent.DefaultLines()[agent.StopNoTool]; err != nil || r.Stop != agent.StopNoTool || r.Text != want {
				t.Errorf("%s: got %s %q, %v, want %q", form, r.Stop, r.Text, err, want)
			}
		})
	}
}

// F60: in the middle of an answer, the provider sends nothing but keep-alives. The limit on silence must end the turn.
func TestStandinSilenceF60(t *testing.T) {
	provider(t, func(t *testing.T, a *agent.Agent, server *openai.Server) {
		_, _, _, r, err := told(t.Context(), a, "{{standin hang=10 comment_interval=1s}} Explain the tides", true)
		if r.Stop != agent.StopSilence || err == nil || !r.Partial || r.Text == "" {
			t.Errorf("got %s %q, %v", r.Stop, r.Text, err)
		}
		if r.Elapsed < 20*time.Second || r.Elapsed > 22*time.Second { // there were two attempts
			t.Errorf("took %v", r.Elapsed)
		}
		synctest.Wait()
		if got := server.Requests()[0].End; got != openai.EndClientClosed {
			t.Errorf("the provider saw the end %q", got)
		}
	})
}

func TestStandinTextIsNotDelayed(t *testing.T) {
	provider(t, func(t *testing.T, a *agent.Agent, server *openai.Server) {
		var last time.Time
		_, err := a.Run(t.Context(), agent.Turn{Stream: true, Messages: []agent.Message{{Role: agent.User, Text: "words: 20"}}},
			func(agent.Event) { last = time.Now() })
		if err != nil {
			t.Fatal(err)
		}
		if sent := server.Requests()[0].LastToken; last.Sub(sent) > 0 {
			t.Errorf("the last word was told %v after it was sent", last.Sub(sent))
		}
	})
}

func TestStandinAcceptsImages(t *testing.T) {
	var photo bytes.Buffer
	if err := png.Encode(&photo, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	provider(t, func(t *testing.T, a *agent.Agent, server *openai.Server) {
		question := agent.Message{Role: agent.User, Text: "say: a cat", Images: []agent.Image{{MediaType: "image/png", Data: photo.Bytes()}}}
		r, err := a.Run(t.Context(), agent.Turn{Stream: true, Messages: []agent.Message{question}}, func(agent.Event) {})
		if err != nil || r.Text != "a cat" || len(server.Requests()) != 1 {
			t.Errorf("got %q, %v, %d requests", r.Text, err, len(server.Requests()))
		}
	})
}

// The agent must send a file as a content part of the type file. If the provider refuses files, the request is repeated without
// the file, and a note tells the model that a file is missing.
func TestFiles(t *testing.T) {
	question := func(text string) agent.Turn {
		return agent.Turn{Stream: true, Messages: []agent.Message{{
			Role: agent.User, Text: text, Files: []agent.File{{Name: "scan.pdf", MediaType: "application/pdf", Content: []byte("%PDF-1.7")}},
		}}}
	}
	provider(t, func(t *testing.T, a *agent.Agent, _ *openai.Server) {
		r, err := a.Run(t.Context(), question("files:"), func(agent.Event) {})
		if want := "scan.pdf, application/pdf, 8 bytes"; err != nil || r.Text != want {
			t.Errorf("got %q, %v, want %q", r.Text, err, want)
		}
	})
	provider(t, func(t *testing.T, a *agent.Agent, server *openai.Server) {
		if err := server.Rule(openai.Rule{Do: "refuse=file"}); err != nil {
			t.Fatal(err)
		}
		for _, calls := range []int{2, 1} { // the second turn already knows that the model refuses files
			r, err := a.Run(t.Context(), question("say: Hello."), func(agent.Event) {})
			if err != nil || r.ModelCalls != calls {
				t.Errorf("got %q after %d calls, %v", r.Text, r.ModelCalls, err)
			}
			if last := server.Requests(); !strings.Contains(string(last[len(last)-1].Body), "takes no files") || len(last[len(last)-1].Documents) > 0 {
				t.Errorf("asked with %s", last[len(last)-1].Body)
			}
		}
	})
}
