package telegram

import (
	"context"
	"log/slog"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// pressPrefix begins the message id of a press on a button, before that of its query: no message
// has such an id, so that nothing can refer to it.
const pressPrefix = "q"

// stopPrefix begins the message id of a press on the stop button of a draft, before that of its update.
const stopPrefix = "s"

const (
	// answerTimeout bounds one answer to a press. Nothing depends on it: the press was accepted, and
	// the client merely shows that it waits until the answer comes.
	// https://core.telegram.org/bots/api#answercallbackquery
	answerTimeout = 10 * time.Second

	// maxAnswers is how many presses are answered at a time. What is beyond it is left out: the client then
	// stops to wait by itself.
	maxAnswers = 64
)

// encodeActions adds the buttons, in one row. Without any nothing is added, and an edit then takes
// those away that the message had: editMessageText replaces text and keyboard alike.
func encodeActions(params tgbotapi.Params, actions []chat.Action) {
	if len(actions) == 0 {
		return
	}
	row := make([]tgbotapi.InlineKeyboardButton, len(actions))
	for i, a := range actions {
		row[i] = tgbotapi.NewInlineKeyboardButtonData(a.Label, a.ID)
	}
	encodeAs(params, "reply_markup", tgbotapi.NewInlineKeyboardMarkup(row))
}

// answerPress tells the client that a press that was accepted has arrived. Receiving does not wait for it: an answer that is
// late, that fails or is left out is no loss.
func (b *Bot) answerPress(ctx context.Context, r *reception, query string) {
	begun := r.answers.TryGo(func() error {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		if _, err := b.call(ctx, "answerCallbackQuery", tgbotapi.Params{"callback_query_id": query}); err != nil {
			b.log.DebugContext(ctx, "button press was not acknowledged", slog.Any("error", err))
		}
		return nil
	})
	if !begun {
		b.log.DebugContext(ctx, "button press was not acknowledged: too many at once")
	}
}
