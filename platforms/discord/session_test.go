package discord_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
	"telex/platforms/conformance"
	standin "telex/standin/discord"
	"telex/standin/fault"
)

// After each kind of connection failure in the list, the session must continue, and no message may be lost or delivered
// twice.
func TestSessionGoesOn(t *testing.T) {
	for name, d := range map[string]standin.Disturbance{
		"dropped":            {Kind: standin.GatewayDrop},
		"asked to reconnect": {Kind: standin.GatewayReconnect},
		"half open":          {Kind: standin.GatewayZombie},
		"invalid, resumable": {Kind: standin.GatewayInvalidate, Resumable: true},
		"heartbeat wanted":   {Kind: standin.GatewayBeat},
		"closed 1000":        {Kind: standin.GatewayClose, Code: 1000},
		"closed 1001":        {Kind: standin.GatewayClose, Code: 1001},
		"closed 1011":        {Kind: standin.GatewayClose, Code: 1011},
		"closed 4000":        {Kind: standin.GatewayClose, Code: 4000},
		"closed 4001":        {Kind: standin.GatewayClose, Code: 4001},
		"closed 4002":        {Kind: standin.GatewayClose, Code: 4002},
		"closed 4005":        {Kind: standin.GatewayClose, Code: 4005},
		"closed 4008":        {Kind: standin.GatewayClose, Code: 4008},
		"no hello, dropped":  {Kind: standin.GatewayDrop},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				r := start(t, w.bot(discarded(), conformance.Proper), chat.Resume{})
				w.say(w.direct, "one")
				r.wantTexts("one")
				for i := range 3 {
					w.server.Gateway(d)
					w.say(w.direct, fmt.Sprintf("two %d", i))
					w.say(standin.DefaultChannel, fmt.Sprintf("three %d", i))
					time.Sleep(90 * time.Second) // long enough for the bot to notice a dead connection by a missing heartbeat
					r.wantTexts(fmt.Sprintf("two %d", i), fmt.Sprintf("three %d", i))
				}
				if st := w.server.Stats(); st.Identifies != 1 || st.RefusedResumes != 0 || st.ResumesElsewhere != 0 || st.Connections != 1 {
					t.Errorf("%d sessions, %d refused resumes, %d resumes elsewhere, %d connections, want one session",
						st.Identifies, st.RefusedResumes, st.ResumesElsewhere, st.Connections)
				}
				if err := r.stop(); !errors.Is(err, context.Canceled) {
					t.Errorf("Run = %v", err)
				}
			})
		})
	}
}

// If the session is lost, the bot must start another session, and deliver the missed messages before newer messages.
func TestSessionIsLost(t *testing.T) {
	for name, lose := range map[string]func(w *world){
		"refused": func(w *world) {
			w.server.Gateway(standin.Disturbance{Kind: standin.GatewayRefuse})
			w.server.Gateway(standin.Disturbance{Kind: standin.GatewayDrop})
		},
		"forgotten": func(w *world) {
			w.server.Gateway(standin.Disturbance{Kind: standin.GatewayDrop})
			w.server.Gateway(standin.Disturbance{Kind: standin.GatewayForget})
		},
		"invalid":     func(w *world) { w.server.Gateway(standin.Disturbance{Kind: standin.GatewayInvalidate}) },
		"closed 4007": func(w *world) { w.server.Gateway(standin.Disturbance{Kind: standin.GatewayClose, Code: 4007}) },
		"closed 4009": func(w *world) { w.server.Gateway(standin.Disturbance{Kind: standin.GatewayClose, Code: 4009}) },
		"closed 4003": func(w *world) { w.server.Gateway(standin.Disturbance{Kind: standin.GatewayClose, Code: 4003}) },
		"a long outage": func(w *world) {
			w.server.Outage(fault.Outage{Kind: fault.OutageCut, For: 10 * time.Minute})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				bot := w.bot(discarded(), conformance.Proper)
				r := start(t, bot, chat.Resume{})
				w.say(w.direct, "one")
				question := w.say(standin.DefaultChannel, "two")
				r.wantTexts("one", "two")
				thread, err := w.server.StartThread(standin.DefaultChannel, question, "a thread")
				if err != nil {
					t.Fatal(err)
				}
				lose(w)
				w.say(w.direct, "three")
				w.say(standin.DefaultChannel, "four")
				w.say(thread, "five")
				w.say(w.direct, "six")
				for name == "a long outage" { // Run returns during the outage; start it again, as the gateway would
					err := r.ended()
					if chat.AsSendError(err).Kind != chat.Temporary {
						t.Fatalf("Run = %v, want a temporary failure", err)
					}
					time.Sleep(10 * time.Second)
					r = r.again(bot)
					if time.Sleep(10 * time.Second); w.server.Stats().Connections == 1 {
						break
					}
				}
				time.Sleep(6 * time.Second)
				w.say(w.direct, "seven")
				got := map[chat.Target][]string{}
				for _, in := range r.take() {
					got[in.To] = append(got[in.To], in.Text)
				}
				in := chat.Target{Chat: standin.DefaultChannel, Kind: chat.Group}
				below := in
				below.Thread = chat.ThreadID(thread)
				for to, want := range map[chat.Target]string{w.Private(): "three six seven", in: "four", below: "five"} {
					if s := strings.Join(got[to], " "); s != want {
						t.Errorf("in %+v was accepted %q, want %q", to, s, want)
					}
				}
				if n := w.server.Stats().Identifies; n != 2 {
					t.Errorf("%d sessions, want two", n)
				}
				w.say(w.direct, "eight")
				r.wantTexts("eight")
			})
		})
	}
}

// A new process must resume the session of the earlier process. If the new process starts too late to resume the
// session, it must request the missed messages.
func TestProcessGoesOn(t *testing.T) {
	for name, away := range map[string]time.Duration{"soon": time.Minute, "later": time.Hour, "much later": 20 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				r := start(t, w.bot(discarded(), conformance.Proper), chat.Resume{})
				w.say(w.direct, "one")
				w.say(standin.DefaultChannel, "two")
				r.wantTexts("one", "two")
				if err := r.stop(); !errors.Is(err, context.Canceled) {
					t.Errorf("Run = %v", err)
				}
				var want []string
				for i := range 230 { // three pages
					w.say(w.direct, fmt.Sprintf("while away %d", i))
					want = append(want, fmt.Sprintf("while away %d", i))
				}
				time.Sleep(away)
				r = r.again(w.bot(discarded(), conformance.Proper))
				time.Sleep(quiet)
				w.say(w.direct, "back")
				var got []string
				for _, in := range r.take() {
					if got = append(got, in.Text); in.Missed != (in.Text != "back") {
						t.Errorf("%s: missed is %t", in.Text, in.Missed)
					}
				}
				if want = append(want, "back"); !slices.Equal(got, want) {
					t.Errorf("accepted %q, want %q", got, want)
				}
				sessions := 2
				if name == "soon" {
					sessions = 1
				}
				if n := w.server.Stats().Identifies; n != sessions {
					t.Errorf("%d sessions, want %d", n, sessions)
				}
			})
		})
	}
}

// A message counts as missed only if it was written before this connection was opened. A backfill also finds messages
// that were written after the connection was opened; the bot must not count these messages as missed.
func TestMissedIsOlderThanTheConnection(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		r := start(t, w.bot(discarded(), conformance.Proper), chat.Resume{})
		w.say(w.direct, "one")
		r.wantTexts("one")
		_ = r.stop()
		w.say(w.direct, "while away")
		time.Sleep(time.Hour)
		w.server.Fault(standin.Fault{Method: "getMessages", Times: 1, Action: fault.Latency, Delay: 10 * time.Second})
		r = r.again(w.bot(discarded(), conformance.Proper))
		time.Sleep(6 * time.Second) // meanwhile, Discord refuses to resume the old session
		w.say(w.direct, "after the connection")
		missed := map[string]bool{}
		for _, in := range r.take() {
			missed[in.Text] = in.Missed
		}
		if want := (map[string]bool{"while away": true, "after the connection": false}); !maps.Equal(missed, want) {
			t.Errorf("missed are %v, want %v", missed, want)
		}
		if n := len(w.calls("getMessages")); n == 0 {
			t.Error("no messages were asked for")
		}
	})
}

// Run must not deliver a missed message that is older than a day.
func TestProcessIsAwayForDays(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		r := start(t, w.bot(discarded(), conformance.Proper), chat.Resume{})
		w.say(w.direct, "one")
		r.wantTexts("one")
		_ = r.stop()
		w.say(w.direct, "old")
		time.Sleep(23 * time.Hour)
		w.say(w.direct, "new")
		time.Sleep(2 * time.Hour)
		r = r.again(w.bot(discarded(), conformance.Proper))
		r.wantTexts("new")
	})
}

// In this test, while the bot reads missed messages, calls fail or the store refuses a message. Neither failed calls
// nor a refusing store may make the bot lose a message.
func TestTroubleWhileAsking(t *testing.T) {
	for name, trouble := range map[string]func(w *world, r *runs){
		"a rate limit": func(w *world, _ *runs) {
			w.server.Fault(standin.Fault{Method: "getMessages", Times: 2, Action: fault.RateLimit, RetryAfter: 3.5})
		},
		"server errors": func(w *world, _ *runs) {
			w.server.Fault(standin.Fault{Method: "getMessages", Times: 3, Action: fault.Status, Status: http.StatusBadGateway})
		},
		"cut": func(w *world, _ *runs) {
			w.server.Fault(standin.Fault{Method: "getMessages", Times: 3, Action: fault.CutMiddle})
		},
		"an outage": func(w *world, _ *runs) {
			w.server.Fault(standin.Fault{Method: "getMessages", For: time.Minute, Action: fault.Status, Status: http.StatusServiceUnavailable})
		},
		"malformed": func(w *world, _ *runs) {
			w.server.Fault(standin.Fault{Method: "getMessages", Times: 1, Action: fault.Malformed})
		},
		"slow, and dropped": func(w *world, _ *runs) {
			w.server.Fault(standin.Fault{Method: "getMessages", Times: 2, Action: fault.Latency, Delay: 10 * time.Second})
			time.AfterFunc(7*time.Second, func() { w.server.Gateway(standin.Disturbance{Kind: standin.GatewayDrop}) })
		},
		"slow, and lost again": func(w *world, _ *runs) {
			w.server.Fault(standin.Fault{Method: "getMessages", Times: 2, Action: fault.Latency, Delay: 10 * time.Second})
			time.AfterFunc(7*time.Second, func() { w.server.Gateway(standin.Disturbance{Kind: standin.GatewayInvalidate}) })
		},
		"a full store": func(_ *world, r *runs) { r.refuse(1) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				bot := w.bot(discarded(), conformance.Proper)
				r := start(t, bot, chat.Resume{})
				w.say(w.direct, "one")
				r.wantTexts("one")
				w.server.Gateway(standin.Disturbance{Kind: standin.GatewayInvalidate})
				w.say(w.direct, "two")
				w.say(standin.DefaultChannel, "three")
				trouble(w, r)
				time.Sleep(6 * time.Second)
				w.say(w.direct, "four")
				if name == "a full store" {
					if err := r.ended(); !errors.Is(err, errFull) {
						t.Fatalf("Run = %v, want %v", err, errFull)
					}
					time.Sleep(time.Second)
					r = r.again(bot)
				}
				time.Sleep(2 * time.Minute)
				got := map[chat.Kind]string{}
				for _, in := range r.take() {
					got[in.To.Kind] += in.Text + " "
				}
				if got[chat.Private] != "two four " || got[chat.Group] != "three " {
					t.Errorf("accepted %q, want two and four, and three", got)
				}
			})
		})
	}
}

// While a slow backfill runs, a new message in a channel without missed messages must not wait until the backfill has
// read the other channels.
func TestOthersDoNotWait(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		r := start(t, w.bot(discarded(), conformance.Proper), chat.Resume{})
		for _, to := range w.Crowd(60) {
			if _, err := w.server.Say(standin.Incoming{Channel: channel(to), User: w.writer(to), Text: "hello"}); err != nil {
				t.Fatal(err)
			}
		}
		w.say(w.direct, "newest")
		if got := len(r.take()); got != 61 {
			t.Fatalf("%d messages, want 61", got)
		}
		w.server.Gateway(standin.Disturbance{Kind: standin.GatewayInvalidate})
		w.say(w.direct, "missed")
		time.Sleep(9 * time.Second) // the backfill's requests take 15 s, so it still runs
		began := time.Now()
		w.say(w.direct, "at once")
		w.say("400000000000000009", "elsewhere")
		time.Sleep(time.Second)
		synctest.Wait()
		r.mu.Lock()
		got := len(r.accepted)
		r.mu.Unlock()
		if got != 3 {
			t.Errorf("%d messages were accepted %v after they were written, want three", got, time.Since(began))
		}
		if n := len(w.calls("getMessages")); n >= 60 {
			t.Errorf("%d channels were asked by then, want fewer", n)
		}
		r.wantTexts("missed", "at once", "elsewhere")
		if n := len(w.calls("getMessages")); n != 61 {
			t.Errorf("%d channels were asked, want the 61 that are known", n)
		}
		w.server.Gateway(standin.Disturbance{Kind: standin.GatewayDrop})
		w.say(w.direct, "after")
		r.wantTexts("after")
	})
}

// In this test, the store refuses a message because the store is full. The next Run must deliver the refused message
// again, and then the newer messages in order.
func TestFullStore(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		r := start(t, bot, chat.Resume{})
		r.refuse(1)
		w.say(w.direct, "one")
		w.say(w.direct, "two")
		if err := r.ended(); !errors.Is(err, errFull) {
			t.Errorf("Run = %v, want %v", err, errFull)
		}
		w.say(w.direct, "three")
		r = r.again(bot)
		r.wantTexts("one", "two", "three")
	})
}

// If only the operator can solve a problem, the error of Run must say how to solve it. If the token is not the reason,
// the error of Run must also ask for a long pause, because each attempt to connect starts a session.
func TestRefusedByGateway(t *testing.T) {
	for code, c := range map[int]struct {
		kind chat.ErrorKind
		says string
	}{
		4004: {chat.Auth, "token"},
		4010: {chat.Rejected, "shards"},
		4011: {chat.Rejected, "shards"},
		4012: {chat.Rejected, "update"},
		4013: {chat.Rejected, "intents"},
		4014: {chat.Rejected, "Privileged Gateway Intents"},
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				r := start(t, w.bot(discarded(), conformance.Proper), chat.Resume{})
				w.server.Gateway(standin.Disturbance{Kind: standin.GatewayClose, Code: code})
				err := r.ended()
				failure := chat.AsSendError(err)
				if failure.Kind != c.kind || !strings.Contains(err.Error(), c.says) {
					t.Errorf("Run = %v, want %v and something of %s", err, c.kind, c.says)
				}
				if c.kind == chat.Rejected && failure.RetryAfter < 90*time.Second {
					t.Errorf("it is tried again after %v, which are more than 1,000 sessions a day", failure.RetryAfter)
				}
			})
		})
	}
}

// Discord allows a token a limited number of sessions per day. When no more sessions are allowed, Run must fail and ask
// for a pause until the limit is reset.
func TestSessionsAreSpent(t *testing.T) {
	inBubble(t, standin.Options{Limits: standin.Limits{Sessions: 1}}, func(t *testing.T, w *world) {
		r := start(t, w.bot(discarded(), conformance.Proper), chat.Resume{})
		w.server.Gateway(standin.Disturbance{Kind: standin.GatewayInvalidate})
		err := r.ended()
		if e := chat.AsSendError(err); e.Kind != chat.RateLimited || e.RetryAfter < 23*time.Hour {
			t.Errorf("Run = %v after %v, want a wait of almost a day", err, e.RetryAfter)
		}
	})
}

// If the gateway sends no Hello or the connection fails, Run must return a temporary error, so that its caller tries
// again.
func TestGatewayDoesNotAnswer(t *testing.T) {
	for name, break_ := range map[string]func(w *world){
		"no hello": func(w *world) { w.server.Gateway(standin.Disturbance{Kind: standin.GatewayMute}) },
		"refused": func(w *world) {
			w.server.Fault(standin.Fault{Method: "gateway", Times: 1, Action: fault.Status, Status: 503})
		},
		"cut": func(w *world) {
			w.server.Fault(standin.Fault{Method: "gateway", Times: 1, Action: fault.CutBefore})
		},
		"hanging": func(w *world) { w.server.Fault(standin.Fault{Method: "gateway", Times: 1, Action: fault.Hang}) },
		"no address": func(w *world) {
			w.server.Fault(standin.Fault{Method: "getGatewayBot", Times: 1, Action: fault.Status, Status: 502})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				bot := w.bot(discarded(), conformance.Proper)
				break_(w)
				began := time.Now()
				err := bot.Run(t.Context(), chat.Resume{}, func(context.Context, chat.Inbound) error { return nil })
				if chat.AsSendError(err).Kind != chat.Temporary || time.Since(began) > 20*time.Second {
					t.Errorf("Run = %v after %v, want a temporary failure soon", err, time.Since(began))
				}
				r := start(t, bot, chat.Resume{})
				time.Sleep(6 * time.Second)
				w.say(w.direct, "one")
				r.wantTexts("one")
				synctest.Wait()
			})
		})
	}
}

// Discord allows an unpublished number of edits of an old message. When Discord refuses further edits of an old
// message, Edit must fail with Frozen, so that the gateway sends a new message instead.
func TestOldMessageIsFrozen(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		ref := send(t, bot, w.Private(), outgoing("one", ""))
		time.Sleep(61 * time.Minute)
		for i := range 40 {
			_, err := bot.Edit(t.Context(), ref, outgoing(fmt.Sprint(i), ""))
			time.Sleep(1200 * time.Millisecond)
			if err == nil {
				continue
			}
			if chat.AsSendError(err).Kind != chat.Frozen || i < 10 {
				t.Errorf("edit %d = %v, want that it is frozen, after some", i, err)
			}
			return
		}
		t.Error("all edits succeeded")
	})
}
