package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// token is an adapter whose token can be revoked.
type token struct {
	*platform
	revoked atomic.Bool
	running atomic.Int32
	calls   atomic.Int32
}

func (a *token) check() error {
	if a.revoked.Load() {
		return &chat.SendError{Kind: chat.Auth, Err: errors.New("the token is revoked")}
	}
	a.calls.Add(1)
	return nil
}

func (a *token) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	a.running.Add(1)
	defer a.running.Add(-1)
	if a.revoked.Load() {
		return a.check()
	}
	return a.platform.Run(ctx, from, accept)
}

func (a *token) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	if err := a.check(); err != nil {
		return chat.Receipt{}, err
	}
	return a.platform.Send(ctx, to, m)
}

func (a *token) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	if err := a.check(); err != nil {
		return chat.Receipt{}, err
	}
	return a.platform.Edit(ctx, ref, m)
}

// reload reloads the gateway with changed options.
func (h house) reload(t *testing.T, change func(*gateway.Options)) {
	t.Helper()
	o := h.options
	o.Endpoints = slices.Clone(o.Endpoints)
	change(&o)
	if err := h.gateway.Reload(t.Context(), o); err != nil {
		t.Fatalf("reload: %v", err)
	}
	synctest.Wait()
}

// connected returns a function that changes options: the endpoint tg gets the given adapter.
func connected(p gateway.Platform) func(*gateway.Options) {
	return func(o *gateway.Options) {
		o.Endpoints = []gateway.Endpoint{{ID: "tg", Platform: p, Streaming: preview.Config{Enabled: true, MinTokens: 1, Cursor: "▌"}}}
	}
}

// A reload happens while a turn runs. The turn must end with the options with which it began, and the next turn must
// have the new options.
func TestReload_runningAnswer(t *testing.T) {
	for _, at := range []time.Duration{10, 150, 700, 1500, 1600} {
		synctest.Test(t, func(t *testing.T) {
			h := open(t, nil)
			h.answers["a"] = long
			h.say(t, ask("a"))
			later(at * time.Millisecond)
			next := newScript()
			next.answers["b"] = "another model"
			h.reload(t, func(o *gateway.Options) {
				o.Runner, o.Texts = next, gateway.DefaultTexts().With(map[string]string{string(gateway.TextNothing): "Nothing runs."})
				o.Endpoints[0].Streaming.Cursor = "_"
			})
			later(5 * time.Second)
			h.say(t, ask("b"))
			later(5 * time.Second)
			h.say(t, command("stop"))
			later(5 * time.Second)
			equal(t, "messages", h.sees(), []string{long, "another model", "Nothing runs."})
			if v := h.messages[0].versions; slices.ContainsFunc(v, func(s string) bool { return strings.Contains(s, "_") }) {
				t.Errorf("the running answer has the new cursor: %q", v)
			}
			if v := h.messages[1].versions; len(v) > 1 && !strings.HasSuffix(v[0], "_") {
				t.Errorf("the next answer has the old cursor: %q", v)
			}
			if h.started != 1 {
				t.Errorf("the adapter was started %d times", h.started)
			}
		})
	}
}

// A reload replaces an adapter, whose token was revoked, while a reply is shown. The reply must continue in its message
// through the new adapter. The new adapter must continue to receive where the old adapter stopped.
func TestReload_replacesAnAdapter(t *testing.T) {
	for _, at := range []time.Duration{10, 150, 700, 1500, 1600} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlatform()
			old, renewed := &token{platform: p}, &token{platform: p}
			h := openWith(t, house{platform: p, script: newScript()}, connected(old))
			h.answers["a"] = long
			h.say(t, ask("a"))
			later(at * time.Millisecond)
			old.revoked.Store(true)
			later(300 * time.Millisecond)
			h.reload(t, connected(renewed))
			if n := old.running.Load(); n != 0 {
				t.Errorf("%d old adapters receive", n)
			}
			later(20 * time.Second)
			equal(t, "messages", h.sees(), []string{long})
			equal(t, "resume cursors", p.resumes, []string{"", "1"})
			h.say(t, ask("b"))
			later(5 * time.Second)
			equal(t, "messages", h.sees(), []string{long, "re: b"})
			if renewed.calls.Load() == 0 {
				t.Error("the new adapter was not used")
			}
		})
	}
}

// A reload removes an endpoint. Messages that were accepted before must still be answered. When another reload adds the
// endpoint again, its state must be the same as before.
func TestReload_removesAndAddsAnEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		gone := &token{platform: p}
		h := openWith(t, house{platform: p, script: newScript()}, connected(gone))
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(200 * time.Millisecond)
		in := ask("b")
		in.To.Chat, in.Sender.ID = "8", "8"
		h.say(t, in)
		h.reload(t, func(o *gateway.Options) { o.Endpoints = nil })
		if n := gone.running.Load(); n != 0 {
			t.Errorf("%d removed adapters receive", n)
		}
		if n := len(h.gateway.Overview().Endpoints); n != 0 {
			t.Errorf("%d endpoints are shown", n)
		}
		later(10 * time.Second)
		equal(t, "messages", sorted(h.sees()), sorted([]string{long, "re: b"}))
		if n := len(h.gateway.Overview().Conversations); n != 0 {
			t.Errorf("%d conversations are left", n)
		}
		h.reload(t, connected(&token{platform: p}))
		h.say(t, ask("c"))
		later(5 * time.Second)
		equal(t, "messages", h.sees()[2:], []string{"re: c"})
	})
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// A reload adds an endpoint at which an earlier process left unfinished work. The gateway must continue this unfinished work.
func TestReload_resumesWorkOfANewEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("a"))
		later(400 * time.Millisecond)
		l.kill()
		l.begin(t, func(o *gateway.Options) { o.Endpoints = nil })
		later(time.Second)
		l.reload(t, connected(l.platform))
		later(10 * time.Second)
		equal(t, "messages", l.sees(), []string{long})
		l.nothingLeft(t)
	})
}

// The platform answers a call with status 429, and then a reload replaces the adapter. The rate-limit block must still apply.
func TestReload_keepsBlocks(t *testing.T) { // D4
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		h := openWith(t, house{platform: p, script: newScript()}, connected(&token{platform: p}))
		h.answers["a"] = "words"
		h.failing(&chat.SendError{Kind: chat.RateLimited, Scope: chat.ScopeEndpoint, RetryAfter: 30 * time.Second})
		h.say(t, ask("a"))
		later(2 * time.Second)
		h.failing(nil)
		renewed := &token{platform: p}
		h.reload(t, connected(renewed))
		later(25 * time.Second)
		if n := renewed.calls.Load(); n != 0 {
			t.Errorf("%d calls before the block has ended", n)
		}
		later(10 * time.Second)
		equal(t, "messages", h.sees(), []string{"words"})
	})
}

func TestReload_refusesWithoutAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(300 * time.Millisecond)
		next := newScript()
		for name, change := range map[string]func(*gateway.Options){
			"configured twice": func(o *gateway.Options) { o.Endpoints = append(o.Endpoints, o.Endpoints[0]) },
			"of another kind":  func(o *gateway.Options) { o.Endpoints[0].Platform = mute{newPlatform()} },
		} {
			o := h.options
			o.Endpoints = slices.Clone(o.Endpoints)
			o.Runner = next
			change(&o)
			if err := h.gateway.Reload(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), "capability") {
				t.Errorf("got %v, want that it is %s", err, name)
			}
		}
		h.say(t, ask("b"))
		later(5 * time.Second)
		if len(next.questions()) != 0 || h.started != 1 {
			t.Errorf("the new model was asked %q, the adapter started %d times", next.questions(), h.started)
		}
		if err := h.stop(); err != nil {
			t.Error(err)
		}
		if err := h.gateway.Reload(t.Context(), h.options); err == nil {
			t.Error("a gateway that has stopped was reloaded")
		}
	})
}

// A reload changes access and usage limits. The changes must apply at once, and turns that were counted before must
// still count.
func TestReload_accessAndLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Limits = access.Limits{TurnsPerMinute: 2} })
		h.say(t, ask("a"))
		later(2 * time.Second)
		h.reload(t, func(o *gateway.Options) { o.Limits = access.Limits{TurnsPerMinute: 1} })
		h.say(t, ask("b"))
		later(2 * time.Second)
		if got := h.sees(); len(got) != 2 || got[1] == "re: b" {
			t.Errorf("got %q, want that the limit is reached", got)
		}
		h.reload(t, func(o *gateway.Options) { o.Access = access.Rules{} })
		h.say(t, ask("c"))
		later(2 * time.Second)
		if n := len(h.sees()); n != 2 {
			t.Errorf("a stranger was answered: %q", h.sees())
		}
	})
}

func TestReload_setsTheMenuAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		later(5 * time.Second)
		h.reload(t, func(o *gateway.Options) {
			o.Remembers = true
			o.Access = access.Rules{Open: true, Admins: []access.Rule{{Endpoint: "tg", User: "9"}}}
		})
		later(time.Second)
		if !slices.ContainsFunc(h.menu(), func(c chat.CommandSpec) bool { return c.Name == "memory" }) || !slices.Equal(h.admins, []chat.UserID{"9"}) {
			t.Errorf("got %v for %v", h.menu(), h.admins)
		}
	})
}

// An endpoint has stopped because the platform refused its credentials. A reload must make the endpoint connect again.
func TestReload_triesAStoppedEndpointAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		a := &token{platform: p}
		a.revoked.Store(true)
		h := openWith(t, house{platform: p, script: newScript()}, connected(a))
		later(time.Minute)
		if s := h.gateway.Overview().Endpoints[0].State; s != gateway.Stopped {
			t.Fatalf("got %s", s)
		}
		a.revoked.Store(false)
		h.reload(t, connected(a))
		later(5 * time.Second)
		if s := h.gateway.Overview().Endpoints[0].State; s != gateway.Connected {
			t.Errorf("got %s", s)
		}
	})
}

// A reload changes options of the message queue. The queues of running conversations must follow the new options.
func TestReload_waitingMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Busy, o.MaxQueued = gateway.Interrupt, 1 })
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(700 * time.Millisecond)
		h.reload(t, func(o *gateway.Options) { o.Busy, o.MaxQueued = gateway.Queue, 2 })
		for _, text := range []string{"b", "c", "d"} {
			h.say(t, ask(text))
			later(50 * time.Millisecond)
		}
		later(20 * time.Second)
		equal(t, "questions", h.questions(), []string{"a", "b", "c"})
		if got := h.sees(); !slices.Contains(got, long) || slices.Contains(got, "re: d") {
			t.Errorf("got %q", got)
		}
	})
}

// Many reloads happen at various moments. No answer may be lost, duplicated or left with a cursor.
func TestReload_manyTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		h := openWith(t, house{platform: p, script: newScript()}, connected(&token{platform: p}))
		h.answers["a"] = long
		for i := range 40 {
			h.say(t, ask("a"))
			for range 3 {
				later(time.Duration(137*(i%7)+1) * time.Millisecond)
				h.reload(t, connected(&token{platform: p}))
				h.reload(t, func(*gateway.Options) {})
			}
			later(20 * time.Second)
		}
		if got := h.sees(); len(got) != 40 || slices.ContainsFunc(got, func(s string) bool { return s != long }) {
			t.Errorf("got %d messages: %q", len(got), got)
		}
	})
}

// A reload happens while a tool call waits for approval. The question must stay open.
func TestReload_keepsAQuestionOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		l.reload(t, func(o *gateway.Options) { o.ApprovalTimeout = time.Minute })
		l.say(t, pressing(l.button("approve:")))
		later(10 * time.Second)
		if n := l.times(); n != 1 {
			t.Errorf("the tool ran %d times", n)
		}
		equal(t, "messages", l.sees(), []string{switched})
	})
}
