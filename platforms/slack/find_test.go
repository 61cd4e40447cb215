package slack_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/slack"
	"telex/standin/fault"
	standin "telex/standin/slack"
)

// In this test, a create call did not make a message. If a create call made no message, Find must not return another
// message of the bot, neither in the process that made the call nor in the next process.
func TestFindReturnsNoOtherMessage(t *testing.T) {
	text := func(key string) chat.Outgoing { return chat.Outgoing{Text: "text", Plain: "text", Key: key} }
	document := chat.File{Name: "a.md", MediaType: "text/markdown", Content: []byte("rest")}
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		next := w.bot(slog.New(slog.DiscardHandler), conformance.Proper)
		asked := w.server.Say(standin.Incoming{Channel: channel, Text: mention + " go"})
		to := thread(asked)
		find := func(b *slack.Bot, key string) (chat.MessageRef, bool, chat.ErrorKind) {
			found, err := b.Find(t.Context(), to, chat.Create{Key: key}, "")
			ref, ok := found.Ref, found.Ref.ID != ""
			if err == nil {
				return ref, ok, 255
			}
			return ref, ok, chat.AsSendError(err).Kind
		}
		cut := func(method string, run func(ctx context.Context) error) {
			t.Helper()
			w.server.Fault(standin.Fault{Method: method, Times: 1, Action: fault.CutBefore})
			if kind := chat.AsSendError(run(t.Context())).Kind; kind != chat.Uncertain {
				t.Fatalf("%s failed as %v", method, kind)
			}
		}
		answer := func(key string) chat.Outgoing {
			m := text(key)
			m.Answers = chat.MessageID(asked + "/" + person)
			return m
		}

		// Find must not mistake a visible file for a message that was never sent.
		if _, err := bot.SendFile(t.Context(), to, text("file"), document); err != nil {
			t.Fatal(err)
		}
		cut("chat.postMessage", func(ctx context.Context) error {
			_, err := bot.Send(ctx, to, text("lost"))
			return err
		})
		cut("files.completeUploadExternal", func(ctx context.Context) error {
			_, err := bot.SendFile(ctx, to, text("lost file"), document)
			return err
		})
		cut("chat.startStream", func(ctx context.Context) error {
			_, err := bot.Start(ctx, to, answer("lost stream"))
			return err
		})
		for _, key := range []string{"lost", "lost file", "lost stream"} {
			if ref, ok, kind := find(bot, key); ok || kind != 255 {
				t.Errorf("%s: found %+v, %v", key, ref, kind)
			}
		}
		if got, ok, kind := find(next, "lost"); ok || kind != 255 { // the newest message is a file with another key
			t.Errorf("another process: found %+v, %t, %v, want none", got, ok, kind)
		}

		// The metadata of a stopped stream contains the idempotency key, no matter which process stopped the stream.
		ref, err := bot.Start(t.Context(), to, answer("stream"))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok, _ := find(next, "stream"); !ok || got.ID != ref.Ref.ID {
			t.Errorf("another process: found %+v, %t, want the stream", got, ok)
		}
		if found, err := next.Find(t.Context(), to, chat.Create{Key: "lost", KeyOnly: true}, ""); err != nil || found.Ref.ID != "" {
			t.Errorf("found %+v, %v by another key only", found.Ref, err)
		}
		if err := bot.Stop(t.Context(), ref.Ref, ""); err != nil {
			t.Fatal(err)
		}
		for _, b := range []*slack.Bot{bot, next} {
			if got, ok, kind := find(b, "lost stream"); ok || kind != 255 {
				t.Errorf("found %+v, %v: a stream of another key", got, kind)
			}
			if _, ok, _ := find(b, "stream"); !ok {
				t.Error("a stream that was stopped is not found")
			}
		}

		// In this part of the test, Slack ends a stream by itself. The edit that repairs the message of a stream that Slack
		// ended must also store the idempotency key in the message.
		if ref, err = bot.Start(t.Context(), to, answer("broken")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Minute)
		if kind := chat.AsSendError(bot.Stop(t.Context(), ref.Ref, "")).Kind; kind != chat.Rejected {
			t.Errorf("Stop of a broken stream is %v, want rejected", kind)
		}
		if _, err := bot.Edit(t.Context(), ref.Ref, text("broken")); err != nil {
			t.Fatal(err)
		}
		if got, ok, kind := find(next, "other"); ok || kind != 255 {
			t.Errorf("found %+v, %v", got, kind)
		}
		if _, ok, _ := find(next, "broken"); !ok {
			t.Error("a stream that was mended is not found")
		}
		if got := w.Broken(to); len(got) != 0 {
			t.Errorf("broken are %q", got)
		}
	})
}

// In this test, an earlier process left a stream running, so Slack refuses the first edit of the stream's message. When
// Slack refuses the edit, the method Edit must stop the stream and fail as Temporary. After Edit has stopped the
// stream, the next call of Edit must succeed.
func TestEditStopsAForgottenStream(t *testing.T) {
	inBubble(t, standin.Options{}, false, func(t *testing.T, w *world, bot *slack.Bot) {
		asked := w.server.Say(standin.Incoming{Channel: channel, Text: mention + " go"})
		m := chat.Outgoing{Text: "text", Plain: "text", Key: "k", Answers: chat.MessageID(asked + "/" + person)}
		made, err := bot.Start(t.Context(), thread(asked), m)
		if err != nil {
			t.Fatal(err)
		}
		_, err = bot.Edit(t.Context(), made.Ref, m)
		if kind := chat.AsSendError(err).Kind; kind != chat.Temporary {
			t.Errorf("Edit = %v, want temporary", err)
		}
		if _, err = bot.Edit(t.Context(), made.Ref, m); err != nil {
			t.Errorf("Edit: %v", err)
		}
	})
}
