package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	"telex/platforms/telegram"
	"telex/standin/fault"
	standin "telex/standin/telegram"
)

// The tests in this file run the adapter together with a gateway, against Telegram's stand-in.

// fullStore is a store whose disk is full for a while.
type fullStore struct {
	*memory.Store
	mu       sync.Mutex
	failures int // how many more calls of Accept fail
	accepted []string
}

func (s *fullStore) Accept(ctx context.Context, c chat.Conversation, m chat.Inbound) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures > 0 {
		s.failures--
		return false, errors.New("disk full")
	}
	fresh, err := s.Store.Accept(ctx, c, m)
	if err == nil && fresh {
		s.accepted = append(s.accepted, m.Text)
	}
	return fresh, err
}

// took returns the texts of the messages that the store accepted.
func (s *fullStore) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.accepted)
}

// house runs a gateway with the bot in a world until the test ends.
func house(t *testing.T, w *world, bot conformance.Adapter, s gateway.Store, r gateway.Runner, transport preview.Transport) {
	t.Helper()
	conformance.Start(t, gateway.Options{
		Endpoints: []gateway.Endpoint{{
			ID: "telegram", Platform: bot,
			Streaming: preview.Config{
				Enabled: true, MinTokens: 3, Cursor: " ▌", Transport: transport, MaxParts: 2,
			},
		}},
		Runner: r, Store: s, Access: access.Rules{Open: true}, Busy: gateway.Queue, MaxQueued: 10,
		MaxAge: time.Hour, Grace: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	synctest.Wait()
}

// polls returns how many times the bot has called getUpdates since the given time.
func (w *world) polls(since time.Time) int {
	n := 0
	for _, c := range w.server.Calls() {
		if c.Method == "getUpdates" && !c.At.Before(since) {
			n++
		}
	}
	return n
}

// While the store is full, the bot must confirm no update, must poll less often, and must still send messages. When the
// store has space again, the gateway must accept every update once and in order (F43).
func TestFullStore(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		store := &fullStore{Store: memory.New(), failures: 5}
		house(t, w, bot, store, conformance.Talker{}, preview.Edit)
		began := time.Now()
		for _, text := range []string{"one", "two", "three"} {
			w.server.Say(standin.Incoming{User: privateID, Text: text})
		}
		time.Sleep(15 * time.Second) // the bot waits 1, 2, 4, 8 and 16 s between its polls, each ±20%
		if got := w.server.Stats().Pending; got != 3 {
			t.Errorf("%d updates wait at Telegram, want all 3: nothing was stored", got)
		}
		if got := w.polls(began); got > 8 {
			t.Errorf("%d polls while the store was full, want at most 8", got)
		}
		if _, err := bot.Send(t.Context(), w.Group(), chat.Outgoing{Text: "meanwhile"}); err != nil {
			t.Errorf("Send: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if got, want := store.took(), []string{"one", "two", "three"}; !slices.Equal(got, want) {
			t.Errorf("accepted %q, want %q", got, want)
		}
		if got, want := w.Shown(w.Private()), []string{"re: one", "re: two", "re: three"}; !slices.Equal(got, want) {
			t.Errorf("shown are %q, want %q", got, want)
		}
		if got := w.server.Stats(); got.Pending != 0 || got.Violations.Total() != 0 {
			t.Errorf("%d updates wait, violations %+v, want none", got.Pending, got.Violations)
		}
		if got := w.polls(began); got > 20 {
			t.Errorf("%d polls in all, want at most 20", got)
		}
	})
}

// If the store stays full for an hour, the bot must poll only about once a minute.
func TestFullStoreForAnHour(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		store := &fullStore{Store: memory.New(), failures: 1 << 30}
		house(t, w, bot, store, conformance.Talker{}, preview.Edit)
		began := time.Now()
		w.server.Say(standin.Incoming{User: privateID, Text: "one"})
		time.Sleep(time.Hour)
		if got := w.polls(began); got < 30 || got > 100 {
			t.Errorf("%d polls in an hour, want about one a minute", got)
		}
		if got := w.server.Stats().Pending; got != 1 {
			t.Errorf("%d updates wait at Telegram, want 1", got)
		}
	})
}

// words returns a text that consists of n different words.
func words(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("word%d", i)
	}
	return strings.Join(list, " ")
}

// The bot must show a growing answer as a draft, and must renew the draft before the draft expires. In the end, the
// chat must contain the answer once (D2). If the server does not support drafts, the bot must edit messages instead.
func TestDraftsEndToEnd(t *testing.T) {
	for name, old := range map[string]bool{"drafts": false, "an old server": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
				w.server.SetLimits(standin.PublishedLimits(), standin.Limits{})
				if old {
					w.server.Fault(standin.Fault{
						Method: "sendMessageDraft", Action: fault.Status, Status: 404, Description: "Not Found: method not found",
					})
				}
				text := words(600) // writing this text takes a minute, and showing it takes two messages
				house(t, w, bot, memory.New(), conformance.Talker{Text: text}, preview.Draft)
				w.server.Say(standin.Incoming{User: privateID, Text: "go"})
				time.Sleep(2 * time.Minute)
				if got := strings.Join(w.Shown(w.Private()), " "); got != text {
					t.Errorf("shown is %q, want the text once", got)
				}
				st := w.server.Stats()
				switch {
				case old && (st.Drafts != 0 || st.Edits < 10 || st.ByMethod["sendMessageDraft"] != 1):
					t.Errorf("%d drafts, %d tries, %d edits, want none, one, and many", st.Drafts, st.ByMethod["sendMessageDraft"], st.Edits)
				case !old && (st.Drafts < 10 || st.Messages > 3):
					t.Errorf("%d drafts, %d messages, want many and a few", st.Drafts, st.Messages)
				case st.Violations.Total() != 0 || st.TooManyRequests != 0:
					t.Errorf("violations %+v, %d answers 429, want none", st.Violations, st.TooManyRequests)
				}
			})
		})
	}
}

// In this test, a person presses the stop button of a draft, which ends the answer. The text of the draft must become
// one message, and the bot must send nothing else.
func TestStoppedDraftEndToEnd(t *testing.T) {
	for _, rich := range []telegram.Rich{telegram.RichOff, telegram.RichAuto, telegram.RichAlways} {
		t.Run(string(rich), func(t *testing.T) { stopDraft(t, rich) })
	}
}

func stopDraft(t *testing.T, rich telegram.Rich) {
	inBubble(t, func(t *testing.T, w *world, _ conformance.Adapter) {
		w.server.SetLimits(standin.PublishedLimits(), standin.Limits{})
		text := "| Name | Size |\n|---|--:|\n| ant | 1 |\n\n" + words(600)
		house(t, w, w.connectRich(rich), memory.New(), conformance.Talker{Text: text}, preview.Draft)
		w.server.Say(standin.Incoming{User: privateID, Text: "go"})
		time.Sleep(10 * time.Second)
		drafts := w.server.Screen(privateID, time.Now()).Drafts
		if len(drafts) != 1 || !drafts[0].CanStop || !drafts[0].KeepOnStop {
			t.Fatalf("the drafts are %+v, want one that can be stopped", drafts)
		}
		if (drafts[0].Rich != nil) != (rich != telegram.RichOff) {
			t.Errorf("the draft is %+v", drafts[0])
		}
		if !w.server.StopDraft(privateID, drafts[0].ID) {
			t.Fatal("the draft has no button")
		}
		time.Sleep(time.Minute)
		shown := w.Shown(w.Private())
		seen := seen(strings.TrimSuffix(drafts[0].Text, " ▌"))
		if len(shown) != 1 || !strings.HasPrefix(shown[0], seen) || len(strings.Fields(shown[0])) > len(strings.Fields(seen))+20 {
			t.Errorf("shown are %q, want what the draft showed, %q, and why it ends", shown, seen)
		}
		w.server.Say(standin.Incoming{User: privateID, Text: "/stop"})
		time.Sleep(10 * time.Second)
		if got, want := w.Shown(w.Private()), append(shown, gateway.DefaultTexts()[gateway.TextNothing]); !slices.Equal(got, want) {
			t.Errorf("shown are %q, want %q", got, want)
		}
		if st := w.server.Stats(); st.Violations.Total() != 0 || st.Pending != 0 {
			t.Errorf("violations %+v, %d updates wait, want none", st.Violations, st.Pending)
		}
	})
}

// After a 429 for a draft, Telegram also refuses messages and edits. After a 429 for a draft, the bot must send nothing
// until the wait after the 429 is over. When the wait after a 429 is over, the bot must send the whole text (D4, F20).
func TestDraftRefusedForItsRate(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.server.SetLimits(standin.PublishedLimits(), standin.Limits{})
		w.server.Fault(standin.Fault{Method: "sendMessageDraft", Nth: 2, Action: fault.RateLimit, RetryAfter: 280})
		house(t, w, bot, memory.New(), conformance.Talker{Text: words(100)}, preview.Draft)
		w.server.Say(standin.Incoming{User: privateID, Text: "go"})
		time.Sleep(6 * time.Minute)
		if got := strings.Join(w.Shown(w.Private()), " "); got != words(100) {
			t.Errorf("shown is %q, want the text once", got)
		}
		if st := w.server.Stats(); st.Violations.Total() != 0 || st.TooManyRequests != 1 {
			t.Errorf("violations %+v, %d answers 429, want none and one", st.Violations, st.TooManyRequests)
		}
	})
}

// In this test, all calls fail for ten seconds in the middle of an answer. The bot must make only a few calls during
// the outage. In the end, the chat must show the whole text once.
func TestOutageDuringAnAnswer(t *testing.T) {
	for _, transport := range []preview.Transport{preview.Edit, preview.Draft} {
		for _, kind := range []string{fault.OutageRefuse, fault.OutageCut, fault.OutageError, fault.OutageHang} {
			t.Run(fmt.Sprintf("%s %d", kind, transport), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
					w.server.SetLimits(standin.PublishedLimits(), standin.Limits{})
					house(t, w, bot, memory.New(), conformance.Talker{Text: words(200)}, transport)
					w.server.Say(standin.Incoming{User: privateID, Text: "go"})
					time.Sleep(8 * time.Second)
					w.server.Outage(fault.Outage{Kind: kind, For: 10 * time.Second})
					before := w.server.Stats().Calls
					time.Sleep(10 * time.Second)
					if got := w.server.Stats().Calls - before; got > 40 {
						t.Errorf("%d calls during the outage, want at most 40", got)
					}
					time.Sleep(2 * time.Minute)
					if got := strings.Join(w.Shown(w.Private()), " "); got != words(200) {
						t.Errorf("shown is %q, want the text once", got)
					}
					if st := w.server.Stats(); st.Violations.Total() != 0 || st.TooManyRequests != 0 {
						t.Errorf("violations %+v, %d answers 429, want none", st.Violations, st.TooManyRequests)
					}
				})
			})
		}
	}
}

// When an answer has filled the maximum number of messages, the bot must send the rest of the text as a file (D8).
func TestRestAsFile(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.server.SetLimits(standin.PublishedLimits(), standin.Limits{})
		text := words(2000)
		house(t, w, bot, memory.New(), conformance.Talker{Text: text}, preview.Edit)
		w.server.Say(standin.Incoming{User: privateID, Text: "go"})
		time.Sleep(5 * time.Minute)
		shown, files := w.Shown(w.Private()), w.Files(w.Private())
		if len(shown) != 3 || len(files) != 1 || shown[2] == "" || shown[2] != files[0].Caption {
			t.Fatalf("shown are %q and %d files, want two parts and a file", shown, len(files))
		}
		whole := strings.Join(append(slices.Clone(shown[:2]), string(files[0].Content)), " ")
		if strings.Join(strings.Fields(whole), " ") != text || files[0].Name != "answer.md" {
			t.Errorf("%s: the parts and the file are not the text: %q", files[0].Name, whole)
		}
	})
}

// In this test, a group becomes a supergroup while the bot edits an answer. In the end, the supergroup must show the
// whole answer (F54).
func TestMigrationDuringAnAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.server.SetLimits(standin.PublishedLimits(), standin.Limits{})
		house(t, w, bot, memory.New(), conformance.Talker{Text: words(200)}, preview.Edit)
		w.server.Say(standin.Incoming{Chat: -55, Text: "@" + username + " go"})
		time.Sleep(10 * time.Second)
		fresh := w.server.Migrate(-55)
		time.Sleep(2 * time.Minute)
		to := chat.Target{Chat: chat.ChatID(strconv.FormatInt(fresh, 10)), Kind: chat.Group}
		if got, want := w.Shown(to), []string{words(200)}; !slices.Equal(got, want) {
			t.Errorf("shown are %q, want the text once", got)
		}
		if st := w.server.Stats(); st.Edits < 2 || st.Violations.Total() != 0 {
			t.Errorf("%d edits, violations %+v, want some and none", st.Edits, st.Violations)
		}
	})
}

// If a preview can no longer be edited, the bot must delete the preview, so that the preview does not stay in the chat
// beside the final message (F18).
func TestUneditablePreviewIsDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.server.SetLimits(standin.PublishedLimits(), standin.Limits{})
		w.server.Fault(standin.Fault{
			Method: "editMessageText", Nth: 3, Action: fault.Status, Status: 400, Description: "Bad Request: message can't be edited",
		})
		house(t, w, bot, memory.New(), conformance.Talker{Text: words(100)}, preview.Edit)
		w.server.Say(standin.Incoming{User: privateID, Text: "go"})
		time.Sleep(time.Minute)
		if got, want := w.Shown(w.Private()), []string{words(100)}; !slices.Equal(got, want) {
			t.Errorf("shown are %q, want the text once", got)
		}
	})
}

// If the URL of the API is wrong, the bot must try again about once a minute, because somebody may repair the server
// without a restart of the daemon. If Telegram refuses the token, the bot must stop.
func TestWrongURLIsRetried(t *testing.T) {
	for name, c := range map[string]struct {
		status      int
		description string
		mends       bool
	}{
		"404": {404, "Not Found", true},
		"401": {401, "Unauthorized", false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
				w.server.Fault(standin.Fault{Action: fault.Status, Status: c.status, Description: c.description})
				house(t, w, bot, memory.New(), conformance.Talker{}, preview.Edit)
				time.Sleep(time.Hour)
				w.server.Say(standin.Incoming{User: privateID, Text: "hello"})
				if got := w.server.Stats().Calls; got > 100 || !c.mends && got != 3 {
					t.Errorf("%d calls in an hour, want one a minute at most, and three where the token is refused", got)
				}
				w.server.ClearFaults()
				time.Sleep(2 * time.Minute)
				var want []string
				if c.mends {
					want = []string{"re: hello"}
				}
				if got := w.Shown(w.Private()); !slices.Equal(got, want) {
					t.Errorf("shown are %q, want %q", got, want)
				}
			})
		})
	}
}
