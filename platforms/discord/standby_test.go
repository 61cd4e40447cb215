package discord_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/platforms/discord"
	standin "telex/standin/discord"
	"telex/standin/fault"
)

// divided runs two processes of one bot. The first process receives messages. The returned bot answers belongs to the
// second process, which answers the messages. The returned function adopted waits for the next message, passes the
// message to the method Adopt of answers, and returns the message.
func divided(t *testing.T, w *world) (answers *discord.Bot, adopted func() chat.Inbound) {
	t.Helper()
	receives := w.bot(discarded(), conformance.Proper)
	if err := receives.SetCommands(t.Context(), commands(), nil); err != nil {
		t.Fatal(err)
	}
	answers = w.bot(discarded(), conformance.Proper)
	ctx, cancel := context.WithCancel(t.Context())
	ended, list := make(chan struct{}, 2), make(chan chat.Inbound, 1)
	go func() {
		_ = receives.Run(ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error {
			if in.Kind != chat.Edited && in.Kind != chat.Deleted {
				list <- in
			}
			return nil
		})
		ended <- struct{}{}
	}()
	go func() {
		_ = answers.StandBy(ctx, func() {})
		ended <- struct{}{}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		<-ended
	})
	time.Sleep(65 * time.Second) // wait until 5 s after StandBy requested the name, so that no such request disturbs the test
	return answers, func() chat.Inbound {
		select {
		case in := <-list:
			return answers.Adopt(in)
		case <-time.After(time.Minute):
			t.Fatal("nothing is accepted")
			return chat.Inbound{}
		}
	}
}

// In this test, a process answers a command that another process received and is still acknowledging. Before the
// acknowledgement has ended, Send must fail as Temporary. After the acknowledgement, the next call of Send must succeed.
func TestAnswersWhatAnotherProcessReceived(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot, adopted := divided(t, w)
		to := w.Group()
		w.server.Fault(standin.Fault{Method: "callback", Action: fault.Latency, Delay: time.Second})
		w.Ask(to, "why?")
		in := adopted()
		began := time.Now()
		if _, err := bot.Send(t.Context(), to, outgoing("because", in.ID)); chat.AsSendError(err).Kind != chat.Temporary {
			t.Errorf("got %v", err)
		}
		if err := bot.Typing(t.Context(), to); err != nil { // Typing must do nothing, because "thinking…" is already shown
			t.Error(err)
		}
		if calls := w.methodsSince(began); len(calls) != 2 || slices.Contains(calls, "typing") {
			t.Errorf("the calls are %q", calls)
		}
		time.Sleep(2 * time.Second)
		send(t, bot, to, outgoing("because", in.ID))
		w.wantShown(to, "because")
		if n := w.Dangling(); n != 0 {
			t.Errorf("%d commands say that the bot is thinking, want none", n)
		}
	})
}

// A process must remove "thinking…" from a command that another process received, even if that process has not
// acknowledged the command yet.
func TestConcludesWhatAnotherProcessReceived(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot, adopted := divided(t, w)
		for _, slow := range []time.Duration{0, time.Second} {
			w.server.Fault(standin.Fault{Method: "callback", Action: fault.Latency, Delay: slow, Times: 1})
			w.Ask(w.Group(), "why?")
			in := adopted()
			bot.Concluded(in.To, []chat.MessageID{in.ID}, false)
			time.Sleep(quiet)
			if n := w.Dangling(); n != 0 {
				t.Errorf("%d commands say that the bot is thinking, want none", n)
			}
		}
	})
}

// Even a process that receives no messages must know the bot's name, and the name for a new thread.
func TestKnowsWhatAnotherProcessReceived(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		w.threads = true
		bot, adopted := divided(t, w)
		if bot.Name() == "" {
			t.Error("it does not know the bot's name")
		}
		w.say(channel(w.Group()), "why is that so?")
		in := adopted()
		began := time.Now()
		send(t, bot, in.To, outgoing("because", in.ID))
		w.wantCalls(began, "createMessage", "startThreadFrom", "createMessage")
	})
}
