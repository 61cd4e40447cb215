package whatsapp_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	"telex/standin/fault"
	standin "telex/standin/whatsapp"
)

// The tests in this file run the adapter with telex's gateway and WhatsApp's stand-in.

// talking runs telex's gateway with a bot, in virtual time.
func talking(t *testing.T, o standin.Options, answers gateway.Runner, test func(t *testing.T, w *world, log *conformance.Log)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, log := newWorld(t, o), &conformance.Log{}
		logger := slog.New(slog.NewTextHandler(log, nil))
		conformance.Start(t, gateway.Options{
			Endpoints: []gateway.Endpoint{{
				ID: "whatsapp", Platform: w.bot(logger, conformance.Proper),
				Streaming: preview.Config{Enabled: true, MinTokens: 3, Cursor: " ▌", MaxParts: 4},
			}},
			Runner: answers, Store: memory.New(), Access: access.Rules{Open: true}, Busy: gateway.Queue, MaxQueued: 10, OnEdit: gateway.Restart,
			MaxAge: time.Hour, Grace: 10 * time.Second, Log: logger,
		})
		time.Sleep(time.Second)
		synctest.Wait()
		test(t, w, log)
		for _, v := range w.Violations() {
			t.Errorf("violation: %s", v)
		}
	})
}

func (w *world) wantShown(want ...string) {
	w.t.Helper()
	if got := w.Shown(w.Private()); !slices.Equal(got, want) {
		w.t.Errorf("shown are %.300q, want %.300q", got, want)
	}
}

// From the question to the answer, the person must see that the question was read and that the bot is typing.
func TestTypingUntilTheAnswer(t *testing.T) {
	talking(t, standin.Options{Limits: standin.PublishedLimits()}, conformance.Talker{Text: "a b c d e f g h", Pause: 10 * time.Second}, func(t *testing.T, w *world, _ *conformance.Log) {
		asked, began := "", time.Now()
		w.Say(w.Private(), conformance.Saying{Text: "go"})
		for _, m := range w.server.History("") {
			asked = m.ID
		}
		time.Sleep(2 * time.Minute)
		w.wantShown("a b c d e f g h")
		answered := w.Versions(w.Private())[0].At
		until := began.Add(2 * time.Second)
		for _, typing := range w.server.Chronicle("").Typings {
			if typing.From.After(until) {
				t.Errorf("nobody saw typing between %v and %v", until.Sub(began), typing.From.Sub(began))
			}
			if until = typing.To; until.After(answered) {
				t.Errorf("typing was seen %v after the answer", until.Sub(answered))
			}
		}
		if until.Before(answered) {
			t.Errorf("typing ended %v before the answer", answered.Sub(until))
		}
		for _, m := range w.server.History("") {
			if m.ID == asked && m.Read.IsZero() {
				t.Error("the question was not marked as read")
			}
		}
	})
}

// In this test, WhatsApp refuses an answer, because the person last wrote more than 24 hours ago. When the person
// writes again, the bot must deliver the answer once (D1, D14).
func TestWindowClosed(t *testing.T) {
	talking(t, standin.Options{}, conformance.Talker{}, func(t *testing.T, w *world, log *conformance.Log) {
		w.server.Fault(standin.Fault{Method: "sendMessage", Action: fault.Error, Code: standin.CodeWindow})
		w.Say(w.Private(), conformance.Saying{Text: "one"})
		time.Sleep(time.Hour)
		w.wantShown()
		if calls := w.Calls(chat.OpSend); calls > 60 {
			t.Errorf("%d calls were refused", calls)
		}
		if !strings.Contains(log.String(), "24 hours") {
			t.Errorf("the log does not say why: %s", log)
		}
		w.server.ClearFaults()
		w.Say(w.Private(), conformance.Saying{Text: "two"})
		time.Sleep(time.Minute)
		got := w.Shown(w.Private())
		if slices.Sort(got); !slices.Equal(got, []string{"re: one", "re: two"}) {
			t.Errorf("shown are %q, want both answers once", got)
		}
	})
}

// In this test, WhatsApp accepts a message, but then can't deliver the message. The bot must log why WhatsApp could not
// deliver a message, and must not send the message again.
func TestLateFailure(t *testing.T) {
	talking(t, standin.Options{LateFailures: true}, conformance.Talker{Pause: 10 * time.Second}, func(t *testing.T, w *world, log *conformance.Log) {
		w.Say(w.Private(), conformance.Saying{Text: "one"})
		time.Sleep(time.Second)
		w.Ban(w.Private())
		time.Sleep(time.Hour)
		w.wantShown()
		if n := w.Calls(chat.OpSend); n != 1 {
			t.Errorf("%d messages were sent, want one", n)
		}
		if s := log.String(); strings.Count(s, "WhatsApp could not deliver a message") != 1 || !strings.Contains(s, "code=131026") || !strings.Contains(s, "failed_so_far=1") {
			t.Errorf("the log says %s", s)
		}
	})
}

// In this test, the outcome of a call that sends a message is unknown. The bot must repeat a call of unknown outcome
// only once, and log a warning (D5, F13).
func TestUncertainSend(t *testing.T) {
	for _, action := range []string{fault.CutBefore, fault.CutAfter} {
		talking(t, standin.Options{}, conformance.Talker{}, func(t *testing.T, w *world, log *conformance.Log) {
			w.server.Fault(standin.Fault{Method: "sendMessage", Times: 1, Action: action})
			w.Say(w.Private(), conformance.Saying{Text: "one"})
			time.Sleep(10 * time.Minute)
			got := w.Shown(w.Private())
			if want := map[string]int{fault.CutBefore: 1, fault.CutAfter: 2}[action]; len(got) != want || got[0] != "re: one" {
				t.Errorf("%s: shown are %q, want %d messages", action, got, want)
			}
			if !strings.Contains(log.String(), "unknown outcome") {
				t.Errorf("%s: the log does not tell: %s", action, log)
			}
		})
	}
}

// In this test, an answer is too long for a few messages. The bot must send a long answer as several messages and the
// rest as a file, and must exceed no limit.
func TestLongAnswer(t *testing.T) {
	words := make([]string, 6000)
	for i := range words {
		words[i] = fmt.Sprintf("word%d", i)
	}
	text := strings.Join(words, " ")
	talking(t, standin.Options{Limits: standin.PublishedLimits()}, conformance.Talker{Text: text, Pause: time.Millisecond}, func(t *testing.T, w *world, _ *conformance.Log) {
		w.Say(w.Private(), conformance.Saying{Text: "go"})
		time.Sleep(10 * time.Minute)
		files := w.Files(w.Private())
		if len(files) != 1 || !strings.HasSuffix(strings.TrimSpace(string(files[0].Content)), words[len(words)-1]) {
			t.Fatalf("the files are %.300q, want one with the rest", files)
		}
		shown := w.Shown(w.Private())
		for i, part := range shown[:len(shown)-1] {
			if n := len(part); n > 4096 || n < 3000 {
				t.Errorf("part %d has %d characters", i, n)
			}
		}
	})
}

// In this test, a person edits a question. WhatsApp reports edits only if the bot's number is also used in the WhatsApp
// Business app. If WhatsApp reports the edit, the bot must answer the new text, and otherwise the old text.
func TestEditsAndDeletions(t *testing.T) {
	for _, coexistence := range []bool{true, false} {
		talking(t, standin.Options{Coexistence: coexistence}, conformance.Talker{Pause: 5 * time.Second}, func(t *testing.T, w *world, _ *conformance.Log) {
			w.Say(w.Private(), conformance.Saying{Text: "one two three four", Edited: "five"})
			time.Sleep(time.Minute)
			want := "re: one two three four"
			if coexistence {
				want = "re: five"
			}
			w.wantShown(want)
		})
	}
}

// In this test, a person hides the phone number from the bot. The bot must answer a person even if the phone number is
// hidden.
func TestHiddenNumber(t *testing.T) {
	talking(t, standin.Options{}, conformance.Talker{}, func(t *testing.T, w *world, _ *conformance.Log) {
		if err := w.server.SetPerson(standin.Person{UserID: standin.DefaultUser, HidePhone: true, Username: "@ann"}); err != nil {
			t.Fatal(err)
		}
		w.Say(w.Private(), conformance.Saying{Text: "one"})
		time.Sleep(time.Minute)
		w.wantShown("re: one")
	})
}

// When Meta verifies the URL of the webhook, the bot must accept only the right verify token. The bot must refuse
// webhooks without a valid signature, and answer the messages in the webhooks when Meta repeats the webhooks with a
// valid signature.
func TestStandinVerifies(t *testing.T) {
	talking(t, standin.Options{}, conformance.Talker{}, func(t *testing.T, w *world, _ *conformance.Log) {
		if err := w.server.SetCallback(t.Context(), "http://telex.test/any/path"); err != nil {
			t.Error(err)
		}
		if err := w.server.Verify(t.Context(), "http://telex.test/", "another"); err == nil {
			t.Error("a wrong token was taken")
		}
		for _, action := range []string{standin.ActBadSignature, standin.ActNoSignature, standin.ActDrop} {
			w.server.Fault(standin.Fault{Method: "message", Times: 1, Action: action})
			w.Say(w.Private(), conformance.Saying{Text: action})
			time.Sleep(time.Minute)
		}
		w.wantShown("re: bad_signature", "re: no_signature", "re: drop") // Meta repeats refused webhooks
	})
}
