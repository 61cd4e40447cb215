package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/standin/fault"
	standin "telex/standin/telegram"
)

// stopButton sends a message with one button.
func stopButton(t *testing.T, bot conformance.Adapter, to chat.Target) chat.MessageRef {
	t.Helper()
	receipt, err := bot.Send(t.Context(), to, chat.Outgoing{Text: "working", Actions: []chat.Action{{ID: "stop:1", Label: "Stop"}}})
	if err != nil {
		t.Fatal(err)
	}
	return receipt.Ref
}

// If a person presses a button in a topic, the press must belong to the conversation of the topic.
func TestPressInATopic(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.server.Say(standin.Incoming{Chat: groupID, ThreadID: 42, Text: "hello"})
		topic := chat.Target{Chat: w.Group().Chat, Thread: "42", Kind: chat.Group}
		ref := stopButton(t, bot, topic)
		w.Press(ref, "stop:1")
		var pressed []chat.Inbound
		for _, in := range receive(t, bot) {
			if in.Kind == chat.Button {
				pressed = append(pressed, in)
			}
		}
		if len(pressed) != 1 || pressed[0].To != topic || pressed[0].Action != "stop:1" {
			t.Errorf("accepted %+v, want one press in %+v", pressed, topic)
		}
	})
}

// In this test, calls of answerCallbackQuery hang. While calls of answerCallbackQuery hang, the bot must continue to
// receive, and Run must end quickly. The bot must call answerCallbackQuery only after the function accept has stored
// the press.
func TestPressIsAnsweredBesideReceiving(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.server.Fault(standin.Fault{Method: "answerCallbackQuery", Action: fault.Hang, Times: 1})
		ref := stopButton(t, bot, w.Private())
		for range 200 { // press the button more often than the bot answers presses at the same time
			w.Press(ref, "stop:1")
		}
		ctx, cancel := context.WithCancel(t.Context())
		done, stored := make(chan error, 1), 0
		go func() {
			done <- bot.Run(ctx, chat.Resume{}, func(context.Context, chat.Inbound) error {
				if got := len(w.calls("answerCallbackQuery")); stored == 0 && got != 0 {
					t.Errorf("%d presses were answered before one was stored", got)
				}
				stored++
				return nil
			})
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		if stored != 200 {
			t.Errorf("%d presses were accepted while an answer hung, want 200", stored)
		}
		time.Sleep(time.Minute) // meanwhile, the hanging call times out, and the bot makes the other calls
		w.Press(ref, "stop:1")
		time.Sleep(time.Second)
		synctest.Wait()
		if got := len(w.server.CallbackAnswers()); got < 30 || stored != 201 {
			t.Errorf("%d presses were answered of %d", got, stored)
		}
		w.server.Fault(standin.Fault{Method: "answerCallbackQuery", Action: fault.Hang})
		w.Press(ref, "stop:1")
		time.Sleep(time.Second)
		began := time.Now()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || time.Since(began) > 100*time.Millisecond {
			t.Errorf("Run = %v after %v", err, time.Since(began))
		}
	})
}

// If the function accept can't store the press of a button, the bot must not answer the press, so that Telegram
// delivers the press again.
func TestPressThatIsNotStored(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.Press(stopButton(t, bot, w.Private()), "stop:1")
		full := errors.New("disk full")
		err := bot.Run(t.Context(), chat.Resume{}, func(context.Context, chat.Inbound) error { return full })
		if !errors.Is(err, full) || len(w.calls("answerCallbackQuery")) != 0 {
			t.Errorf("Run = %v, %d answers, want %v and none", err, len(w.calls("answerCallbackQuery")), full)
		}
		if list := receive(t, bot); len(list) != 1 || list[0].Action != "stop:1" || w.Unanswered() != 0 {
			t.Errorf("accepted %v, %d are unanswered", fmt.Sprint(list), w.Unanswered())
		}
	})
}
