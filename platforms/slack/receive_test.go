package slack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/slack"
	"telex/standin/fault"
	standin "telex/standin/slack"
)

// These tests check features that only Slack has, with Slack's stand-in.

// inBubble runs a test in virtual time, with Socket Mode or HTTP. The test gets a world and a connected adapter.
func inBubble(t *testing.T, o standin.Options, byHTTP bool, run func(t *testing.T, w *world, bot *slack.Bot)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o, byHTTP)
		run(t, w, w.bot(slog.New(slog.DiscardHandler), conformance.Proper))
	})
}

// inbox is a call of Bot.Run in a goroutine, together with the messages that the call has accepted.
type inbox struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
	slow   time.Duration // how long the accept function takes for each message

	mu   sync.Mutex
	list []chat.Inbound
}

// receive calls the adapter's Run, which ends when the method stop is called.
func receive(t *testing.T, bot *slack.Bot, from chat.Resume) *inbox {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &inbox{t: t, cancel: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- bot.Run(ctx, from, func(_ context.Context, in chat.Inbound) error {
			time.Sleep(r.slow)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.list = append(r.list, in)
			return nil
		})
	}()
	time.Sleep(time.Second)
	synctest.Wait()
	return r
}

func (r *inbox) stop() {
	r.t.Helper()
	r.cancel()
	if err := <-r.done; !errors.Is(err, context.Canceled) {
		r.t.Errorf("Run = %v, want %v", err, context.Canceled)
	}
}

// The method take waits for d, and returns the messages that were accepted since the previous call of take.
func (r *inbox) take(d time.Duration) []chat.Inbound {
	time.Sleep(d)
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

func (r *inbox) wantTexts(d time.Duration, want ...string) []chat.Inbound {
	r.t.Helper()
	list := r.take(d)
	var got []string
	for _, in := range list {
		got = append(got, in.Text)
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("accepted %q, want %q", got, want)
	}
	return list
}

func (w *world) wantGood() {
	w.t.Helper()
	for _, v := range w.Violations() {
		w.t.Errorf("violation: %s", v)
	}
}

// say sends a direct message from the person to the bot.
func (w *world) say(text string) { w.server.Say(standin.Incoming{Channel: dm, Text: text}) }

// In this test, Slack asks the bot to refresh a socket. The bot must open a new socket before Slack closes the old
// socket. While sockets are replaced, no message may be lost. If there is no gap between the two sockets, all messages
// must arrive in order.
func TestSocketIsRefreshed(t *testing.T) {
	for _, grace := range []time.Duration{0, 10 * time.Second} {
		t.Run(fmt.Sprint(grace), func(t *testing.T) {
			inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
				r := receive(t, bot, chat.Resume{})
				defer r.stop()
				var want []string
				for i := range 30 {
					if i%10 == 5 {
						w.server.Disconnect(standin.ReasonRefresh, grace)
					}
					text := fmt.Sprint("message ", i)
					want = append(want, text)
					w.say(text)
					time.Sleep(700 * time.Millisecond)
				}
				if grace == 0 { // Slack delivers a message that was written while no socket was open a minute later
					got := r.take(2 * time.Minute)
					if len(got) != len(want) {
						t.Errorf("%d messages, want %d", len(got), len(want))
					}
				} else {
					r.wantTexts(2*time.Minute, want...)
				}
				if st := w.server.Stats(); st.Sockets != 1 || st.Opened != 4 || grace > 0 && st.Redelivered > 0 {
					t.Errorf("%d sockets, %d opened, %d deliveries repeated, want 1, 4, and none with a warning", st.Sockets, st.Opened, st.Redelivered)
				}
				w.wantGood()
			})
		})
	}
}

// After Slack's warning, the bot must open a second socket while the first socket still works.
func TestSocketsOverlap(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		r := receive(t, bot, chat.Resume{})
		defer r.stop()
		w.server.Disconnect(standin.ReasonWarning, 10*time.Second)
		time.Sleep(time.Second)
		if got := w.server.Sockets(); got != 2 {
			t.Errorf("%d sockets after a warning, want 2", got)
		}
		for i := range 6 { // Slack delivers some of the messages on each socket
			w.say(fmt.Sprint(i))
			time.Sleep(100 * time.Millisecond)
		}
		r.wantTexts(20*time.Second, "0", "1", "2", "3", "4", "5")
		if got := w.server.Sockets(); got != 1 {
			t.Errorf("%d sockets after the refresh, want 1", got)
		}
		w.wantGood()
	})
}

// In this test, Slack refreshes the socket again and again for two days, and no message may be lost.
func TestSocketsForDays(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		r := receive(t, bot, chat.Resume{})
		defer r.stop()
		hours := 48
		if raced { // nine hours are enough, because Slack refreshes the socket in this time too
			hours = 9
		}
		var want []string
		for i := range hours {
			time.Sleep(time.Hour)
			want = append(want, fmt.Sprint(i))
			w.say(want[i])
		}
		r.wantTexts(10*time.Minute, want...)
		if st := w.server.Stats(); st.Lost != 0 || st.Sockets != 1 || st.Opened > 12 {
			t.Errorf("%+v", st)
		}
		w.wantGood()
	})
}

// In this test, a connection dies without a close message. The bot must notice that the connection is dead, and receive
// the messages that people wrote while the connection was dead.
func TestHalfOpenSocketIsNoticed(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		r := receive(t, bot, chat.Resume{})
		defer r.stop()
		time.Sleep(time.Minute)
		w.server.StallSockets()
		w.say("into the void")
		time.Sleep(16 * time.Second)
		if got := w.server.Stats().Opened; got != 2 {
			t.Errorf("%d sockets were opened 16 s after the first died, want 2", got)
		}
		w.say("next")
		if got := r.take(2 * time.Minute); len(got) != 2 {
			t.Errorf("accepted %+v, want both", got)
		}
	})
}

// In this test, a socket is cut. The bot must replace the cut socket at once. If the new socket, however, is cut right
// after it was opened, Run must fail as Temporary, so that the caller of Run waits.
func TestCutSocketIsReplaced(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		r := receive(t, bot, chat.Resume{})
		time.Sleep(time.Minute)
		w.server.CutSockets()
		time.Sleep(time.Second)
		w.say("after a cut")
		r.wantTexts(time.Second, "after a cut")
		w.server.CutSockets()
		err := <-r.done
		if kind := chat.AsSendError(err).Kind; kind != chat.Temporary {
			t.Errorf("Run = %v, want temporary", err)
		}
	})
}

func TestTooManySockets(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		var others []*inbox
		for range 10 {
			others = append(others, receive(t, w.bot(slog.New(slog.DiscardHandler), conformance.Proper), chat.Resume{}))
		}
		err := bot.Run(t.Context(), chat.Resume{}, func(context.Context, chat.Inbound) error { return nil })
		if failure := chat.AsSendError(err); failure.Kind != chat.RateLimited || failure.RetryAfter < 10*time.Second || !strings.Contains(err.Error(), "ten sockets") {
			t.Errorf("Run = %v, want to wait", err)
		}
		w.say("one of ten gets it")
		n := 0
		for _, r := range others {
			n += len(r.take(time.Second))
			r.stop()
		}
		if n != 1 {
			t.Errorf("%d of ten sockets got the message", n)
		}
	})
}

// If only the operator can solve a problem, Run's error must say how to solve it.
func TestRunSaysWhatIsWrong(t *testing.T) {
	nobody := func(context.Context, chat.Inbound) error { return nil }
	for name, c := range map[string]struct {
		method, code string
		kind         chat.ErrorKind
		says         string
	}{
		"a revoked bot token":     {"auth.test", "token_revoked", chat.Auth, "a token of the app is refused"},
		"no such app token":       {"apps.connections.open", "invalid_auth", chat.Auth, "a token of the app is refused"},
		"the wrong kind of token": {"apps.connections.open", "not_allowed_token_type", chat.Auth, "connections:write"},
		"no Socket Mode":          {"apps.connections.open", "socket_mode_disabled", chat.Temporary, "Socket Mode"},
		"an ill platform":         {"apps.connections.open", "internal_error", chat.Temporary, "internal_error"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
				w.server.Fault(standin.Fault{Method: c.method, Action: fault.Error, Error: c.code})
				err := bot.Run(t.Context(), chat.Resume{}, nobody)
				if failure := chat.AsSendError(err); failure.Kind != c.kind || !strings.Contains(err.Error(), c.says) {
					t.Errorf("Run = %v, want %v that says %q", err, c.kind, c.says)
				}
			})
		})
	}
	t.Run("a rate limit", func(t *testing.T) {
		inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
			w.server.Fault(standin.Fault{Method: "apps.connections.open", Action: fault.RateLimit, RetryAfter: 42})
			err := bot.Run(t.Context(), chat.Resume{}, nobody)
			if failure := chat.AsSendError(err); failure.Kind != chat.RateLimited || failure.RetryAfter != 42*time.Second {
				t.Errorf("Run = %v, want to wait 42 s", err)
			}
		})
	})
	t.Run("an address in use", func(t *testing.T) {
		inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, _ *slack.Bot) {
			bot := slack.New(slack.Options{
				BotToken: w.server.BotToken(), SigningSecret: "s", APIBase: "http://slack.test/api/", HTTP: &http.Transport{DialContext: w.net.Dial},
				Listener: func(context.Context) (net.Listener, error) { return nil, errors.New("address already in use") },
			})
			defer bot.Close()
			err := bot.Run(t.Context(), chat.Resume{}, nobody)
			if failure := chat.AsSendError(err); failure.Kind != chat.Temporary || !strings.Contains(err.Error(), "in use") {
				t.Errorf("Run = %v, want that the address is in use", err)
			}
		})
	})
}

// In this test, the bot fails several times to open a second socket. As long as the first socket works, Run must not
// fail, but try to open a second socket again.
func TestReplacementIsTriedAgain(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		r := receive(t, bot, chat.Resume{})
		defer r.stop()
		w.server.Fault(standin.Fault{Method: "apps.connections.open", Times: 3, Action: fault.Status, Status: 502})
		w.server.Disconnect(standin.ReasonWarning, 20*time.Second)
		w.say("by the old one")
		r.wantTexts(15*time.Second, "by the old one")
		if got := w.server.Stats(); got.Sockets != 2 || got.ByMethod["apps.connections.open"] != 5 {
			t.Errorf("%d sockets after %d tries, want 2 after 5", got.Sockets, got.ByMethod["apps.connections.open"])
		}
		w.say("by either")
		r.wantTexts(15*time.Second, "by either")
	})
}

// In this test, the store is slow. While the store is slow, the bot must pass on each message exactly once, and must
// not consider the socket dead.
func TestSlowStore(t *testing.T) {
	for _, byHTTP := range []bool{false, true} {
		t.Run(fmt.Sprint("by HTTP: ", byHTTP), func(t *testing.T) {
			inBubble(t, standin.Options{}, byHTTP, func(t *testing.T, w *world, bot *slack.Bot) {
				r := receive(t, bot, chat.Resume{})
				defer r.stop()
				r.slow = 2 * time.Second
				var want []string
				for i := range 20 {
					want = append(want, fmt.Sprint(i))
					w.say(want[i])
					time.Sleep(20 * time.Millisecond)
				}
				got := r.take(10 * time.Minute)
				ids := map[chat.MessageID]bool{}
				for _, in := range got {
					ids[in.ID] = true
				}
				if len(ids) != len(want) || len(got) != len(want) {
					t.Errorf("accepted %d times %d messages, want each of %d once", len(got), len(ids), len(want))
				}
				if st := w.server.Stats(); st.Opened > 1 {
					t.Errorf("%d sockets were opened, want one", st.Opened)
				}
				w.wantGood()
			})
		})
	}
}

// In this test, a message causes two events, or Slack delivers the message repeatedly. Run must pass on a message only
// once, however often Slack delivers the message (F50).
func TestDuplicatesAreAcceptedOnce(t *testing.T) {
	for _, byHTTP := range []bool{false, true} {
		t.Run(fmt.Sprint("by HTTP: ", byHTTP), func(t *testing.T) {
			inBubble(t, standin.Options{}, byHTTP, func(t *testing.T, w *world, bot *slack.Bot) {
				r := receive(t, bot, chat.Resume{})
				defer r.stop()
				w.server.Fault(standin.Fault{Method: "event", Action: standin.ActDuplicate})
				w.server.Say(standin.Incoming{Channel: channel, Text: mention + " one"})
				time.Sleep(time.Second)
				w.say("two")
				r.wantTexts(10*time.Minute, "one", "two")
				if got := len(w.server.Deliveries()); got != 3 {
					t.Errorf("%d deliveries, want a mention twice and a message", got)
				}
			})
		})
	}
}

// The server must refuse a request without Slack's signature, and answer the request with which Slack verifies the
// URL.
func TestRequestsAreVerified(t *testing.T) {
	for _, action := range []string{standin.ActBadSignature, standin.ActStale} {
		t.Run(action, func(t *testing.T) {
			inBubble(t, standin.Options{}, true, func(t *testing.T, w *world, bot *slack.Bot) {
				r := receive(t, bot, chat.Resume{})
				defer r.stop()
				if err := w.server.SetRequestURL(t.Context(), "http://telex.test/slack"); err != nil {
					t.Errorf("the address is not verified: %v", err)
				}
				w.server.Fault(standin.Fault{Method: "event", Nth: 1, Action: action})
				w.say("forged")
				r.wantTexts(0)
				r.wantTexts(10*time.Minute, "forged") // Slack repeats the refused request
				client := &http.Client{Transport: &http.Transport{DialContext: w.events.dial}}
				defer client.CloseIdleConnections()
				for method, want := range map[string]int{http.MethodGet: 405, http.MethodPost: 401} {
					req, err := http.NewRequestWithContext(t.Context(), method, "http://telex.test/", strings.NewReader(`{"type":"url_verification","challenge":"x"}`))
					if err != nil {
						t.Fatal(err)
					}
					resp, err := client.Do(req)
					if err != nil || resp.StatusCode != want {
						t.Fatalf("%s: %v, %v, want %d", method, resp, err, want)
					}
					_ = resp.Body.Close()
				}
			})
		})
	}
}

// In this test, somebody sends many requests without Slack's signature. The log must mention the forged requests, but
// so rarely that the log can't fill the disk.
func TestForgedRequestsAreLoggedRarely(t *testing.T) {
	inBubble(t, standin.Options{}, true, func(t *testing.T, w *world, _ *slack.Bot) {
		var logged bytes.Buffer
		r := receive(t, w.bot(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn})), conformance.Proper), chat.Resume{})
		client := &http.Client{Transport: &http.Transport{DialContext: w.events.dial}}
		for range 2 {
			for range 20 {
				resp, err := client.Post("http://telex.test/", "application/json", strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
			}
			time.Sleep(2 * time.Minute)
		}
		client.CloseIdleConnections()
		r.stop()
		if n := strings.Count(logged.String(), "request refused"); n != 2 {
			t.Errorf("the log tells of it %d times, want twice:\n%s", n, logged.String())
		}
	})
}

// In this test, a client sends only half of a request. The incomplete request must not prevent Run from ending.
func TestUnfinishedRequest(t *testing.T) {
	inBubble(t, standin.Options{}, true, func(t *testing.T, w *world, bot *slack.Bot) {
		r := receive(t, bot, chat.Resume{})
		conn, err := w.events.dial(t.Context(), "tcp", "telex.test:80")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // the connection is broken by then.
		if _, err := fmt.Fprint(conn, forgedHeader(100)+"half"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		began := time.Now()
		r.stop()
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("Run took %v to end", took)
		}
	})
}

// In this test, Slack refuses a new socket because of a rate limit, and the last open socket ends before the time to
// wait is over. When the last socket ends, Run must fail with the remaining time to wait, and must request no socket.
func TestReplacementWaitsForTheRateLimit(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { done <- bot.Run(ctx, chat.Resume{}, func(context.Context, chat.Inbound) error { return nil }) }()
		time.Sleep(time.Minute)
		w.server.Fault(standin.Fault{Method: "apps.connections.open", Times: 1, Action: fault.RateLimit, RetryAfter: 60})
		w.server.Disconnect(standin.ReasonWarning, 10*time.Second)
		time.Sleep(30 * time.Second)
		if got := w.server.Stats().ByMethod["apps.connections.open"]; got != 2 {
			t.Errorf("%d sockets were asked for, want the first and the one that was refused", got)
		}
		select {
		case err := <-done:
			if failure := chat.AsSendError(err); failure.Kind != chat.RateLimited || failure.RetryAfter < 45*time.Second || failure.RetryAfter > 55*time.Second {
				t.Errorf("Run = %v, want to wait what is left of the minute", err)
			}
		default:
			t.Error("Run goes on without a socket")
		}
		w.wantGood()
	})
}

// In this test, Slack is slow to return names, and many people write at the same time. Even if Slack is slow to return
// names, the bot must accept every message before Slack delivers the message again.
func TestSlowNames(t *testing.T) {
	for _, byHTTP := range []bool{false, true} {
		t.Run(fmt.Sprint("by HTTP: ", byHTTP), func(t *testing.T) {
			inBubble(t, standin.Options{}, byHTTP, func(t *testing.T, w *world, bot *slack.Bot) {
				w.server.Fault(standin.Fault{Method: "users.info", Action: fault.Latency, Delay: 900 * time.Millisecond})
				r := receive(t, bot, chat.Resume{})
				defer r.stop()
				time.Sleep(5 * time.Second)
				for i := range 12 {
					w.server.Say(standin.Incoming{Channel: channel, User: fmt.Sprintf("U%d", 5001+i), Text: mention + " hello"})
				}
				if got := r.take(3 * time.Second); len(got) != 12 {
					t.Errorf("%d of 12 messages were accepted before Slack delivers again", len(got))
				}
				if st := w.server.Stats(); st.Redelivered != 0 {
					t.Errorf("%d deliveries were repeated, want none", st.Redelivered)
				}
				w.wantGood()
			})
		})
	}
}

// In this test, Slack asks the bot for half a minute to replace every socket as soon as it is open. Although Slack asks
// for new sockets again and again, the bot must request only a few sockets.
func TestUnstableSocketsAreThrottled(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		r := receive(t, bot, chat.Resume{})
		defer r.stop()
		for range 300 {
			w.server.Disconnect(standin.ReasonWarning, time.Minute)
			time.Sleep(100 * time.Millisecond)
		}
		if got := w.server.Stats().ByMethod["apps.connections.open"]; got > 10 {
			t.Errorf("%d sockets were asked for in half a minute, want a few", got)
		}
		w.say("still there")
		r.wantTexts(15*time.Second, "still there")
		w.wantGood()
	})
}

// In this test, a person uses a slash command in a channel. The channel must show the command and who used it, although
// by default Slack shows a slash command to nobody else. A person without access must get a refusal that nobody else
// sees.
func TestCommandInAChannelIsShown(t *testing.T) {
	for _, byHTTP := range []bool{false, true} {
		t.Run(fmt.Sprint("by HTTP: ", byHTTP), func(t *testing.T) {
			inBubble(t, standin.Options{}, byHTTP, func(t *testing.T, w *world, bot *slack.Bot) {
				bot.Screen(chat.Screen{Refusal: func(in chat.Inbound) string {
					if in.Sender.ID == other {
						return "Not you."
					}
					return ""
				}})
				r := receive(t, bot, chat.Resume{})
				defer r.stop()
				before := len(w.server.History(channel))
				w.server.Command(channel, person, "/telex", "why <@"+other+">?")
				w.server.Command(dm, person, "/telex", "why?")
				if list := r.take(5 * time.Second); len(list) != 2 {
					t.Errorf("accepted %+v, want two commands", list)
				}
				w.server.Command(channel, other, "/telex", "why?")
				_ = r.take(5 * time.Second)
				seen := w.server.History(channel)[before:]
				if len(seen) != 2 || seen[0].User != person || seen[0].EphemeralTo != "" || seen[0].Shown() != "/telex why @person-2002?" ||
					seen[1].EphemeralTo != other || seen[1].Shown() != "Not you." {
					t.Errorf("the channel shows %+v, want the member's command and a line for the other", seen)
				}
				if seen := w.server.History(dm); len(seen) != 0 {
					t.Errorf("the direct message shows %+v", seen)
				}
				w.wantGood()
			})
		})
	}
}

// In this test, a person uses a command in a channel of which the bot is not a member. The person who used the command
// must see a text which explains why there is no answer, and nobody else may see this text.
func TestCommandWhereTheBotIsNot(t *testing.T) {
	for _, byHTTP := range []bool{false, true} {
		t.Run(fmt.Sprint("by HTTP: ", byHTTP), func(t *testing.T) {
			inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, byHTTP, func(t *testing.T, w *world, bot *slack.Bot) {
				w.server.SetChannel(standin.Channel{ID: "C50", Name: "random", BotOut: true})
				r := receive(t, bot, chat.Resume{})
				defer r.stop()
				w.server.Command("C50", person, "/telex", "help")
				if list := r.take(10 * time.Second); len(list) != 0 {
					t.Errorf("accepted %+v, which nobody can answer", list)
				}
				seen := w.server.History("C50")
				if len(seen) != 1 || seen[0].EphemeralTo != person || !strings.Contains(seen[0].Shown(), "Invite me") {
					t.Errorf("seen are %+v, want why", seen)
				}
				w.server.Fault(standin.Fault{Method: "conversations.info", Action: fault.Hang})
				w.server.Command(channel, person, "/telex", "help")
				w.server.ClearFaults()
				w.server.Command(dm, person, "/telex", "help")
				w.server.Command(channel, person, "/telex", "help")
				if list := r.take(10 * time.Second); len(list) != 3 {
					t.Errorf("accepted %+v, want three commands", list)
				}
				for _, c := range w.server.Commands() {
					if c.Failed != "" {
						t.Errorf("%+v failed", c)
					}
				}
				w.wantGood()
			})
		})
	}
}
