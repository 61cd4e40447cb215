package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// paned is a platform with a pane, and with a typing indicator that must be removed.
type paned struct {
	*platform
	prompts  []chat.Prompt
	heading  string
	name     string
	suggests int
	typing   bool
}

func (p *paned) Capabilities() chat.Capabilities {
	c := p.platform.Capabilities()
	c.Pane = true
	return c
}

func (p *paned) do(ctx context.Context, change func()) error {
	err := p.pass(ctx)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		change()
	}
	return err
}

func (p *paned) Suggest(ctx context.Context, _ chat.Target, heading string, prompts []chat.Prompt) error {
	return p.do(ctx, func() { p.heading, p.prompts, p.suggests = heading, prompts, p.suggests+1 })
}

func (p *paned) NameThread(ctx context.Context, _ chat.Target, name string) error {
	return p.do(ctx, func() { p.name = name })
}

func (p *paned) Typing(ctx context.Context, _ chat.Target) error {
	return p.do(ctx, func() { p.typing = true })
}

func (p *paned) Idle(ctx context.Context, _ chat.Target) error {
	return p.do(ctx, func() { p.typing = false })
}

// opened returns the event that reports that a person has opened the pane.
func opened() chat.Inbound {
	in := ask("")
	in.Kind, in.To.Thread, in.ID = chat.Opened, "9", "thread:9"
	return in
}

// asked returns a question in the pane's thread.
func asked(text string) chat.Inbound {
	in := ask(text)
	in.To.Thread = "9"
	return in
}

func openPane(t *testing.T, change func(*gateway.Options)) (*paned, house) {
	t.Helper()
	p := &paned{platform: newPlatform()}
	h := openWith(t, house{platform: p.platform, script: newScript()}, func(o *gateway.Options) {
		o.Endpoints[0].Platform = p
		if change != nil {
			change(o)
		}
	})
	return p, h
}

func TestAnOpenedPaneIsGreetedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, h := openPane(t, nil)
		for range 3 {
			h.say(t, opened())
			later(5 * time.Second)
		}
		equal(t, "messages", h.sees(), []string{"Hi! How can I help?"})
		if p.suggests != 1 || p.heading != "" || len(p.prompts) != gateway.MaxPrompts || p.prompts[0] != (chat.Prompt{Label: "What can you do?", Text: "What can you do?"}) {
			t.Errorf("suggested %d times: got %q %+v", p.suggests, p.heading, p.prompts)
		}
		h.say(t, asked("\n first  line\nsecond"))
		h.say(t, asked("another"))
		later(5 * time.Second)
		if p.name != "first line" || p.typing {
			t.Errorf("name: got %q; typing: %t", p.name, p.typing)
		}
		h.say(t, asked("again"))
		h.say(t, ask("outside of threads"))
		later(5 * time.Second)
		if p.name != "first line" || p.suggests != 1 {
			t.Errorf("name: got %q; suggested %d times", p.name, p.suggests)
		}
	})
}

// A person opens a pane without threads. The bot must only show suggestions in the pane, and must send and store
// nothing. A person without access must see no suggestions.
func TestAPaneWithoutThreads(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := &spy{Store: memory.New()}
			p, h := openPane(t, func(o *gateway.Options) {
				o.Store, o.Access = store, access.Rules{Open: allowed, Pair: true}
				o.Texts = gateway.DefaultTexts().With(map[string]string{"greeting": "Moin!", "prompts": "\n a | b \n"})
			})
			in := opened()
			in.To.Thread = ""
			for i := range 3 {
				in.ID = chat.MessageID(fmt.Sprint(i))
				h.say(t, in)
				later(time.Second)
			}
			if len(h.sees())+store.accepted > 0 {
				t.Errorf("sent %q, stored %d", h.sees(), store.accepted)
			}
			if allowed != (p.suggests == 3) || allowed != (p.heading == "Moin!") || allowed != slices.Equal(p.prompts, []chat.Prompt{{Label: "a", Text: "b"}}) {
				t.Errorf("allowed %t: suggested %d times, %q %+v", allowed, p.suggests, p.heading, p.prompts)
			}
		})
	}
}

// A person opens the pane, and perhaps asks a question, and then the process is killed. The next process must complete
// the greeting and the answer.
func TestAPaneSurvivesAKill(t *testing.T) { // D10
	for at := time.Duration(0); at < 1500*time.Millisecond; at += 20 * time.Millisecond {
		for _, question := range []string{"", "a"} {
			synctest.Test(t, func(t *testing.T) {
				p := &paned{platform: newPlatform()}
				l := life{store: memory.New(), platform: p.platform}
				begin := func() { l.begin(t, func(o *gateway.Options) { o.Endpoints[0].Platform = p }) }
				begin()
				l.say(t, opened())
				want := []string{"Hi! How can I help?"}
				if question != "" {
					later(time.Second)
					l.say(t, asked(question))
					want = append(want, long)
				}
				later(at)
				l.kill()
				begin()
				l.say(t, opened()) // the platform delivers the event again
				later(2 * time.Minute)
				equal(t, fmt.Sprintf("%q, killed after %v", question, at), l.sees(), want)
				if len(p.prompts) != gateway.MaxPrompts || p.name != question || p.typing {
					t.Errorf("%q, killed after %v: %d prompts, name %q, typing %t", question, at, len(p.prompts), p.name, p.typing)
				}
			})
		}
	}
}

func TestParsePrompts(t *testing.T) {
	for text, want := range map[string]string{
		"":              "1 to 4 lines, not 0",
		"\n \n":         "1 to 4 lines, not 0",
		"a\nb\nc\nd\ne": "1 to 4 lines, not 5",
		"a |":           "needs a label and a question",
		"| b":           "needs a label and a question",
		"|":             "1 to 4 lines, not 0",
	} {
		if got, err := gateway.ParsePrompts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v and %v, want %q", text, got, err, want)
		}
	}
	got, err := gateway.ParsePrompts("  a\r\n\nb|c | d\n")
	if err != nil || !slices.Equal(got, []chat.Prompt{{Label: "a", Text: "a"}, {Label: "b", Text: "c | d"}}) {
		t.Errorf("got %+v and %v", got, err)
	}
	for key, text := range gateway.DefaultTexts() {
		if err := gateway.CheckText(string(key), text); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}
