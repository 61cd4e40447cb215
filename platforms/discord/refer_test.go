package discord_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/discord"
	standin "telex/standin/discord"
)

// saying makes a person send the message in.
func (w *world) saying(in standin.Incoming) string {
	w.t.Helper()
	id, err := w.server.Say(in)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// A received question must include the message to which the question replies, as far as Discord sends the content of
// that message. Without the privileged intent, Discord sends no text of messages that are not for the bot.
func TestQuotedByIntent(t *testing.T) {
	for name, content := range map[string]bool{"without the intent": false, "with the intent": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{MessageContent: content}, func(t *testing.T, w *world) {
				w.content = content
				bot := w.bot(discarded(), conformance.Proper)
				r := start(t, bot, chat.Resume{})
				others := w.saying(standin.Incoming{
					Channel: standin.DefaultChannel, User: otherPerson, Name: "Bob", Text: "a beetle", Files: []standin.File{{Name: "b.txt", Content: []byte("legs")}},
				})
				for _, in := range r.take() {
					t.Errorf("accepted is %+v", in)
				}
				w.saying(standin.Incoming{Channel: standin.DefaultChannel, Text: w.server.Mention() + " what is that?", ReplyTo: others})
				in := r.one()
				if !content {
					if in.Text != "what is that?" || len(in.Quotes) != 1 || in.Quotes[0].Author != "Bob" || !in.Quotes[0].Hidden || in.Quotes[0].Text != "" {
						t.Errorf("accepted is %+v, want a quote that is not told", in)
					}
				} else {
					if len(in.Quotes) != 1 || in.Quotes[0].Author != "Bob" || in.Quotes[0].Text != "a beetle" || in.Quotes[0].Own || in.Quotes[0].Hidden || len(in.Quotes[0].Attachments) != 1 {
						t.Fatalf("accepted is %+v", in)
					}
					if file, err := bot.Fetch(t.Context(), in.Quotes[0].Attachments[0], 100); err != nil || string(file) != "legs" {
						t.Errorf("the file is %q, %v", file, err)
					}
				}
				ref := send(t, bot, w.Group(), outgoing("A beetle.", ""))
				w.saying(standin.Incoming{Channel: standin.DefaultChannel, Text: "sure?", ReplyTo: string(ref.ID)})
				if in := r.one(); len(in.Quotes) != 1 || !in.Quotes[0].Own || in.Quotes[0].Text != "A beetle." || !in.Addressed {
					t.Errorf("accepted is %+v, want the bot's own message quoted", in)
				}
				mine := w.saying(standin.Incoming{Text: "keep this"})
				r.wantTexts("keep this")
				w.saying(standin.Incoming{Forward: mine})
				if in := r.one(); in.Text != "keep this" || in.Origin != chat.Forwarded || in.Quotes != nil {
					t.Errorf("accepted is %+v, want a forward", in)
				}
				w.say(standin.DefaultChannel, "")
				if in := r.one(); in.Text != "" || !in.Addressed || in.Quotes != nil {
					t.Errorf("accepted is %+v, want a bare mention", in)
				}
			})
		})
	}
}

// With the privileged intent, the bot must also accept messages in a thread that do not mention the bot, and must set
// their field Follows. The bot must not resume a session that was started without the intent, because Discord would not
// send the text of messages in this session.
func TestThreadIsFollowed(t *testing.T) {
	inBubble(t, standin.Options{MessageContent: true}, func(t *testing.T, w *world) {
		thread, err := w.server.StartThread(standin.DefaultChannel, "", "a thread")
		if err != nil {
			t.Fatal(err)
		}
		w.server.DM(otherPerson) // DM makes the person a member of the guild
		r := start(t, w.bot(discarded(), conformance.Proper), chat.Resume{})
		w.say(thread, "hello")
		w.saying(standin.Incoming{Channel: thread, Text: "and then?"})
		r.wantTexts("hello")
		_ = r.stop()
		w.content = true
		w.saying(standin.Incoming{Channel: thread, Text: "meanwhile"})
		for i := range 2 {
			r = r.again(w.bot(discarded(), conformance.Proper))
			if i == 0 {
				r.wantTexts("and then?", "meanwhile") // the backfill reads these messages
			}
			w.saying(standin.Incoming{Channel: thread, Text: "go on"})
			in := r.one()
			if want := (chat.Target{Chat: standin.DefaultChannel, Thread: chat.ThreadID(thread), Kind: chat.Group}); in.Text != "go on" || in.Addressed || !in.Follows || in.To != want {
				t.Errorf("accepted is %+v", in)
			}
			w.saying(standin.Incoming{Channel: thread, Text: "<@" + otherPerson + "> what do you think?"})
			w.saying(standin.Incoming{Channel: standin.DefaultChannel, Text: "nobody asked"})
			r.wantTexts()
			_ = r.stop()
		}
		if st := w.server.Stats(); st.Identifies != 2 || st.Resumes != 1 {
			t.Errorf("%d sessions and %d resumes, want two and one", st.Identifies, st.Resumes)
		}
	})
}

// If the privileged intent is not enabled, Discord refuses the connection. If Discord refuses the privileged intent,
// the error must say where the operator can enable the intent. After the operator has enabled the privileged intent,
// Run must connect.
func TestRefusedIntent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // not inBubble, which would report the refused connection as a violation
		w := newWorldWith(t, standin.Options{})
		w.content = true
		bot := w.bot(discarded(), conformance.Proper)
		r := start(t, bot, chat.Resume{})
		err := r.ended()
		e := chat.AsSendError(err)
		if e.Kind != chat.Rejected || e.RetryAfter < time.Minute {
			t.Errorf("Run = %v", err)
		}
		for _, said := range []string{"Developer Portal", "page Bot", "Message Content Intent", "message_content"} {
			if !strings.Contains(err.Error(), said) {
				t.Errorf("the error says nothing of %q: %v", said, err)
			}
		}
		w.server.AllowContent(true)
		time.Sleep(e.RetryAfter)
		r = r.again(bot)
		w.say(standin.DefaultChannel, "hello")
		r.wantTexts("hello")
	})
}

// When a person edits or deletes a message, Run must report the edit or deletion. Run must ignore other changes of a
// message, such as an added embed.
func TestChangesOfAQuestion(t *testing.T) {
	for name, threads := range map[string]bool{"in channels": false, "in threads": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
				w.threads = threads
				bot := w.bot(discarded(), conformance.Proper)
				r := start(t, bot, chat.Resume{})
				id := w.say(standin.DefaultChannel, "why https://example.org/x ?")
				question := r.one() // Discord also reports the embed of the URL, which must not count as an edit
				edit(t, bot, send(t, bot, question.To, outgoing("because", "")), "because of it")
				if threads { // the new thread also causes an event about the question
					r.wantTexts()
				}
				w.saying(standin.Incoming{Channel: standin.DefaultChannel, EditOf: id, Text: w.server.Mention() + " /why https://example.org/y ?"})
				in := r.one() // Discord also reports the embed of the new URL, as an event that looks like an edit
				if in.Kind != chat.Edited || in.ID != question.ID || in.To != question.To || in.Sender != question.Sender || in.Text != "/why https://example.org/y ?" || in.Command != "" {
					t.Errorf("accepted is %+v", in)
				}
				w.saying(standin.Incoming{Channel: standin.DefaultChannel, EditOf: id, Text: "never mind"}) // the text no longer mentions the bot
				r.wantTexts()
				if err := w.server.Delete(standin.DefaultChannel, id); err != nil {
					t.Fatal(err)
				}
				if in := r.one(); in.Kind != chat.Deleted || in.ID != question.ID || in.To != question.To || in.Sender.ID != "" {
					t.Errorf("accepted is %+v", in)
				}
				one, two := w.say(standin.DefaultChannel, "one"), w.say(standin.DefaultChannel, "two")
				r.wantTexts("one", "two")
				if err := w.server.DeleteAll(standin.DefaultChannel, one, two); err != nil {
					t.Fatal(err)
				}
				var gone []string
				for _, in := range r.take() {
					if in.Kind == chat.Deleted {
						gone = append(gone, string(in.ID))
					}
				}
				if !slices.Equal(gone, []string{one, two}) {
					t.Errorf("deleted are %q", gone)
				}
				dm := w.say("", "hello")
				r.wantTexts("hello")
				w.saying(standin.Incoming{EditOf: dm, Text: "hello you"})
				if in := r.one(); in.Kind != chat.Edited || in.Text != "hello you" || !in.Addressed {
					t.Errorf("accepted is %+v", in)
				}
			})
		})
	}
}

// The context menu of each message has a command with which people ask about the message. The bot must answer the
// command in the context menu like a slash command.
func TestAskAbout(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		r := start(t, bot, chat.Resume{})
		if err := bot.SetCommands(t.Context(), commands(), nil); err != nil {
			t.Fatal(err)
		}
		about := w.saying(standin.Incoming{Channel: standin.DefaultChannel, User: otherPerson, Name: "Bob", Text: "a beetle"})
		for _, to := range []chat.Target{w.Group(), w.Private()} {
			if to.Kind == chat.Private {
				about = w.saying(standin.Incoming{User: standin.DefaultPerson, Text: "a beetle", Name: "Bob"})
				r.wantTexts("a beetle")
			}
			if _, err := w.server.About(standin.Invocation{Channel: channel(to), Name: "Ask about this", Message: about}); err != nil {
				t.Fatal(err)
			}
			in := r.one()
			if in.Kind != chat.Text || in.Text != "" || len(in.Quotes) != 1 || in.Quotes[0].Text != "a beetle" || in.Quotes[0].Author != "Bob" || in.To != to {
				t.Errorf("accepted is %+v", in)
			}
			edit(t, bot, send(t, bot, to, outgoing("It has", in.ID)), "It has six legs.")
			w.wantShown(to, "It has six legs.")
			bot.Concluded(to, []chat.MessageID{in.ID}, false)
		}
		if n := w.MenuChanges(); n != 1 {
			t.Errorf("%d changes of the menu", n)
		}
		if err := bot.SetCommands(t.Context(), commands(), nil); err != nil || w.MenuChanges() != 1 {
			t.Errorf("SetCommands = %v with %d changes of the menu, want no other", err, w.MenuChanges())
		}
	})
}

// alone returns a bot that offers the command /status. Only the asker sees the answer to /status.
func (w *world) alone() *discord.Bot {
	w.t.Helper()
	bot := w.bot(discarded(), conformance.Proper)
	list := append(commands(), chat.CommandSpec{Name: "status", Description: "How it stands", Alone: true})
	bot.Screen(chat.Screen{Commands: func() []chat.CommandSpec { return list }})
	if err := bot.SetCommands(w.t.Context(), list, nil); err != nil {
		w.t.Fatal(err)
	}
	return bot
}

// status makes a person use the command /status.
func (w *world) status(to chat.Target) {
	w.t.Helper()
	if _, err := w.server.Slash(standin.Invocation{Channel: channel(to), Name: "status"}); err != nil {
		w.t.Fatal(err)
	}
}

// Only the asker may see the answers to some commands, even if an answer consists of several messages. When Discord
// can't hide an answer any more, the bot must not show the answer to anybody.
func TestAnsweredAlone(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		to := w.Group()
		r := start(t, w.alone(), chat.Resume{})
		w.status(to)
		in := r.one()
		_ = r.stop()
		bot := w.alone() // a second process, which learns from the message id that it must answer an interaction
		r.again(bot)
		if in.Kind != chat.Command || in.Command != "status" || in.Reply != true {
			t.Errorf("accepted is %+v", in)
		}
		first := outgoing("one", in.ID)
		first.Answers = in.ID
		ref := send(t, bot, to, first)
		edit(t, bot, ref, "one!")
		next := outgoing("two", "")
		next.Answers = in.ID
		edit(t, bot, send(t, bot, to, next), "two!")
		f, err := bot.SendFile(t.Context(), to, chat.Outgoing{Text: "three", Key: "3", Answers: in.ID}, chat.File{Name: "a.txt", Content: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		w.wantShown(to)
		var texts []string
		for _, m := range w.server.View(channel(to), time.Now()) {
			if m.OnlyFor != standin.DefaultPerson {
				t.Errorf("others see %+v", m)
			}
			texts = append(texts, m.Content())
		}
		if want := []string{"one!", "two!", "three"}; !slices.Equal(texts, want) {
			t.Errorf("the asker sees %q, want %q", texts, want)
		}
		time.Sleep(5 * time.Second)
		if err := bot.Delete(t.Context(), f.Ref); err != nil {
			t.Error(err)
		}
		bot.Concluded(to, []chat.MessageID{in.ID}, false)
		time.Sleep(15 * time.Minute)
		if _, err := bot.Send(t.Context(), to, next); chat.AsSendError(err).Kind != chat.Rejected {
			t.Errorf("Send = %v, want that it is refused", err)
		}
		if _, err := bot.Edit(t.Context(), ref, first); chat.AsSendError(err).Kind != chat.Gone {
			t.Errorf("Edit = %v, want that the message is gone", err)
		}
		w.wantShown(to)
	})
}

// In a private chat, the bot must hide no answer. In a group, the bot must not hide the answer to /ask.
func TestNotAnsweredAlone(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.alone()
		r := start(t, bot, chat.Resume{})
		w.status(w.Private())
		send(t, bot, w.Private(), outgoing("here", r.one().ID))
		w.wantShown(w.Private(), "here")
		w.Ask(w.Group(), "why?")
		send(t, bot, w.Group(), outgoing("because", r.one().ID))
		w.wantShown(w.Group(), "because")
	})
}

// If the interaction's token expires early, an answer that only the asker may see must not become public.
func TestAloneWithADeadToken(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.alone()
		r := start(t, bot, chat.Resume{})
		w.status(w.Group())
		in := r.one()
		w.server.Fault(standin.Fault{Method: "editOwn|followUp", Action: "status", Status: http.StatusUnauthorized, Code: 50027, Description: "Invalid Webhook Token"})
		m := outgoing("one", in.ID)
		m.Answers = in.ID
		if _, err := bot.Send(t.Context(), w.Group(), m); chat.AsSendError(err).Kind != chat.Rejected {
			t.Errorf("Send = %v, want that it is refused", err)
		}
		w.wantShown(w.Group())
	})
}
