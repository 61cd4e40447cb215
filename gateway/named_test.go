package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/access"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// threaded is a platform with buttons, on which commands can't be typed in threads.
type threaded struct{ *attentive }

func (p threaded) Capabilities() chat.Capabilities {
	c := p.attentive.Capabilities()
	c.Buttons = true
	return c
}

func (p threaded) Profile(to chat.Target) chat.Profile {
	profile := p.attentive.Profile(to)
	profile.NoCommands = to.Thread != ""
	return profile
}

// button returns the id of the button below the newest message, or "" if that message has no button.
func (p threaded) button() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.order) == 0 {
		return ""
	}
	m := p.state[p.order[len(p.order)-1]]
	if len(m.Actions) != 1 {
		return ""
	}
	return m.Actions[0].ID
}

func openThreaded(t *testing.T, change func(*gateway.Options)) (house, threaded) {
	t.Helper()
	p := threaded{&attentive{state: make(map[chat.MessageID]chat.Outgoing)}}
	h := house{platform: newPlatform(), script: &script{answers: map[string]string{}, stop: map[string]agent.StopReason{}}}
	p.platform = h.platform
	return openWith(t, h, func(o *gateway.Options) {
		o.Endpoints[0].Platform = p
		if change != nil {
			change(o)
		}
	}), p
}

func inThread(in chat.Inbound) chat.Inbound {
	in.To.Thread = "t"
	return in
}

func TestBareWordsAreCommandsOnPlatformsWithoutCommands(t *testing.T) {
	for _, tt := range []struct {
		text     string
		thread   bool
		question bool // the text goes to the model
		sees     string
	}{
		{text: "stop", thread: true, sees: "Nothing is running."},
		{text: " Stop\n", thread: true, sees: "Nothing is running."},
		{text: "/stop", thread: true, sees: "Nothing is running."},
		{text: "model nonsense", thread: true, sees: "There is no such model."},
		{text: "model", thread: true, sees: "Model: "},
		{text: "stop it", thread: true, question: true},
		{text: "help me with this", thread: true, question: true},
		{text: "ask", thread: true, question: true},
		{text: "model train set", thread: true, question: true},
		{text: "halt", thread: true, question: true},
		{text: "stop", question: true},
		{text: "approve", thread: true, sees: "There is no open question"},
		{text: "Approve K3F9X always", thread: true, sees: "There is no open question"},
		{text: "deny k3f9x", thread: true, sees: "There is no open question"},
		{text: "approve this plan", thread: true, question: true},
		{text: "deny l1o0i", thread: true, question: true}, // an id never contains these characters
		{text: "memory", thread: true, sees: "I haven't saved anything about you yet."},
		{text: "memory forget 7", thread: true, sees: "There is no entry with this number."},
		{text: "memory leak", thread: true, question: true},
		{text: "memory forget that now", thread: true, question: true},
	} {
		t.Run(tt.text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, _ := openThreaded(t, func(o *gateway.Options) { o.Models, o.Remembers = []gateway.Model{{Name: "main"}}, true })
				in := ask(tt.text)
				if tt.thread {
					in = inThread(in)
				}
				h.say(t, in)
				later(10 * time.Second)
				if got := len(h.questions()); (got == 1) != tt.question {
					t.Errorf("the model was asked %d times", got)
				}
				if got := strings.Join(h.sees(), "\n"); !strings.Contains(got, tt.sees) {
					t.Errorf("a person sees %q, want %q", got, tt.sees)
				}
			})
		})
	}
}

func TestOneCommandRunsAllOthers(t *testing.T) {
	for args, want := range map[string]string{
		"new":             "New conversation. I've forgotten the previous one.",
		"/Stop":           "Nothing is running.",
		"model nonsense":  "There is no such model.",
		"why is it so":    "re: why is it so",
		"ask why is it":   "re: why is it",
		" ":               "Write to me and I answer.",
		"newer is better": "re: newer is better",
	} {
		t.Run(args, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, nil)
				in := ask("/telex " + args)
				in.Kind, in.Args = chat.Command, args
				h.say(t, in)
				later(10 * time.Second)
				if got := strings.Join(h.sees(), "\n"); !strings.HasPrefix(got, want) {
					t.Errorf("a person sees %q, want %q", got, want)
				}
			})
		})
	}
}

// A question that arrives as the command /ask must be treated like any other question, on every platform.
func TestAskIsAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, with(command("ask"), "why"))
		later(10 * time.Second)
		equal(t, "questions", h.questions(), []string{"why"})
		equal(t, "seen", h.sees(), []string{"re: why"})
	})
}

func press(action string, user chat.UserID) chat.Inbound {
	return chat.Inbound{
		To: chat.Target{Chat: "7", Thread: "t"}, Sender: chat.Sender{ID: user}, ID: chat.MessageID("press of " + user),
		Kind: chat.Button, Action: action, Addressed: true, At: time.Now(),
	}
}

func TestStopButton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := openThreaded(t, nil)
		h.answers["long"] = strings.Repeat("word ", 100)
		h.say(t, inThread(ask("long")))
		later(3 * time.Second)
		first := p.button()
		if first == "" {
			t.Fatal("there is no button")
		}
		h.say(t, press(first, "7"))
		later(2 * time.Second)
		if got := h.sees(); len(got) != 1 || strings.Contains(got[0], "▌") || p.button() != "" {
			t.Errorf("a person sees %q with button %q", got, p.button())
		}
		// A press that belongs to an answer that has ended must not stop the next answer.
		h.answers["next"] = strings.Repeat("next ", 50)
		h.say(t, inThread(ask("next")))
		later(2 * time.Second)
		again := press(first, "7")
		again.ID = "again"
		h.say(t, again)
		later(20 * time.Second)
		if got := h.sees(); len(got) != 2 || got[1] != strings.TrimSpace(h.answers["next"]) {
			t.Errorf("a person sees %q", got)
		}
		equal(t, "told", p.told, []string{"7[1] false", "7[press of 7] false", "7[again] false", "7[3] false"})
	})
}

func TestWhoMayPressTheStopButton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := openThreaded(t, func(o *gateway.Options) {
			o.Access = access.Rules{Pair: true, Allow: []access.Rule{{Endpoint: "tg", User: "7"}}}
		})
		h.answers["long"] = strings.Repeat("word ", 30)
		h.say(t, inThread(ask("long")))
		later(2 * time.Second)
		h.say(t, press(p.button(), "8"))
		other := press("somebody-elses", "7")
		h.say(t, other)
		later(10 * time.Second)
		equal(t, "seen", h.sees(), []string{strings.TrimSpace(h.answers["long"])})
		equal(t, "told", p.told, []string{"7[press of 8] true", "7[1] false"})
	})
}

func TestMessagesWithAStopButton(t *testing.T) {
	for _, tt := range []struct {
		mode   gateway.Button
		thread chat.ThreadID
		want   bool
	}{
		{gateway.ButtonAuto, "t", true},
		{gateway.ButtonAuto, "", false},
		{gateway.ButtonOn, "", true},
		{gateway.ButtonOff, "t", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, p := openThreaded(t, func(o *gateway.Options) {
				o.Endpoints[0].StopButton = tt.mode
				o.Endpoints[0].Streaming.Cursor = "" // the button must appear and disappear even without a cursor
			})
			h.answers["long"] = strings.Repeat("word ", 30)
			in := ask("long")
			in.To.Thread = tt.thread
			h.say(t, in)
			later(2 * time.Second)
			if got := p.button() != ""; got != tt.want {
				t.Errorf("mode %d, thread %q: there is a button: %t", tt.mode, tt.thread, got)
			}
			later(10 * time.Second)
			if p.button() != "" {
				t.Errorf("mode %d, thread %q: the button stays", tt.mode, tt.thread)
			}
		})
	}
}

// drafting is a platform with drafts.
type drafting struct {
	*platform
	newest *int64
}

func (p drafting) Capabilities() chat.Capabilities {
	c := p.platform.Capabilities()
	c.Draft = true
	return c
}

func (p drafting) Profile(to chat.Target) chat.Profile {
	profile := p.platform.Profile(to)
	profile.DraftFor = 25 * time.Second
	return profile
}

func (p drafting) Draft(ctx context.Context, _ chat.Target, id int64, _ chat.Outgoing) error {
	if err := p.pass(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	*p.newest = id
	return nil
}

// A person presses the stop button of a draft. The press must stop the answer that the draft shows, even in the next
// process. A second press of the same button must not stop a later answer, and gets no reply.
func TestStopButtonOfADraft(t *testing.T) {
	for _, killed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l, draft := newLife(), int64(0)
			begin := func() {
				l.begin(t, func(o *gateway.Options) {
					o.Endpoints[0].Platform = drafting{l.platform, &draft}
					o.Endpoints[0].Streaming.Transport = preview.Draft
				})
			}
			begin()
			pressed := func(draft int64, id chat.MessageID) {
				in := press(chat.DraftAction(draft), "7")
				in.To.Thread, in.ID = "", id
				l.say(t, in)
			}
			l.say(t, ask("a")) // a long answer
			later(800 * time.Millisecond)
			if draft == 0 {
				t.Fatal("there is no draft")
			}
			if killed {
				l.kill()
				begin()
			}
			first := draft
			pressed(first, "first")
			later(400 * time.Millisecond)
			stopped := l.sees()
			if len(stopped) != 1 || !killed && !strings.HasSuffix(stopped[0], "(stopped)") || strings.HasPrefix(stopped[0], long) {
				t.Errorf("a person sees %q", stopped)
			}
			l.say(t, ask("a"))
			later(800 * time.Millisecond)
			pressed(first, "again")
			later(20 * time.Second)
			if got := l.sees(); len(got) != 2 || got[1] != long {
				t.Errorf("a person sees %q", got)
			}
		})
	}
}
