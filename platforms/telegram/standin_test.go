package telegram_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/standin/fault"
	standin "telex/standin/telegram"
)

// The tests in this file check features that only Telegram has, with Telegram's stand-in.

// inBubble runs a test in virtual time with a world and a connected adapter.
func inBubble(t *testing.T, run func(t *testing.T, w *world, bot conformance.Adapter)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).(*world)
		run(t, w, w.Connect(slog.New(slog.DiscardHandler), conformance.Proper))
	})
}

// receive runs the adapter for a minute and returns the messages that the adapter passed to the function accept.
func receive(t *testing.T, bot conformance.Adapter) []chat.Inbound {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var list []chat.Inbound
	err := bot.Run(ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error {
		list = append(list, in)
		return nil
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run = %v, want %v", err, context.DeadlineExceeded)
	}
	return list
}

func kindOf(err error) chat.ErrorKind { return chat.AsSendError(err).Kind }

func TestTopicIsAConversation(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		asked := w.server.Say(standin.Incoming{Chat: groupID, ThreadID: 42, Text: "@" + username + " in a topic"})
		w.server.Say(standin.Incoming{Chat: groupID, Text: "@" + username + " in general"})
		w.server.Say(standin.Incoming{User: privateID, ThreadID: 5, Text: "in a private topic"})
		var places []chat.Target
		for _, in := range receive(t, bot) {
			places = append(places, in.To)
			m := chat.Outgoing{Text: "to: " + in.Text, ReplyTo: in.ID}
			if _, err := bot.Send(t.Context(), in.To, m); err != nil {
				t.Errorf("Send to %+v: %v", in.To, err)
			}
		}
		want := []chat.Target{
			{Chat: "-1001234567890", Thread: "42", Kind: chat.Group},
			{Chat: "-1001234567890", Kind: chat.Group},
			{Chat: "1001", Thread: "5"},
		}
		if !slices.Equal(places, want) {
			t.Errorf("answers go to %+v, want %+v", places, want)
		}
		for _, m := range w.server.History(groupID) {
			if m.Text() == "to: in a topic" && (m.ThreadID != 42 || !m.Topic || m.ReplyTo != asked) {
				t.Errorf("the answer in the topic is %+v", m)
			}
			if m.Text() == "to: in general" && (m.ThreadID != 0 || m.ReplyTo == 0) {
				t.Errorf("the answer in general is %+v", m)
			}
		}
		_, err := bot.Send(t.Context(), chat.Target{Chat: w.Group().Chat, Thread: "999", Kind: chat.Group}, chat.Outgoing{Text: "x"})
		if got := kindOf(err); got != chat.Forbidden {
			t.Errorf("a topic that does not exist gives %v, want %v", err, chat.Forbidden)
		}
	})
}

// In a supergroup without topics, a reply has a thread id although it is not in a topic. The bot must treat a reply
// with a thread id as a part of the conversation of the whole group if the group has no topics.
func TestReplyThreadIsNotAConversation(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		receipt, err := bot.Send(t.Context(), w.Group(), chat.Outgoing{Text: "mine"})
		if err != nil {
			t.Fatal(err)
		}
		w.Say(w.Group(), conformance.Saying{Text: "go on", ReplyTo: receipt.Ref})
		if list := receive(t, bot); len(list) != 1 || list[0].To != w.Group() || !list[0].Addressed {
			t.Errorf("accepted %+v, want one addressed message in %+v", list, w.Group())
		}
	})
}

func TestEntitiesArriveUnchanged(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		_, err := bot.Send(t.Context(), w.Private(), chat.Outgoing{
			Text: "🦊 bold and code",
			Spans: []chat.Span{
				{Kind: "bold", Offset: 3, Length: 4},
				{Kind: "pre", Offset: 12, Length: 4, Language: "go"},
			},
			Preview: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := w.server.History(privateID)[0].Last()
		want := []standin.Entity{
			{Type: "bold", Offset: 3, Length: 4},
			{Type: "pre", Offset: 12, Length: 4, Language: "go"},
		}
		if !slices.Equal(got.Entities, want) || !got.LinkPreviewOff {
			t.Errorf("shown with %+v, previews off %t, want %+v, true", got.Entities, got.LinkPreviewOff, want)
		}
		_, err = bot.Send(t.Context(), w.Private(), chat.Outgoing{Text: " \n "})
		if got := kindOf(err); got != chat.Rejected {
			t.Errorf("an empty text gives %v, want %v", err, chat.Rejected)
		}
	})
}

// If a group has become a supergroup, the error of a call to the group must contain the id of the supergroup (F54).
func TestMigration(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.server.Say(standin.Incoming{Chat: -55, Text: "@" + username + " hello"})
		list := receive(t, bot)
		if len(list) != 1 {
			t.Fatalf("accepted %+v, want one message", list)
		}
		fresh := w.server.Migrate(-55)
		_, err := bot.Send(t.Context(), list[0].To, chat.Outgoing{Text: "x"})
		failure := chat.AsSendError(err)
		if failure.Kind != chat.Moved || int64(w.number(string(failure.Moved))) != fresh {
			t.Errorf("Send = %+v, want moved to %d", failure, fresh)
		}
		var told []chat.ChatID // the chat ids in the two messages about the migration
		for _, in := range receive(t, bot) {
			switch {
			case in.Kind == chat.Migration:
				told = append(told, in.To.Chat, in.MovedTo)
			case in.Text != "hello":
				t.Errorf("accepted %+v", in)
			}
		}
		to := chat.ChatID(strconv.FormatInt(fresh, 10))
		if want := []chat.ChatID{"-55", to, "-55", to}; !slices.Equal(told, want) {
			t.Errorf("told of %q, want %q", told, want)
		}
	})
}

// If two processes poll for the same bot, Run must return an error in the process that began first (F55).
func TestTwoPollers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		first := make(chan error, 1)
		ignore := func(context.Context, chat.Inbound) error { return nil }
		go func() { first <- bot.Run(t.Context(), chat.Resume{}, ignore) }()
		synctest.Wait()
		time.Sleep(time.Second) // wait until the first poll waits at Telegram's server
		second, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		other := w.Connect(slog.New(slog.DiscardHandler), conformance.Proper)
		if err := other.Run(second, chat.Resume{}, ignore); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the newer Run = %v, want %v", err, context.DeadlineExceeded)
		}
		err := <-first
		if kindOf(err) != chat.Conflict || !strings.Contains(err.Error(), "another process polls") {
			t.Errorf("the older Run = %v, want a conflict that names the cause", err)
		}
	})
}

// If a response reports success without a message id, Send must succeed (F57). If the response breaks off, Send must
// report that the outcome is unknown (F13).
func TestOddSuccesses(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.server.Fault(standin.Fault{Method: "sendMessage", Times: 1, Action: standin.ActNoMessageID})
		receipt, err := bot.Send(t.Context(), w.Private(), chat.Outgoing{Text: "one"})
		if want := (chat.Receipt{Ref: chat.MessageRef{Target: w.Private()}}); err != nil || receipt.Ref != want.Ref {
			t.Errorf("Send = %+v, %v, want %+v", receipt, err, want)
		}
		w.server.Fault(standin.Fault{Method: "sendMessage", Times: 1, Action: fault.Malformed})
		_, err = bot.Send(t.Context(), w.Private(), chat.Outgoing{Text: "two"})
		if got := kindOf(err); got != chat.Uncertain {
			t.Errorf("half an answer gives %v, want %v", err, chat.Uncertain)
		}
		if got, want := w.Shown(w.Private()), []string{"one", "two"}; !slices.Equal(got, want) {
			t.Errorf("shown are %q, want %q", got, want)
		}
	})
}

// A restart of Telegram's server interrupts the poll, so Run ends. The call of Run after the restart must receive every
// message.
func TestPlatformRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		done := make(chan error, 1)
		go func() {
			done <- bot.Run(t.Context(), chat.Resume{}, func(context.Context, chat.Inbound) error { return nil })
		}()
		synctest.Wait()
		time.Sleep(time.Second)
		w.server.Restart(time.Second)
		if err := <-done; kindOf(err) != chat.Temporary {
			t.Errorf("Run = %v, want %v", err, chat.Temporary)
		}
		w.server.Say(standin.Incoming{User: privateID, Text: "while nobody listened"})
		time.Sleep(time.Second)
		if list := receive(t, bot); len(list) != 1 || list[0].Text != "while nobody listened" {
			t.Errorf("accepted %+v, want the one message", list)
		}
	})
}

// The bot must receive the caption of a document or a photo as the text of the message. A caption may also be a
// command.
func TestMedia(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.server.Say(standin.Incoming{User: privateID, Text: "/sum it up", Attachment: standin.Attachment{Media: "document", FileName: "a.pdf"}})
		w.server.Say(standin.Incoming{User: privateID, Attachment: standin.Attachment{Media: "photo"}})
		w.server.Say(standin.Incoming{User: privateID, Attachment: standin.Attachment{Media: "voice"}})
		w.server.Say(standin.Incoming{User: privateID, Attachment: standin.Attachment{Media: "sticker"}})
		list := receive(t, bot)
		if len(list) != 4 {
			t.Fatalf("accepted %+v, want four messages", list)
		}
		if in := list[0]; in.Command != "sum" || in.Args != "it up" || len(in.Attachments) != 1 || in.Attachments[0].Name != "a.pdf" {
			t.Errorf("the document is %+v", in)
		}
		for i, want := range []chat.Attachment{
			{Name: "photo.jpg", MediaType: "image/jpeg"},
			{Name: "voice.ogg", MediaType: "audio/ogg"},
			{Name: "sticker.webp", MediaType: "image/webp"},
		} {
			in := list[i+1]
			if in.Text != "" || len(in.Attachments) != 1 || in.Attachments[0].Name != want.Name || in.Attachments[0].MediaType != want.MediaType {
				t.Errorf("got %+v, want one attachment like %+v", in, want)
			}
		}
	})
}

// If any message of an album mentions the bot, the bot must accept the whole album. For each message of an album, the
// bot must report that more messages may follow.
func TestAlbum(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		photos := []standin.Attachment{{Media: "photo", Content: []byte("one")}, {Media: "photo", Content: []byte("two")}}
		w.server.Say(standin.Incoming{Chat: groupID, User: privateID, Text: "not for you", Album: photos})
		w.server.Say(standin.Incoming{Chat: groupID, User: privateID, Text: "@" + username + " compare", Album: photos})
		list := receive(t, bot)
		if len(list) != 4 {
			t.Fatalf("accepted %+v, want four messages", list)
		}
		for i, in := range list {
			if in.Addressed != (i >= 2) || !in.More || len(in.Attachments) != 1 {
				t.Errorf("message %d is %+v", i, in)
				continue
			}
			got, err := bot.(gateway.Fetcher).Fetch(t.Context(), in.Attachments[0], 100)
			if want := string(photos[i%2].Content); err != nil || string(got) != want {
				t.Errorf("photo %d is %q, %v, want %q", i, got, err, want)
			}
		}
		if got, want := list[2].Text, "compare"; got != want {
			t.Errorf("the caption is %q, want %q", got, want)
		}
	})
}

// If Telegram does not offer a file to bots because of its size, Fetch must report the file as too large. If the URL of
// a file has expired, the bot must request a new URL.
func TestFetchFromPlatform(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.server.Say(standin.Incoming{User: privateID, Attachment: standin.Attachment{Media: "video", Content: []byte("short"), FileSize: 21 << 20}})
		w.server.Say(standin.Incoming{User: privateID, Attachment: standin.Attachment{Media: "voice", Content: []byte("spoken")}})
		list := receive(t, bot)
		if len(list) != 2 {
			t.Fatalf("accepted %+v, want two messages", list)
		}
		fetcher := bot.(gateway.Fetcher)
		if _, err := fetcher.Fetch(t.Context(), list[0].Attachments[0], 1<<30); !errors.Is(err, chat.ErrTooLarge) {
			t.Errorf("Fetch = %v, want %v", err, chat.ErrTooLarge)
		}
		for range 2 {
			got, err := fetcher.Fetch(t.Context(), list[1].Attachments[0], 100)
			if err != nil || string(got) != "spoken" {
				t.Errorf("Fetch = %q, %v, want the voice message", got, err)
			}
			time.Sleep(2 * time.Hour)
		}
	})
}

// If an admin has never written to the bot, the bot can't set a menu for this admin. SetCommands must report no error
// for an admin who has never written to the bot, and must set the menu of the other admins.
func TestMenuOfAnAbsentAdmin(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		menu := bot.(gateway.Menu)
		list := []chat.CommandSpec{{Name: "new", Description: "Start anew"}, {Name: "pair", Description: "Let in", Admin: true}}
		if err := menu.SetCommands(t.Context(), list, []chat.UserID{"987654", "1001"}); err != nil {
			t.Fatalf("SetCommands: %v", err)
		}
		if got, want := w.Menu(w.Private()), []string{"new", "pair"}; !slices.Equal(got, want) {
			t.Errorf("offered are %q, want %q", got, want)
		}
	})
}

// The bot must ignore messages that are addressed to other bots. If another bot wrote a message, the adapter must
// report that the sender is a bot.
func TestOtherBots(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.server.Say(standin.Incoming{Chat: groupID, Text: "/new@other_bot"})
		w.server.Say(standin.Incoming{Chat: groupID, Text: "/new@other_bot", Attachment: standin.Attachment{Media: "document", FileName: "a.txt"}})
		w.server.Say(standin.Incoming{Chat: groupID, User: 77, IsBot: true, Text: "/new@" + username})
		list := receive(t, bot)
		if len(list) != 1 || !list[0].Sender.Bot || list[0].Command != "new" {
			t.Errorf("accepted %+v, want one command of a bot", list)
		}
	})
}
