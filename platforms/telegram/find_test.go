package telegram_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	"telex/standin/fault"
	standin "telex/standin/telegram"
)

// The tests in this file check Find with Telegram's stand-in.

// finder runs the adapter until the test ends. When the adapter starts, it learns the ids of the messages in sent.
func finder(t *testing.T, bot conformance.Adapter, sent ...chat.MessageRef) preview.Finder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = bot.Run(ctx, chat.Resume{Sent: sent}, func(context.Context, chat.Inbound) error { return nil })
	}()
	t.Cleanup(func() { cancel(); <-done })
	time.Sleep(time.Second)
	return bot.(preview.Finder)
}

// search calls Find again and again until the search is over. A search is over when Find returns no position at which
// the next call must continue. search also returns the number of calls.
func search(t *testing.T, f preview.Finder, to chat.Target, c chat.Create) (found chat.Found, calls int) {
	t.Helper()
	for {
		calls++
		var err error
		if found, err = f.Find(t.Context(), to, c, found.Next); err != nil {
			t.Fatalf("Find = %v", err)
		}
		if found.Next == "" {
			return found, calls
		}
	}
}

// lose sends a text over a connection that breaks, and returns this create call, whose outcome is unknown.
func lose(t *testing.T, w *world, bot conformance.Adapter, to chat.Target, text, action string) chat.Create {
	t.Helper()
	c := chat.Create{Key: "key of " + text, After: bot.(preview.Finder).Newest(to), Message: chat.Outgoing{Text: text, Key: "key of " + text}}
	w.server.Fault(standin.Fault{Method: "sendMessage", Action: action, Times: 1, Delay: 5 * time.Second})
	if _, err := bot.Send(t.Context(), to, c.Message); kindOf(err) != chat.Uncertain {
		t.Fatalf("Send = %v, want an uncertain failure", err)
	}
	return c
}

// In this test, other chats receive messages while Find searches. Find must find a message that exists, must not find a
// message that was never made, and must change no other message.
func TestFindAmongOtherChats(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		f, to := finder(t, bot), w.Private()
		w.server.Say(standin.Incoming{User: privateID, Text: "hello"})
		w.server.Say(standin.Incoming{User: otherID, Text: "somebody else"})
		time.Sleep(time.Second)
		before := lose(t, w, bot, to, "not there", fault.CutBefore)
		there := lose(t, w, bot, to, "there", fault.CutAfter)
		for range 30 {
			w.server.Say(standin.Incoming{User: otherID, Text: "there"})
			w.server.Say(standin.Incoming{User: privateID, Text: "there"})
		}
		time.Sleep(time.Second)
		if _, err := bot.Send(t.Context(), to, chat.Outgoing{Text: "known"}); err != nil {
			t.Fatal(err)
		}
		found, calls := search(t, f, to, there)
		shown := w.server.View(privateID, time.Now())
		if want := shown[1].ID; found.Ref.ID != chat.MessageID(strconv.Itoa(want)) || found.Taken || calls > 2 {
			t.Errorf("found %+v after %d calls, want message %d at once", found, calls, want)
		}
		if found, calls := search(t, f, to, before); found != (chat.Found{}) || calls > 6 {
			t.Errorf("found %+v after %d calls, want nothing after a few", found, calls)
		}
		for _, m := range shown {
			if len(m.Versions) > 1 {
				t.Errorf("message %d was changed: %+v", m.ID, m.Versions)
			}
		}
	})
}

// In this test, two create calls have an unknown outcome. While Find searches for the message of one create call, it
// may change the message of the other create call. If Find has changed another message, it must report the change, and
// must not find the changed message later.
func TestFindReportsAnotherCreate(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		f, to := finder(t, bot), w.Private()
		w.server.Say(standin.Incoming{User: privateID, Text: "hello"})
		time.Sleep(time.Second)
		one := lose(t, w, bot, to, "one", fault.CutAfter)
		two := lose(t, w, bot, to, "two", fault.CutAfter)
		taken, _ := search(t, f, to, two)
		if !taken.Taken || taken.Ref.ID == "" {
			t.Errorf("found %+v, want the other's", taken)
		}
		own, _ := search(t, f, to, two)
		if own.Taken || own.Ref.ID == "" || own.Ref == taken.Ref {
			t.Errorf("found %+v, want its own", own)
		}
		if found, _ := search(t, f, to, one); found.Ref.ID != "" || found.Unsure {
			t.Errorf("found %+v, want nothing", found)
		}
	})
}

// In a new process, Find must skip the messages that earlier processes sent. After a restart, Find must make no more
// probes than allowed.
func TestFindAfterARestart(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		finder(t, bot)
		for _, to := range []chat.Target{w.Private(), w.Group()} {
			first, err := bot.Send(t.Context(), to, chat.Outgoing{Text: "first"})
			if err != nil {
				t.Fatal(err)
			}
			lost := lose(t, w, bot, to, "lost", fault.CutAfter)
			other, err := bot.Send(t.Context(), to, chat.Outgoing{Text: "other"})
			if err != nil {
				t.Fatal(err)
			}
			next := w.Connect(nil, conformance.Proper)
			if _, err := next.(preview.Finder).Find(t.Context(), to, lost, ""); kindOf(err) != chat.Temporary {
				t.Errorf("Find before Run = %v, want to wait", err)
			}
			f := finder(t, next, other.Ref, first.Ref)
			nothing := lost
			nothing.Message.Text = "never sent"
			if found, _ := search(t, f, to, lost); found.Ref.ID == "" || found.Taken {
				t.Errorf("found %+v, want what the process before lost", found)
			}
			nothing.After = "" // without After, Find does not know at which id to start
			if found, _ := search(t, finder(t, w.Connect(nil, conformance.Proper)), to, nothing); !found.Unsure {
				t.Errorf("found %+v, want to be unsure", found)
			}
			nothing.After = other.Ref.ID
			f = finder(t, w.Connect(nil, conformance.Proper), other.Ref, first.Ref, chat.MessageRef{Target: to, ID: "9999"})
			want := 20
			if to.Kind == chat.Group {
				want = 5
			}
			if found, calls := search(t, f, to, nothing); !found.Unsure || calls != want+1 {
				t.Errorf("found %+v after %d calls, want to be unsure after %d", found, calls, want)
			}
		}
	})
}

// In this test, other processes received many messages, and this process does not know all of these messages. The
// process that does not know all messages makes a create call of unknown outcome. Once the process has learned the ids
// of the received messages, Find must find the message of the create call after a few probes.
func TestFindAmongOtherProcesses(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, receives conformance.Adapter) {
		finder(t, receives)
		to, bot := w.Private(), w.Connect(nil, conformance.Proper).(interface {
			conformance.Adapter
			preview.Finder
			gateway.Learner
			gateway.Adopter
		})
		var known []chat.MessageRef
		for range 30 {
			id := w.server.Say(standin.Incoming{User: otherID, Text: "there"})
			known = append(known, chat.MessageRef{Target: chat.Target{Chat: "1002"}, ID: chat.MessageID(strconv.Itoa(id))})
		}
		bot.Adopt(chat.Inbound{To: to, ID: known[0].ID})
		there := lose(t, w, bot, to, "there", fault.CutAfter)
		if there.After != known[0].ID {
			t.Errorf("the create is after %q, want what was adopted", there.After)
		}
		if found, _ := search(t, informed(bot, known[:1]), to, there); found.Ref.ID != "" {
			t.Fatalf("found %+v without knowing what others sent", found)
		}
		found, calls := search(t, informed(bot, known), to, there)
		if want := w.server.View(privateID, time.Now())[0].ID; found.Ref.ID != chat.MessageID(strconv.Itoa(want)) || found.Taken || calls > 2 {
			t.Errorf("found %+v after %d calls, want message %d at once", found, calls, want)
		}
	})
}

// In this test, a process that lost its lease searches for a message that the process sent itself, but that the store
// does not contain. After Forget and Learn, Find must find the message that the store does not contain. Find must skip
// the messages that were passed to Learn.
func TestFindAfterALostLease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		f := finder(t, bot)
		learner := bot.(gateway.Learner)
		to := w.Private()
		w.Say(to, conformance.Saying{Text: "question"})
		time.Sleep(time.Second)
		create := func(text string) (chat.Create, chat.MessageRef) {
			c := chat.Create{Key: "key of " + text, After: f.Newest(to), Message: chat.Outgoing{Text: text, Key: "key of " + text}}
			r, err := bot.Send(t.Context(), to, c.Message)
			if err != nil {
				t.Fatal(err)
			}
			return c, r.Ref
		}
		_, stored := create("stored")
		c, unstored := create("unstored")
		c.After = stored.ID
		if found, _ := search(t, f, to, c); found.Ref.ID != "" {
			t.Fatalf("found %+v, whose id was never in doubt", found)
		}
		learner.Forget()
		if _, err := f.Find(t.Context(), to, c, ""); kindOf(err) != chat.Temporary {
			t.Errorf("a search before it learns: %v", err)
		}
		learner.Learn([]chat.MessageRef{stored})
		if found, _ := search(t, f, to, c); found.Ref != unstored || found.Taken {
			t.Errorf("found %+v, want %+v", found, unstored)
		}
		if shown := w.Shown(to); len(shown) != 2 || shown[0] != "stored" || shown[1] != "unstored" {
			t.Errorf("shown are %q", shown)
		}
	})
}

// informed tells an adapter the ids of existing messages, and returns the adapter.
func informed(f interface {
	preview.Finder
	gateway.Learner
}, known []chat.MessageRef,
) preview.Finder {
	f.Learn(known)
	return f
}

// In this test, a create call takes effect only after the bot has sent the message a second time. The bot must find and
// delete the late message, so that the chat shows the text once.
func TestLateCreateIsDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		house(t, w, bot, memory.New(), conformance.Talker{}, preview.Edit)
		for _, delay := range []time.Duration{time.Second, 4 * time.Second, 8 * time.Second} {
			w.server.Fault(standin.Fault{Method: "sendMessage", Action: standin.ActLate, Times: 1, Delay: delay})
			w.server.Say(standin.Incoming{User: privateID, Text: "late by " + delay.String()})
			time.Sleep(time.Minute)
		}
		want := []string{"re: late by 1s", "re: late by 4s", "re: late by 8s"}
		if got := w.Shown(w.Private()); len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("shown are %q, want %q", got, want)
		}
	})
}

// loseFile sends a file over a connection that breaks, and returns this create call, whose outcome is unknown.
func loseFile(t *testing.T, w *world, bot conformance.Adapter, to chat.Target, caption, action string) chat.Create {
	t.Helper()
	c := chat.Create{Key: "key of " + caption, After: bot.(preview.Finder).Newest(to), File: true, Message: chat.Outgoing{Text: caption, Key: "key of " + caption}}
	w.server.Fault(standin.Fault{Method: "sendDocument", Action: action, Times: 1})
	_, err := bot.(preview.Filer).SendFile(t.Context(), to, c.Message, chat.File{Name: "answer.md", MediaType: "text/markdown", Content: []byte("# whole")})
	if kindOf(err) != chat.Uncertain {
		t.Fatalf("SendFile = %v, want an uncertain failure", err)
	}
	return c
}

// Find must find a file that was sent, with or without a caption. Find must not find a file that was never sent, and
// must not confuse a text message with a file (D5).
func TestFindFiles(t *testing.T) {
	for _, caption := range []string{"the *rest*", ""} {
		t.Run("caption "+caption, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
				f := finder(t, bot)
				w.Say(w.Private(), conformance.Saying{Text: "question"})
				time.Sleep(time.Second)
				c := loseFile(t, w, bot, w.Private(), caption, fault.CutAfter)
				w.Say(w.Private(), conformance.Saying{Text: "more"})
				time.Sleep(time.Second)
				found, _ := search(t, f, w.Private(), c)
				if files := w.Files(w.Private()); found.Ref.ID != "2" || found.Taken || found.Unsure || len(files) != 1 || files[0].Caption != caption {
					t.Errorf("found %+v, files %+v", found, files)
				}
				text := lose(t, w, bot, w.Private(), "a text", fault.CutAfter)
				c = loseFile(t, w, bot, w.Private(), "another", fault.CutBefore)
				if found, _ := search(t, f, w.Private(), c); found.Ref.ID != "" {
					t.Errorf("found %+v, want nothing", found)
				}
				if found, _ := search(t, f, w.Private(), text); found.Ref.ID != "4" || found.Taken {
					t.Errorf("found %+v, want the text", found)
				}
			})
		})
	}
}

// In this test, the bot sends the rest of a long answer as a file, and the connection breaks during the upload. In the
// end, the chat must contain the file once.
func TestLostFileIsNotDoubled(t *testing.T) {
	for _, action := range []string{fault.CutAfter, fault.CutBefore} {
		t.Run(action, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
				w.server.SetLimits(standin.PublishedLimits(), standin.Limits{})
				w.server.Fault(standin.Fault{Method: "sendDocument", Action: action, Times: 1})
				house(t, w, bot, memory.New(), conformance.Talker{Text: words(2000)}, preview.Edit)
				w.server.Say(standin.Incoming{User: privateID, Text: "go"})
				time.Sleep(5 * time.Minute)
				if files := w.Files(w.Private()); len(files) != 1 {
					t.Errorf("%d files, want one", len(files))
				}
			})
		})
	}
}
