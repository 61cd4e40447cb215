package slack_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/slack"
	"telex/standin/fault"
	standin "telex/standin/slack"
)

var _ gateway.ThreadReader = (*slack.Bot)(nil)

// lines returns quotes as "author: text", with a star after the author if the bot is the author.
func lines(quotes []chat.Quote) []string {
	var list []string
	for _, q := range quotes {
		own := ""
		if q.Own {
			own = "*"
		}
		list = append(list, q.Author+own+": "+q.Text)
	}
	return list
}

// ReadThread must return the first message of a thread, and the newest messages before the question, with names and
// files.
func TestReadThread(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		w.server.SetUser(standin.User{ID: person, Name: "ann"})
		w.server.SetUser(standin.User{ID: other, Name: "bob"})
		say := func(in standin.Incoming) string {
			time.Sleep(time.Second)
			in.Channel, in.Thread = channel, string(w.group.Thread)
			return w.server.Say(in)
		}
		for i := range 4 {
			say(standin.Incoming{User: other, Text: fmt.Sprint("reply ", i)})
		}
		say(standin.Incoming{User: person, Text: "look, <@" + other + ">: a &lt; b", Files: []standin.Attachment{{Name: "p.png", Mime: "image/png", Content: []byte("x")}}})
		if _, err := bot.Send(t.Context(), w.group, chat.Outgoing{Text: "**mine**", Plain: "mine", Key: "k"}); err != nil {
			t.Fatal(err)
		}
		say(standin.Incoming{Bot: "Alerts", Text: "disk full"})
		asked := say(standin.Incoming{User: person, Text: mention + " explain"})
		say(standin.Incoming{User: other, Text: "later"})

		for most, want := range map[int][]string{
			0: nil,
			1: {"bob: good morning"},
			4: {"bob: good morning", "ann: look, @bob: a < b", "telex*: mine", "BAlerts: disk full"},
			9: {"bob: good morning", "bob: reply 0", "bob: reply 1", "bob: reply 2", "bob: reply 3", "ann: look, @bob: a < b", "telex*: mine", "BAlerts: disk full"},
		} {
			got, err := bot.ReadThread(t.Context(), w.group, chat.MessageID(asked+"/"+person), most)
			if err != nil || !slices.Equal(lines(got), want) {
				t.Errorf("%d at most: %q, %v, want %q", most, lines(got), err, want)
			}
			if most == 4 && (len(got[1].Attachments) != 1 || got[1].Attachments[0].Name != "p.png") {
				t.Errorf("attachments: %+v, want p.png", got[1].Attachments)
			}
		}
		if got, err := bot.ReadThread(t.Context(), chat.Target{Chat: dm}, "1.000000/"+person, 9); err != nil || got != nil {
			t.Errorf("outside of threads: %q, %v, want nothing", lines(got), err)
		}
		w.wantGood()
	})
}

// Reading a very long thread must take only four calls. If the bot has read too often, or if Slack refuses a call, the
// kind of the error must tell the caller whether to try again.
func TestReadThreadIsBounded(t *testing.T) {
	inBubble(t, standin.Options{Limits: standin.PublishedLimits()}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		for i := range 1700 {
			if i == 1690 {
				time.Sleep(48 * time.Hour)
			}
			w.server.Say(standin.Incoming{Channel: channel, User: other, Text: fmt.Sprint(i), Thread: string(w.group.Thread)})
		}
		read := func() ([]chat.Quote, error) { return bot.ReadThread(t.Context(), w.group, "", 3) }
		got, err := read()
		want := []string{"person-2002: good morning", "person-2002: 1698", "person-2002: 1699"}
		if err != nil || !slices.Equal(lines(got), want) {
			t.Errorf("got %q, %v, want %q", lines(got), err, want)
		}
		if n := w.Calls(chat.OpFind); n != 4 {
			t.Errorf("%d calls, want 4", n)
		}
		for range 12 { // make more calls than the limit allows
			_, err = read()
		}
		if failure := chat.AsSendError(err); failure.Kind != chat.RateLimited || failure.RetryAfter <= 0 {
			t.Errorf("beyond the own bound: %v, want to wait", err)
		}
		w.wantGood()
		time.Sleep(2 * time.Minute)
		for code, want := range map[string]chat.ErrorKind{"channel_not_found": chat.Forbidden, "missing_scope": chat.Rejected, "thread_not_found": chat.Forbidden} {
			w.server.Fault(standin.Fault{Method: "conversations.replies", Times: 1, Action: fault.Error, Error: code})
			if _, err := read(); chat.AsSendError(err).Kind != want {
				t.Errorf("%s: %v, want %v", code, err, want)
			}
		}
	})
}

// When an author edits or deletes a message, Run must report the change once, with the id of the message. Run must
// ignore edits of the bot's own messages.
func TestChangesAreReportedOnce(t *testing.T) {
	for _, byHTTP := range []bool{false, true} {
		t.Run(fmt.Sprint("by HTTP: ", byHTTP), func(t *testing.T) {
			inBubble(t, standin.Options{}, byHTTP, func(t *testing.T, w *world, bot *slack.Bot) {
				r := receive(t, bot, chat.Resume{})
				defer r.stop()
				asked := w.server.Say(standin.Incoming{Channel: channel, Text: mention + " one"})
				time.Sleep(time.Second)
				to := chat.Target{Chat: channel, Thread: chat.ThreadID(asked), Kind: chat.Group}
				sent, err := bot.Send(t.Context(), to, chat.Outgoing{Text: "answer", Key: "k"})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := bot.Edit(t.Context(), sent.Ref, chat.Outgoing{Text: "better"}); err != nil {
					t.Fatal(err)
				}
				w.server.Fault(standin.Fault{Method: "event", Action: standin.ActDuplicate})
				w.server.Edit(channel, asked, mention+" two")
				time.Sleep(time.Second)
				w.server.Edit(channel, asked, mention+" three")
				time.Sleep(time.Second)
				w.server.Delete(channel, asked) // the message has a reply, so a tombstone remains
				time.Sleep(time.Second)
				alone := w.server.Say(standin.Incoming{Channel: dm, Text: "alone"})
				time.Sleep(time.Second)
				w.server.Delete(dm, alone)
				var got []string
				for _, in := range r.take(10 * time.Minute) {
					if in.Sender.ID != person || in.To != to && in.To.Chat != dm || in.Resume == "" {
						t.Errorf("got %+v", in)
					}
					got = append(got, fmt.Sprint(in.Kind, " ", strings.TrimSuffix(string(in.ID), "/"+person), " ", in.Text))
				}
				kind := func(k chat.InboundKind, ts, text string) string { return fmt.Sprint(k, " ", ts, " ", text) }
				want := []string{
					kind(chat.Text, asked, "one"), kind(chat.Edited, asked, "two"), kind(chat.Edited, asked, "three"),
					kind(chat.Deleted, asked, ""), kind(chat.Text, alone, "alone"), kind(chat.Deleted, alone, ""),
				}
				if !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
				w.wantGood()
			})
		})
	}
}

// In a call that starts a stream for a person from another workspace, the bot must name that workspace.
func TestStreamForAPersonFromAnotherWorkspace(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		w.server.SetUser(standin.User{ID: other, Name: "bob", Team: "T2"})
		r := receive(t, bot, chat.Resume{})
		defer r.stop()
		for _, user := range []string{person, other} {
			w.server.Say(standin.Incoming{Channel: channel, User: user, Text: mention + " go"})
			asked := r.take(time.Second)
			if len(asked) != 1 {
				t.Fatalf("accepted %+v", asked)
			}
			if _, err := bot.Start(t.Context(), asked[0].To, chat.Outgoing{Text: "x", Answers: asked[0].ID, Key: user}); err != nil {
				t.Errorf("a stream for %s: %v", user, err)
			}
		}
		w.wantGood()
	})
}

// In this test, a person forwards a message. The bot must receive the forwarded message as a quote with its author and
// files, even if the person adds no text.
func TestSharedMessagesAreQuotes(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, _ *slack.Bot) {
		w.server.SetUser(standin.User{ID: other, Name: "bob"})
		r := receive(t, w.bot(slog.New(slog.DiscardHandler), conformance.Proper), chat.Resume{})
		defer r.stop()
		file := []standin.Attachment{{Name: "p.png", Mime: "image/png", Content: []byte("x")}}
		shared := w.server.Say(standin.Incoming{Channel: dm, User: other, Text: "a &amp; b", Files: file})
		time.Sleep(time.Second)
		w.server.Say(standin.Incoming{Channel: dm, User: person, Text: "explain this", Share: shared})
		time.Sleep(time.Second)
		w.server.Say(standin.Incoming{Channel: dm, User: person, Share: shared})
		list := r.wantTexts(time.Second, "a & b", "explain this", "")
		for _, in := range list[1:] {
			if !slices.Equal(lines(in.Quotes), []string{"bob: a & b"}) || len(in.Quotes[0].Attachments) != 1 || !in.Addressed {
				t.Errorf("got %+v", in)
			}
		}
		w.wantGood()
	})
}
