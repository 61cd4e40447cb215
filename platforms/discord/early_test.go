package discord_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store/memory"
	"telex/platforms/conformance"
	standin "telex/standin/discord"
)

// In this test, many people without access use a command at the same time. Each of the many people must get a response
// at once, and nobody else may see this response.
func TestStrangersAreRefusedAtOnce(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		if err := bot.SetCommands(t.Context(), commands(), nil); err != nil {
			t.Fatal(err)
		}
		house(t, bot, memory.New(), conformance.Talker{}, false)
		const burst = 140
		for i := range burst {
			to := []chat.Target{w.Group(), w.Private()}[i%2]
			if _, err := w.server.Slash(standin.Invocation{Channel: channel(to), Name: "new"}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		list := w.server.Interactions()
		if len(list) != burst {
			t.Fatalf("there are %d interactions, want %d", len(list), burst)
		}
		for _, i := range list {
			if i.Answered.IsZero() || i.Answered.Sub(i.At) > time.Second || i.Response != 4 {
				t.Errorf("%s was answered by %d after %v, want by a message at once", i.ID, i.Response, i.Answered.Sub(i.At))
			}
		}
		for _, to := range []chat.Target{w.Group(), w.Private()} {
			n := 0
			for _, m := range w.server.History(channel(to)) {
				if m.OnlyFor != standin.DefaultPerson || !m.Alive() || len(m.Versions) != 1 || m.Content() != gateway.DefaultTexts()[gateway.TextNoAccess] {
					t.Errorf("shown is %+v, want a line that only the person sees, once and for good", m)
				}
				n++
			}
			if n != burst/2 {
				t.Errorf("%d messages stand in %+v, want %d", n, to, burst/2)
			}
		}
	})
}

// An interaction must be acknowledged in time, even while the handling of an earlier event waits for the API or the
// store.
func TestInteractionsAreAcknowledgedAtOnce(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		if err := bot.SetCommands(t.Context(), commands(), nil); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done, texts := make(chan error, 1), make(chan string, 2)
		go func() {
			done <- bot.Run(ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error {
				time.Sleep(10 * time.Second)
				texts <- in.Text
				return nil
			})
		}()
		time.Sleep(time.Second)
		w.Say(w.Private(), conformance.Saying{Text: "first"})
		if _, err := w.server.Slash(standin.Invocation{Channel: channel(w.Group()), Name: "new"}); err != nil {
			t.Fatal(err)
		}
		if first, second := <-texts, <-texts; first != "first" || second != "/new" {
			t.Errorf("accepted are %q and %q", first, second)
		}
		if i := w.server.Interactions()[0]; i.Answered.IsZero() || i.Answered.Sub(i.At) > time.Second {
			t.Errorf("the interaction is acknowledged after %v, want it at once", i.Answered.Sub(i.At))
		}
		cancel()
		<-done
	})
}

// The store refuses a command. The person must see a text which says that the bot did not store the command. When
// Discord delivers the command again, the answer must replace the text about the command that was not stored.
func TestUnstoredIsTold(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		const line = "It was not stored."
		bot.Screen(chat.Screen{Unstored: func() string { return line }})
		if err := bot.SetCommands(t.Context(), commands(), nil); err != nil {
			t.Fatal(err)
		}
		r := start(t, bot, chat.Resume{})
		r.refuse(1)
		w.Ask(w.Group(), "why?")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		w.wantShown(w.Group(), line)
		if err := <-r.done; err == nil {
			t.Error("Run ended without an error")
		}
		in := r.again(bot).one()
		send(t, bot, w.Group(), outgoing("because", in.ID))
		w.wantShown(w.Group(), "because")
	})
}
