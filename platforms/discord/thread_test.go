package discord_test

import (
	"slices"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	"telex/platforms/discord"
	standin "telex/standin/discord"
	"telex/standin/fault"
)

// threaded returns a bot that answers in threads, together with the bot's call of Run and the accepted question.
func threaded(t *testing.T, w *world, question string) (*discord.Bot, *runs, chat.Inbound) {
	t.Helper()
	w.threads = true
	bot := w.bot(discarded(), conformance.Proper)
	r := start(t, bot, chat.Resume{})
	w.say(standin.DefaultChannel, question)
	return bot, r, r.one()
}

// threadsOf returns the threads of a channel.
func (w *world) threadsOf(channel string) []standin.Channel {
	return slices.DeleteFunc(w.server.Channels(), func(c standin.Channel) bool { return c.Parent != channel })
}

// The first call that needs a thread must create the thread, and must name the thread after the beginning of the
// question. The thread for a question must be a conversation of its own.
func TestThreadIsMade(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot, r, in := threaded(t, w, "why is the sky blue,\nand not green? I mean by day, when there are no clouds at all to be seen")
		want := chat.Target{Chat: standin.DefaultChannel, Thread: chat.ThreadID(in.ID), Kind: chat.Group}
		if in.To != want {
			t.Fatalf("the answer goes to %+v, want %+v", in.To, want)
		}
		if got := w.threadsOf(standin.DefaultChannel); len(got) != 0 {
			t.Errorf("there are threads before anything was said: %+v", got)
		}
		if err := bot.Typing(t.Context(), in.To); err != nil {
			t.Errorf("Typing: %v", err)
		}
		ref := send(t, bot, in.To, outgoing("one", in.ID))
		edit(t, bot, ref, "two")
		w.wantShown(in.To, "two")
		w.wantShown(w.Group())
		threads := w.threadsOf(standin.DefaultChannel)
		if len(threads) != 1 || threads[0].Name != "why is the sky blue, and not green? I mean by day, when…" {
			t.Errorf("the threads are %+v", threads)
		}
		w.say(string(in.To.Thread), "go on")
		if next := r.one(); next.To != in.To || next.Text != "go on" {
			t.Errorf("got %+v, want it in the same thread", next)
		}
		w.say(standin.DefaultChannel, "another question")
		if next := r.one(); next.To.Thread != chat.ThreadID(next.ID) {
			t.Errorf("got %+v, want a thread of its own", next)
		}
		w.say(w.direct, "in private")
		if next := r.one(); next.To != w.Private() {
			t.Errorf("got %+v, want no thread", next)
		}
	})
}

// In this test, the process that received the question has ended. A process other than the receiver of the question
// must create the thread, and a third process must use the existing thread.
func TestThreadIsMadeByAnother(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		_, r, in := threaded(t, w, "why?")
		_ = r.stop()
		send(t, w.bot(discarded(), conformance.Proper), in.To, outgoing("one", in.ID))
		send(t, w.bot(discarded(), conformance.Proper), in.To, outgoing("two", ""))
		w.wantShown(in.To, "one", "two")
		if threads := w.threadsOf(standin.DefaultChannel); len(threads) != 1 || threads[0].Name != "why?" {
			t.Errorf("the threads are %+v", threads)
		}
	})
}

// If the bot can't create a thread, or somebody has deleted the thread, the bot must answer in the channel.
func TestThreadCanNotBeMade(t *testing.T) {
	for name, prevent := range map[string]func(t *testing.T, w *world, question string){
		"not allowed": func(t *testing.T, w *world, _ string) {
			if err := w.server.Permit(standin.DefaultChannel, standin.Access{NoThreads: true}); err != nil {
				t.Fatal(err)
			}
		},
		"question deleted": func(t *testing.T, w *world, question string) {
			if err := w.server.Delete(standin.DefaultChannel, question); err != nil {
				t.Fatal(err)
			}
		},
		"thread deleted": func(t *testing.T, w *world, question string) {
			thread, err := w.server.StartThread(standin.DefaultChannel, question, "x")
			if err == nil {
				err = w.server.DeleteChannel(thread)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				bot, _, in := threaded(t, w, "why?")
				prevent(t, w, string(in.ID))
				if err := bot.Typing(t.Context(), in.To); err != nil {
					t.Errorf("Typing: %v", err)
				}
				ref := send(t, bot, in.To, outgoing("one", in.ID))
				if again := send(t, bot, in.To, outgoing("one", in.ID)); again != ref {
					t.Errorf("the message is %+v and then %+v", ref, again)
				}
				edit(t, bot, ref, "two")
				w.wantShown(w.Group(), "two")
				if err := bot.Delete(t.Context(), ref); err != nil {
					t.Errorf("Delete: %v", err)
				}
				w.wantShown(w.Group())
			})
		})
	}
}

// In this test, the bot loses the permission to create threads. After the bot has failed to create one thread, it must
// answer the next question in the channel.
func TestThreadsAreForgone(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot, r, in := threaded(t, w, "why?")
		if err := w.server.Permit(standin.DefaultChannel, standin.Access{NoThreads: true}); err != nil {
			t.Fatal(err)
		}
		send(t, bot, in.To, outgoing("one", in.ID))
		w.say(standin.DefaultChannel, "and now?")
		if next := r.one(); next.To != w.Group() {
			t.Errorf("the next answer goes to %+v, want the channel", next.To)
		}
	})
}

// In this test, Discord refuses to create a thread for one question. After a refused thread, the bot must still create
// a thread for the next question.
func TestOneThreadIsForgone(t *testing.T) {
	refusal := func(code int) func(w *world, _ string) {
		return func(w *world, _ string) {
			w.server.Fault(standin.Fault{
				Method: "startThreadFrom", Times: 2, Action: fault.Status, Status: 400, Code: code, Description: "Not this time",
			})
		}
	}
	for name, prevent := range map[string]func(w *world, question string){
		"question deleted": func(w *world, question string) {
			if err := w.server.Delete(standin.DefaultChannel, question); err != nil {
				w.t.Fatal(err)
			}
		},
		"too many threads":     refusal(160006),
		"words not wanted":     refusal(200000),
		"title not wanted":     refusal(200001),
		"something unheard of": refusal(1),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				bot, r, in := threaded(t, w, "why?")
				prevent(w, string(in.ID))
				ref := send(t, bot, in.To, outgoing("one", in.ID))
				send(t, bot, in.To, outgoing("two", ""))
				edit(t, bot, ref, "one, and more")
				w.wantShown(w.Group(), "one, and more", "two")
				w.server.ClearFaults()
				r.take() // in one case, the bot also reports that the question was deleted
				w.say(standin.DefaultChannel, "and now?")
				if next := r.one(); next.To.Thread == "" {
					t.Errorf("the next answer goes to %+v, want a thread", next.To)
				} else {
					send(t, bot, next.To, outgoing("three", next.ID))
					w.wantShown(next.To, "three")
				}
			})
		})
	}
}

// If Discord's AutoMod refuses the words of a question as a thread's name, the bot must give the thread another name.
func TestThreadGetsAnotherName(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot, _, in := threaded(t, w, "why?")
		w.server.Fault(standin.Fault{
			Method: "startThreadFrom", Times: 1, Action: fault.Status, Status: 400, Code: 200001, Description: "Title was blocked by automatic moderation",
		})
		send(t, bot, in.To, outgoing("one", in.ID))
		w.wantShown(in.To, "one")
		if threads := w.threadsOf(standin.DefaultChannel); len(threads) != 1 || threads[0].Name != "Conversation" {
			t.Errorf("the threads are %+v", threads)
		}
	})
}

// A bot that may create threads but not write in threads must answer in the channel.
func TestThreadsAreReadOnly(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		w.threads = true
		house(t, w.bot(discarded(), conformance.Proper), memory.New(), conformance.Talker{}, true)
		forbid := func(thread string) {
			w.server.Fault(standin.Fault{
				Method: "createMessage|typing", Channel: thread, Action: fault.Status, Status: 403, Code: 50013, Description: "Missing Permissions",
			})
		}
		forbid(w.say(standin.DefaultChannel, "a question of several words")) // forbid this before the bot has received the question
		time.Sleep(quiet)
		w.wantShown(w.Group(), "re: a question of several words")
		forbid(w.say(standin.DefaultChannel, "another"))
		time.Sleep(quiet)
		w.wantShown(w.Group(), "re: a question of several words", "re: another")
		if got := w.threadsOf(standin.DefaultChannel); len(got) > 1 {
			t.Errorf("there are %d threads, want no second one", len(got))
		}
	})
}

// If creating a thread fails for a transient reason, Send must fail with the kind of that error. If creating a thread
// has failed, a later call of Send must create the thread.
func TestThreadFails(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot, _, in := threaded(t, w, "why?")
		for f, want := range map[conformance.Fault]chat.ErrorKind{
			conformance.RateLimit: chat.RateLimited, conformance.ServerError: chat.Uncertain, conformance.CutBefore: chat.Uncertain,
		} {
			w.server.Fault(once("startThreadFrom", f.OnCall()))
			if _, err := bot.Send(t.Context(), in.To, outgoing("one", in.ID)); chat.AsSendError(err).Kind != want {
				t.Errorf("Send = %v, want %v", err, want)
			}
			time.Sleep(conformance.RetryAfter)
		}
		send(t, bot, in.To, outgoing("one", in.ID))
		w.wantShown(in.To, "one")
	})
}

// telex's gateway must answer a person who has access in a thread. A message of a person without access must not create
// a thread.
func TestThreadsEndToEnd(t *testing.T) {
	for name, open := range map[string]bool{"let in": true, "refused": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				w.threads = true
				house(t, w.bot(discarded(), conformance.Proper), memory.New(), conformance.Talker{}, open)
				id := w.say(standin.DefaultChannel, "a question of several words")
				time.Sleep(quiet)
				below := chat.Target{Chat: standin.DefaultChannel, Thread: chat.ThreadID(id), Kind: chat.Group}
				if !open {
					if got := w.threadsOf(standin.DefaultChannel); len(got) != 0 {
						t.Errorf("the threads are %+v, want none", got)
					}
					return
				}
				w.wantShown(below, "re: a question of several words")
				w.say(id, "and on")
				time.Sleep(quiet)
				w.wantShown(below, "re: a question of several words", "re: and on")
				w.wantShown(w.Group())
			})
		})
	}
}

// The bot must reopen an archived thread in order to edit or delete a message in it. In a locked thread, which the bot
// can't reopen, edits must fail.
func TestArchivedThread(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		thread, err := w.server.StartThread(standin.DefaultChannel, "", "a thread")
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, bot, chat.Resume{})
		w.say(thread, "hello")
		to := chat.Target{Chat: standin.DefaultChannel, Thread: chat.ThreadID(thread), Kind: chat.Group}
		if in := r.one(); in.To != to {
			t.Fatalf("got %+v, want it in %+v", in, to)
		}
		first, second := send(t, bot, to, outgoing("one", "")), send(t, bot, to, outgoing("two", ""))
		for _, locked := range []bool{false, true} {
			time.Sleep(6 * time.Second) // wait because of Discord's own rate limits
			if err := w.server.Archive(thread, true, locked); err != nil {
				t.Fatal(err)
			}
			if !locked {
				edit(t, bot, first, "changed")
				if err := w.server.Archive(thread, true, false); err != nil {
					t.Fatal(err)
				}
				if err := bot.Delete(t.Context(), second); err != nil {
					t.Errorf("Delete: %v", err)
				}
				w.wantShown(to, "changed")
				continue
			}
			w.server.Fault(standin.Fault{Method: "editChannel", Action: fault.Status, Status: 403, Code: 50013, Description: "Missing Permissions"})
			_, err := bot.Edit(t.Context(), first, outgoing("again", ""))
			if chat.AsSendError(err).Kind != chat.Forbidden {
				t.Errorf("Edit = %v, want that it is forbidden", err)
			}
			if _, err := bot.Send(t.Context(), to, outgoing("more", "")); chat.AsSendError(err).Kind != chat.Forbidden {
				t.Errorf("Send = %v, want that it is forbidden", err)
			}
		}
	})
}

// In this test, the bot accepts a question that it wants to answer in a new thread, but can't create the thread. When
// the session is lost later, the bot must not deliver the question a second time, with the channel as the question's
// target.
func TestForgoneThreadIsNotAskedAgain(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot, r, in := threaded(t, w, "why?")
		if err := w.server.Permit(standin.DefaultChannel, standin.Access{NoThreads: true}); err != nil {
			t.Fatal(err)
		}
		send(t, bot, in.To, outgoing("one", in.ID))
		w.server.Gateway(standin.Disturbance{Kind: standin.GatewayInvalidate})
		w.say(standin.DefaultChannel, "and now?")
		r.wantTexts("and now?")
	})
}

// In this test, Discord's API fails whenever the bot requests a certain thread. A message in a thread that the bot
// can't request must not block the messages of other chats forever.
func TestThreadCanNotBeLearned(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		thread, err := w.server.StartThread(standin.DefaultChannel, "", "a thread")
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, w.bot(discarded(), conformance.Proper), chat.Resume{})
		w.say(w.direct, "one")
		r.wantTexts("one")
		_ = r.stop()
		bot := w.bot(discarded(), conformance.Proper)
		r = r.again(bot) // this Run resumes the earlier session, so Discord does not tell the bot again which channels exist
		w.server.Fault(standin.Fault{Method: "getChannel", Action: fault.Status, Status: 500})
		w.say(thread, "nobody knows where")
		w.say(w.direct, "two")
		for range 10 { // start Run again when it ends, as the gateway does
			select {
			case err := <-r.done:
				if chat.AsSendError(err).Kind != chat.Temporary {
					t.Fatalf("Run = %v, want a temporary failure", err)
				}
				time.Sleep(time.Minute)
				r = r.again(bot)
			case <-time.After(time.Minute):
			}
		}
		r.wantTexts("two")
		w.server.ClearFaults()
		w.say(thread, "here")
		r.wantTexts("here")
	})
}
