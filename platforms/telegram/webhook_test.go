package telegram_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/platforms/conformance"
	"telex/standin/fault"
	standin "telex/standin/telegram"
)

// setWebhook sets a webhook for the bot, as another program would.
func (w *world) setWebhook(t *testing.T, address string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: w.net.Dial}}
	defer client.CloseIdleConnections()
	resp, err := client.PostForm("http://telegram.test/bot"+w.server.Token()+"/setWebhook", url.Values{"url": {address}})
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("setWebhook: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

// A webhook prevents polling, so a bot that polls must delete the webhook. Telegram keeps the waiting updates when the
// webhook is deleted. The log must report the deletion, but not the path of the webhook's URL, which may be a secret.
// If another program sets the webhook again, the bot must not delete the webhook again, because the two programs could
// otherwise undo each other's setting forever.
func TestWebhookIsDeletedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, _ conformance.Adapter) {
		var logged conformance.Log
		bot := w.Connect(slog.New(slog.NewTextHandler(&logged, nil)), conformance.Proper)
		w.Say(w.Private(), conformance.Saying{Text: "hello"})
		w.setWebhook(t, "https://hook.example.org/path-secret?key=query-secret")
		if list := receive(t, bot); len(list) != 1 || list[0].Text != "hello" {
			t.Errorf("accepted %+v, want what waited", list)
		}
		if s := logged.String(); strings.Count(s, "webhook deleted") != 1 || !strings.Contains(s, "host=hook.example.org") || strings.Contains(s, "secret") {
			t.Errorf("the log says %s", s)
		}
		w.setWebhook(t, "https://hook.example.org/again")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := bot.Run(ctx, chat.Resume{}, func(context.Context, chat.Inbound) error { return nil })
		if kindOf(err) != chat.Conflict || !strings.Contains(err.Error(), "has a webhook") {
			t.Errorf("Run = %v, want a conflict that names the cause", err)
		}
	})
}

// If the deletion of the webhook fails, the next call of Run must try again.
func TestWebhookIsNotDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, bot conformance.Adapter) {
		w.setWebhook(t, "https://hook.example.org")
		w.server.Fault(standin.Fault{Method: "deleteWebhook", Times: 1, Action: fault.Status, Status: http.StatusBadGateway})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		refuse := func(context.Context, chat.Inbound) error { return errors.New("nothing is said") }
		if err := bot.Run(ctx, chat.Resume{}, refuse); kindOf(err) != chat.Conflict {
			t.Errorf("Run = %v, want a conflict", err)
		}
		if err := bot.Run(ctx, chat.Resume{}, refuse); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the next Run = %v, want %v", err, context.DeadlineExceeded)
		}
	})
}
