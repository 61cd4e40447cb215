package gateway_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// told returns the user messages in the n-th model request, oldest first.
func (s *script) told(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, m := range s.turns[n].Messages {
		out = append(out, string(m.Role)+": "+m.Text)
	}
	return out
}

func with(in chat.Inbound, args string) chat.Inbound {
	in.Args, in.Text = args, in.Text+" "+args
	return in
}

func inGroup(in chat.Inbound, user chat.UserID) chat.Inbound {
	in.To, in.Sender.ID, in.Reply = chat.Target{Chat: "-5", Kind: chat.Group}, user, true
	return in
}

func TestRetryAsksTheLastQuestionAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, command("retry"))
		later(3 * time.Second)
		for _, q := range []string{"a", "b"} {
			h.say(t, ask(q))
			later(3 * time.Second)
		}
		h.answers["b"] = "better"
		h.say(t, command("retry"))
		later(3 * time.Second)
		h.say(t, ask("c"))
		later(3 * time.Second)
		equal(t, "messages", h.sees(), []string{"There is nothing to ask again.", "re: a", "re: b", "better", "re: c"})
		equal(t, "the retried turn", h.told(2), []string{"user: a", "assistant: re: a", "user: b"})
		equal(t, "the next turn", h.told(3), []string{"user: a", "assistant: re: a", "user: b", "assistant: better", "user: c"})
	})
}

func TestRetryWhileTheAnswerIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(5 * time.Second)
		h.answers["a"] = "short"
		h.say(t, command("retry"))
		later(5 * time.Second)
		h.say(t, ask("b"))
		later(5 * time.Second)
		got := h.sees()
		if len(got) != 3 || strings.Contains(got[0], "▌") || got[1] != "short" {
			t.Fatalf("got %q, want what was shown, the new answer and the next", got)
		}
		equal(t, "the next turn", h.told(2), []string{"user: a", "assistant: short", "user: b"})
	})
}

// A person sends /retry before any part of the answer is visible. The question must be asked again, and people must see
// only one answer.
func TestRetryBeforeAnythingWasShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Endpoints[0].Streaming.MinTokens = 1000 })
		h.say(t, ask("a"))
		later(50 * time.Millisecond)
		h.say(t, command("retry"))
		later(5 * time.Second)
		equal(t, "messages", h.sees(), []string{"re: a"})
		equal(t, "questions", h.questions(), []string{"a", "a"})
	})
}

func TestUndoForgetsTheLastTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, command("undo"))
		later(3 * time.Second)
		for _, q := range []string{"a", "b"} {
			h.say(t, ask(q))
			later(3 * time.Second)
		}
		h.answers["c"] = long
		h.say(t, ask("c"))
		later(5 * time.Second)
		h.say(t, command("undo")) // while the model writes the answer
		later(5 * time.Second)
		h.say(t, command("undo"))
		later(5 * time.Second)
		h.say(t, ask("d"))
		later(5 * time.Second)
		equal(t, "the last turn", h.told(3), []string{"user: a", "assistant: re: a", "user: d"})
		got := h.sees()
		if got[0] != "There is nothing to undo." || slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "▌") }) {
			t.Errorf("got %q", got)
		}
	})
}

func models() []gateway.Model {
	return []gateway.Model{{Name: "main", Window: 4000}, {Name: "Big_One"}}
}

func TestModelIsListedAndChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) {
			o.Models = models()
			o.Overrides = []gateway.Override{
				{Match: access.Rule{Endpoint: "tg", User: "9"}, Model: "big_one", System: "Be kind."},
				{Match: access.Rule{Endpoint: "tg", User: "9"}, System: "Be brief."},
			}
		})
		other := ask("x")
		other.To.Chat, other.Sender.ID = "9", "9"
		for _, in := range []chat.Inbound{
			command("model"), with(command("model"), "nonsense"), ask("a"), with(command("model"), "big_one"), ask("b"),
			command("new"), ask("c"), with(command("model"), "1"), ask("d"), other,
		} {
			h.say(t, in)
			later(3 * time.Second)
		}
		var used []string
		for _, turn := range h.turns {
			used = append(used, turn.Model+turn.System)
		}
		equal(t, "models", used, []string{"main", "Big_One", "Big_One", "main", "Big_OneBe brief."})
		got := h.sees()
		if !strings.Contains(got[0], "1. main ✓\n2. Big_One") || !strings.Contains(got[1], "no such model") {
			t.Errorf("got %q", got[:2])
		}
	})
}

func TestStatusAndUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Models = models() })
		h.result = func(r *agent.Result) { r.Usage = agent.Usage{Prompt: 1200, Completion: 34} }
		h.say(t, ask("a"))
		later(3 * time.Second)
		h.answers["b"] = strings.Repeat("word ", 100)
		h.say(t, ask("b"))
		later(4 * time.Second)
		h.say(t, command("status")) // this command is answered at once, although a turn runs
		later(time.Second)
		got := h.sees()
		if s := got[len(got)-1]; !strings.Contains(s, "Model: main") || !strings.Contains(s, "of 4,000 tokens\nMessages: 2") ||
			!strings.Contains(s, "answering for 4s\nWaiting: 0") {
			t.Errorf("status: got %q", s)
		}
		h.say(t, command("usage"))
		later(time.Second)
		if s := h.sees(); !strings.Contains(s[len(s)-1], "Tokens in this conversation: 1,234 (answers: 1)") {
			t.Errorf("usage: got %q", s[len(s)-1])
		}
		if n := len(h.ended); n != 1 {
			t.Errorf("%d turns have ended, want the first alone", n)
		}
	})
}

func TestForgetInAGroupDeletesOnePersonsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		for _, in := range []chat.Inbound{
			inGroup(ask("a"), "1"), inGroup(ask("b"), "2"), inGroup(ask("c"), "1"),
			inGroup(command("forget"), "1"), inGroup(ask("d"), "2"),
		} {
			h.say(t, in)
			later(3 * time.Second)
		}
		equal(t, "the last turn", h.told(3), []string{"user: b", "assistant: re: b", "user: d"})
		h.say(t, ask("e"))
		later(3 * time.Second)
		h.say(t, command("forget"))
		later(3 * time.Second)
		h.say(t, ask("f"))
		later(3 * time.Second)
		equal(t, "in private", h.told(5), []string{"user: f"})
	})
}

func TestHelpListsTheAvailableCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) {
			o.Access = access.Rules{Open: true, Admins: []access.Rule{{Endpoint: "tg", User: "1"}}}
		})
		h.say(t, command("help"))
		later(time.Second)
		boss := command("help")
		boss.To.Chat, boss.Sender.ID = "1", "1"
		h.say(t, boss)
		later(time.Second)
		boss.ID = ""
		h.say(t, with(boss, "texts"))
		later(3 * time.Second)
		got := h.sees()
		for _, name := range []string{"new", "stop", "retry", "undo", "model", "status", "usage", "forget", "help"} {
			if !strings.Contains(got[0], "/"+name+" – ") {
				t.Errorf("help lacks /%s: %q", name, got[0])
			}
		}
		if strings.Contains(got[0], "/pair") || !strings.Contains(got[1], "/pair") {
			t.Errorf("/pair is for admins: %q", got)
		}
		if h.commands[0].Name != "ask" || h.commands[1].Name != "new" || len(h.commands) != 13 || !slices.Equal(h.admins, []chat.UserID{"1"}) {
			t.Errorf("menu: got %v for %v", h.commands, h.admins)
		}
		for _, c := range h.commands {
			if c.Description == "" || c.Admin != (c.Name == "pair") {
				t.Errorf("menu: got %+v", c)
			}
		}
	})
}

// A misspelt command must not become a question to the model. Any other text that begins with a slash must become a
// question to the model.
func TestMistypedCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		for _, c := range []struct{ typed, want string }{
			{"hlep", "Did you mean /help?"},
			{"hepl", "Did you mean /help?"},
			{"sto", "Did you mean /stop?"},
			{"news", "Did you mean /new?"},
			{"modl", "Did you mean /model?"},
			{"aprove", "Did you mean /approve?"},
			{"retyr", "Did you mean /retry?"},
			{"translate", "re: /translate"},
			{"etc", "re: /etc"},
			{"home", "re: /home"},
			{"tmp", "re: /tmp"},
			{"a", "re: /a"},
			{"task", "re: /task"},     // /ask is not in the list of suggestions
			{"pairs", "re: /pairs"},   // a command only for admins, so nothing is suggested
			{"memroy", "re: /memroy"}, // the memory tool is off, so nothing is suggested
		} {
			h.say(t, command(c.typed))
			later(3 * time.Second)
			if got := h.sees(); got[len(got)-1] != c.want {
				t.Errorf("/%s: got %q, want %q", c.typed, got[len(got)-1], c.want)
			}
		}
	})
}

// sender is a platform that can only send.
type sender struct{ gateway.Platform }

func (sender) Capabilities() chat.Capabilities { return chat.Capabilities{} }

// The answer to /help must mention attachments only on platforms that support them.
func TestHelpMentionsAttachmentsOnlyIfSupported(t *testing.T) {
	for _, fetches := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := open(t, func(o *gateway.Options) {
				if !fetches {
					o.Endpoints[0].Platform = sender{o.Endpoints[0].Platform}
				}
			})
			h.say(t, command("help"))
			later(3 * time.Second)
			if got := h.sees(); len(got) == 0 || strings.Contains(got[0], "attach") != fetches {
				t.Errorf("fetches %t: help is %q", fetches, got)
			}
		})
	}
}

func TestSettingTheMenuIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.menuFail = &chat.SendError{Kind: chat.RateLimited, RetryAfter: 40 * time.Second}
		h := openWith(t, house{platform: p, script: &script{}}, nil)
		later(41 * time.Second)
		if h.menu() != nil {
			t.Error("tried before its time")
		}
		later(2 * time.Second)
		if h.menu() == nil {
			t.Error("not tried again")
		}
	})
}

func TestPairing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		store := &spy{Store: memory.New()}
		h := open(t, func(o *gateway.Options) {
			o.Access = access.Rules{Pair: true, Admins: []access.Rule{{Endpoint: "tg", User: "1"}}}
			o.Store, o.Log = store, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		for range 50 {
			in := ask("my secret words")
			in.Sender.Name = "Eve"
			h.say(t, in)
			later(time.Second)
		}
		got := h.sees()
		if len(got) != 1 || !strings.Contains(got[0], "Your code is ") {
			t.Fatalf("50 tries: got %q, want one code", got)
		}
		if len(h.turns) != 0 || store.accepted != 1 || strings.Contains(log.String(), "secret") {
			t.Errorf("%d turns, %d stored; log: %s", len(h.turns), store.accepted, log.String())
		}
		h.say(t, inGroup(ask("in a group"), "8"))
		_, rest, _ := strings.Cut(got[0], "Your code is ")
		code, _, _ := strings.Cut(rest, ";")
		boss := func(in chat.Inbound) chat.Inbound {
			in.To.Chat, in.Sender.ID = "1", "1"
			return in
		}
		for _, in := range []chat.Inbound{
			boss(command("pair")), boss(with(command("pair"), "WRONGONE")), boss(with(command("pair"), strings.ToLower(code))),
			boss(command("pair")), inGroup(command("pair"), "1"),
		} {
			h.say(t, in)
			later(2 * time.Second)
		}
		h.say(t, ask("hello"))
		later(3 * time.Second)
		h.say(t, command("pair"))
		later(3 * time.Second)
		h.say(t, boss(with(command("pair"), "revoke tg:user:7")))
		later(3 * time.Second)
		h.say(t, ask("am I still there?"))
		later(3 * time.Second)
		got = h.sees()[1:]
		for i, want := range []string{
			code + " tg:user:7 Eve", "no such code", "tg:user:7 Eve now has access", "Got access by a code:\ntg:user:7 Eve", "private chat",
			"re: hello", "for the admins", "tg:user:7 no longer has access", "You don't have access yet",
		} {
			if i >= len(got) || !strings.Contains(got[i], want) {
				t.Fatalf("answer %d: got %q, want %q", i, got, want)
			}
		}
		if len(got) != 9 {
			t.Errorf("got %d answers: %q", len(got), got)
		}
	})
}

// In a group, nobody may undo or retry the turns of other people.
func TestRetryAndUndoAreForTheAskerInAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		for _, in := range []chat.Inbound{
			inGroup(ask("a"), "1"), inGroup(command("undo"), "2"), inGroup(command("retry"), "2"), inGroup(command("retry"), "1"),
			inGroup(ask("b"), "2"),
		} {
			h.say(t, in)
			later(3 * time.Second)
		}
		equal(t, "messages", h.sees(), []string{
			"re: a", "There is nothing to undo.", "There is nothing to ask again.", "re: a", "re: b",
		})
		equal(t, "the last turn", h.told(2), []string{"user: a", "assistant: re: a", "user: b"})
	})
}

// Each command with senseless arguments must get exactly one short answer.
func TestCommandsWithGarbage(t *testing.T) {
	for _, args := range []string{"\x00\x1b[2J", strings.Repeat("x", 60<<10), "'; DROP TABLE turn; --", "-1", "0", "99999999999999999999", "revoke", "revoke x:y:z"} {
		synctest.Test(t, func(t *testing.T) {
			h := open(t, func(o *gateway.Options) {
				o.Models = models()
				o.Access = access.Rules{Open: true, Admins: []access.Rule{{Endpoint: "tg", User: "7"}}}
			})
			names := []string{"help", "new", "stop", "undo", "retry", "model", "status", "usage", "forget", "pair"}
			for i, name := range names {
				h.say(t, with(command(name), args))
				later(3 * time.Second)
				if got := h.sees(); len(got) != i+1 || len(got[i]) > 1000 {
					t.Fatalf("/%s %.20q: got %d messages, the last of %d bytes", name, args, len(got), len(got[len(got)-1]))
				}
			}
		})
	}
}
