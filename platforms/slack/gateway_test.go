package slack_test

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
	"telex/platforms/slack"
	"telex/standin/fault"
	standin "telex/standin/slack"
)

// The tests in this file run the adapter together with telex's gateway, with Slack's stand-in.

// house runs telex's gateway until the test ends or the returned function is called. A test that restarts the gateway
// passes the same store again, with a new bot.
func house(t *testing.T, bot *slack.Bot, s gateway.Store, r gateway.Runner, transport preview.Transport) (stop func()) {
	t.Helper()
	stop = conformance.Start(t, gateway.Options{
		Endpoints: []gateway.Endpoint{{
			ID: "slack", Platform: bot,
			Streaming: preview.Config{Enabled: true, MinTokens: 3, Cursor: " ▌", Transport: transport, MaxParts: 4},
		}},
		Runner: r, Store: s, Access: access.Rules{Open: true}, Busy: gateway.Queue, MaxQueued: 10,
		MaxAge: time.Hour, Grace: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	time.Sleep(time.Second)
	synctest.Wait()
	return stop
}

// words returns a text of n different words.
func words(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("word%d", i)
	}
	return strings.Join(list, " ")
}

// thread returns the thread in which the bot answers a message that was written in the channel, outside of threads.
func thread(ts string) chat.Target {
	return chat.Target{Chat: channel, Thread: chat.ThreadID(ts), Kind: chat.Group}
}

func (w *world) wantShown(to chat.Target, want ...string) {
	w.t.Helper()
	if got := w.Shown(to); !slices.Equal(got, want) {
		w.t.Errorf("shown are %.300q, want %.300q", got, want)
	}
}

// In this test, Slack delivers messages twice: as two kinds of events, through two sockets, or again because a socket
// was cut before the acknowledgement. The bot must answer each message once, even if Slack delivers the message twice
// (F50).
func TestDuplicateDeliveriesAreAnsweredOnce(t *testing.T) {
	inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		house(t, bot, memory.New(), conformance.Talker{Pause: 10 * time.Millisecond}, preview.Edit)
		w.server.Fault(standin.Fault{Method: "event", Every: 2, Action: standin.ActDuplicate})
		w.server.Disconnect(standin.ReasonWarning, time.Minute)
		time.Sleep(time.Second)
		if got := w.server.Sockets(); got != 2 {
			t.Fatalf("%d sockets, want 2", got)
		}
		places := map[chat.Target]string{}
		for i := range 10 {
			text := fmt.Sprint("question ", i)
			places[thread(w.server.Say(standin.Incoming{Channel: channel, Text: mention + " " + text}))] = "re: " + text
			time.Sleep(2 * time.Second)
			if i == 5 {
				w.server.CutSockets()
			}
		}
		time.Sleep(10 * time.Minute)
		for to, want := range places {
			w.wantShown(to, want)
		}
		w.wantGood()
	})
}

// In this test, the model writes for longer than Slack keeps a stream open, or is silent for minutes before its answer
// ends. After a long stream and after a long silence, the message must show the whole text and never look broken (F48).
func TestLongStreamWithSilentTail(t *testing.T) {
	for name, c := range map[string]conformance.Talker{
		"silent at the end": {Text: words(240), Pause: time.Second, Tail: 2 * time.Minute},
		"silent for long":   {Text: words(20), Pause: 10 * time.Millisecond, Tail: 6 * time.Minute},
		"never silent":      {Text: words(360), Pause: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
				house(t, bot, memory.New(), c, preview.Native)
				to := thread(w.server.Say(standin.Incoming{Channel: channel, Text: mention + " go"}))
				for range 8 * 60 {
					time.Sleep(time.Second)
					if broken := w.Broken(to); len(broken) > 0 {
						t.Fatalf("broken are %q", broken)
					}
				}
				w.wantShown(to, c.Text)
				if got := w.server.Stats().Streams; got != 1 {
					t.Errorf("%d streams, want 1", got)
				}
				w.wantGood()
			})
		})
	}
}

// In this test, Slack ends a stream while the bot can't reach Slack, so the message looks broken. After the outage, the
// bot must repair the broken message with an edit (F48).
func TestStreamBreaksInAnOutage(t *testing.T) {
	for _, kind := range []string{fault.OutageCut, fault.OutageHang, fault.OutageError} {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
				house(t, bot, memory.New(), conformance.Talker{Text: words(20), Pause: 10 * time.Millisecond, Tail: 8 * time.Minute}, preview.Native)
				to := thread(w.server.Say(standin.Incoming{Channel: channel, Text: mention + " go"}))
				time.Sleep(3 * time.Minute)
				if got := w.Streaming(to); len(got) != 1 || !strings.HasPrefix(words(20), got[0]) {
					t.Fatalf("streaming are %q", got)
				}
				w.server.Outage(fault.Outage{Kind: kind, For: 3 * time.Minute})
				time.Sleep(2*time.Minute + 30*time.Second)
				if got := w.Broken(to); len(got) != 1 {
					t.Fatalf("broken are %q, want the stream", got)
				}
				time.Sleep(20 * time.Minute)
				w.wantShown(to, words(20))
				if got := w.Broken(to); len(got) != 0 {
					t.Errorf("broken are %q, want none", got)
				}
			})
		})
	}
}

// In this test, the bot answers in 30 threads at the same time, within the published rate limits. In the end, every
// answer must be complete, and Slack must have refused no call.
func TestThirtyThreads(t *testing.T) {
	for name, transport := range map[string]preview.Transport{"edits": preview.Edit, "streams": preview.Native} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
				house(t, bot, memory.New(), conformance.Talker{Pause: 500 * time.Millisecond, Text: words(60)}, transport)
				var places []chat.Target
				for i := range 30 {
					in := standin.Incoming{Channel: fmt.Sprintf("C%d", 1+i%10), User: fmt.Sprintf("U%d", 1+i), Text: mention + " go"}
					to := thread(w.server.Say(in))
					to.Chat = chat.ChatID(in.Channel)
					places = append(places, to)
				}
				time.Sleep(10 * time.Minute)
				for _, to := range places {
					w.wantShown(to, words(60))
				}
				if st := w.server.Stats(); st.TooManyRequests != 0 || st.Edits < 10 {
					t.Errorf("%d answers 429, %d edits, want none and some", st.TooManyRequests, st.Edits)
				}
				w.wantGood()
			})
		})
	}
}

// In this test, the response to a create call is lost. If the call made a message, the bot must find the message by its
// idempotency key and continue it, so that no post, stream or file is duplicated (D5).
func TestUncertainCreatesAreFound(t *testing.T) {
	for method, c := range map[string]struct {
		transport preview.Transport
		text      string
	}{
		"chat.postMessage":             {preview.Edit, words(100)},
		"chat.startStream":             {preview.Native, words(100)},
		"files.completeUploadExternal": {preview.Edit, words(6000)},
	} {
		for _, f := range []conformance.Fault{conformance.CutAfter, conformance.CutBefore, conformance.Hang} {
			t.Run(fmt.Sprint(method, " ", f), func(t *testing.T) {
				inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
					w.server.Fault(once(method, f.OnCall()))
					house(t, bot, memory.New(), conformance.Talker{Text: c.text, Pause: 10 * time.Millisecond}, c.transport)
					first := thread(w.server.Say(standin.Incoming{Channel: channel, Text: mention + " go"}))
					time.Sleep(5 * time.Minute)
					second := thread(w.server.Say(standin.Incoming{Channel: channel, Text: mention + " again"}))
					time.Sleep(5 * time.Minute)
					for _, to := range []chat.Target{first, second} {
						whole := slices.Clone(w.Shown(to))
						if files := w.Files(to); len(files) > 0 {
							whole = append(whole[:len(whole)-len(files)], string(files[0].Content))
							if len(files) != 1 {
								t.Errorf("%d files, want one", len(files))
							}
						}
						if got := strings.Join(strings.Fields(strings.Join(whole, " ")), " "); got != c.text {
							t.Errorf("shown are %.300q…, want the text once", whole)
						}
						if got := len(w.Broken(to)) + len(w.Streaming(to)); got != 0 {
							t.Errorf("%d streams were left", got)
						}
					}
					w.wantGood()
				})
			})
		}
	}
}

// In this test, sockets are cut or stop responding twenty times during answers. No message may be lost, and no message
// may be answered twice.
func TestTwentyCuts(t *testing.T) {
	inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		house(t, bot, memory.New(), conformance.Talker{Pause: 10 * time.Millisecond}, preview.Edit)
		places := map[chat.Target]string{}
		for i := range 20 {
			text := fmt.Sprint("question ", i)
			places[thread(w.server.Say(standin.Incoming{Channel: channel, Text: mention + " " + text}))] = "re: " + text
			if i%3 == 2 {
				w.server.StallSockets()
			} else {
				w.server.CutSockets()
			}
			time.Sleep(5 * time.Second)
		}
		time.Sleep(15 * time.Minute)
		for to, want := range places {
			w.wantShown(to, want)
		}
	})
}

// In this test, a daemon was offline for an hour. The daemon must answer each message that was written while the daemon
// was offline once, in the thread or direct message where the message was written (F44).
func TestOfflineForAnHour(t *testing.T) {
	inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		store := memory.New()
		stop := house(t, bot, store, conformance.Talker{Pause: 10 * time.Millisecond}, preview.Edit)
		before := w.server.Say(standin.Incoming{Channel: channel, Text: mention + " before"})
		time.Sleep(time.Minute)
		stop()
		time.Sleep(30 * time.Minute)
		w.server.Say(standin.Incoming{Channel: channel, Thread: before, Text: mention + " in the thread"})
		top := w.server.Say(standin.Incoming{Channel: channel, Text: mention + " at the top"})
		w.say("in private")
		time.Sleep(30 * time.Minute)
		house(t, w.bot(slog.New(slog.DiscardHandler), conformance.Proper), store, conformance.Talker{Pause: 10 * time.Millisecond}, preview.Edit)
		time.Sleep(5 * time.Minute)
		w.wantShown(thread(before), "re: before", "re: in the thread")
		w.wantShown(thread(top), "re: at the top")
		w.wantShown(chat.Target{Chat: dm}, "re: in private")
		w.wantGood()
	})
}

// The bot must answer a slash command where it was used. In a thread, where slash commands do not exist, people can
// write "stop" or press the stop button instead.
func TestCommandsAndButtons(t *testing.T) {
	inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		house(t, bot, memory.New(), conformance.Talker{Text: words(300), Pause: 100 * time.Millisecond}, preview.Edit)
		w.server.Command(channel, person, "/ai", "help")
		w.server.Command(channel, person, "/ai", "what is this?")
		time.Sleep(time.Minute)
		shown := w.Shown(w.Channel())
		if len(shown) != 2 || !strings.Contains(shown[0], "/ai new – ") || shown[1] != words(300) {
			t.Errorf("shown are %.200q, want help with what can be typed, and an answer", shown)
		}
		helped := thread(w.server.Say(standin.Incoming{Channel: channel, Text: mention + " help"}))
		time.Sleep(10 * time.Second)
		if shown := w.Shown(helped); len(shown) != 1 || !strings.Contains(shown[0], "\n@telex new – ") || strings.Contains(shown[0], "/") {
			t.Errorf("shown are %.200q, want help with what can be typed", shown)
		}
		for _, how := range []string{"word", "button"} {
			to := thread(w.server.Say(standin.Incoming{Channel: channel, Text: mention + " go"}))
			time.Sleep(10 * time.Second)
			m := w.standing(to)[0]
			if len(m.Last().Buttons) != 1 {
				t.Fatalf("the preview has the buttons %+v, want one", m.Last().Buttons)
			}
			if how == "word" {
				w.server.Say(standin.Incoming{Channel: channel, Thread: string(to.Thread), Text: mention + " stop"})
			} else {
				w.server.Press(channel, person, m.TS, m.Last().Buttons[0].ActionID)
			}
			time.Sleep(10 * time.Second)
			last := w.standing(to)[0].Last()
			if text := last.Shown; !strings.HasPrefix(text, "word0 ") || strings.Contains(text, "word200") || strings.Contains(text, "▌") || len(last.Buttons) != 0 {
				t.Errorf("after the %s: %.100q with %+v", how, text, last.Buttons)
			}
		}
		for _, c := range w.server.Commands() {
			if c.Failed != "" {
				t.Errorf("%+v failed", c)
			}
		}
		w.wantGood()
	})
}

// In this test, a create call does not take effect, and an earlier answer in the same chat ended with a file. When the
// bot searches for the message of the call, it must not find that file, so both answers must be visible (D5).
func TestLostCreateIsNotAnEarlierFile(t *testing.T) {
	for name, to := range map[string]chat.Target{"direct message": {Chat: dm}, "thread": thread("")} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
				house(t, bot, memory.New(), conformance.Talker{Pause: 3 * time.Millisecond}, preview.Edit)
				say := func(text string) string {
					return w.server.Say(standin.Incoming{Channel: string(to.Chat), Thread: string(to.Thread), Text: mention + " " + text})
				}
				if ts := say(words(6000)); to.Kind == chat.Group {
					to.Thread = chat.ThreadID(ts)
				}
				time.Sleep(2 * time.Minute)
				before := w.Shown(to)
				if files := w.Files(to); len(files) != 1 {
					t.Fatalf("%d files, want the rest of the answer", len(files))
				}
				w.server.Fault(once("chat.postMessage", conformance.CutBefore.OnCall()))
				say("again")
				time.Sleep(5 * time.Minute)
				w.wantShown(to, append(before, "re: again")...)
				if files := w.Files(to); len(files) != 1 {
					t.Errorf("%d files, want the one of the first answer", len(files))
				}
				w.wantGood()
			})
		})
	}
}
