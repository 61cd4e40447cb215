package telegram

import (
	"context"
	"log/slog"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// pressPrefix precedes the id of the callback query in the message id of a button press. No message has such an id, so
// nothing can reply to the press.
const pressPrefix = "q"

// stopPrefix precedes the update's id in the message id of a press on a draft's stop button.
const stopPrefix = "s"

const (
	// answerTimeout limits one answer to a press. The press was accepted already; the answer only ends the client's
	// progress indicator. https://core.telegram.org/bots/api#answercallbackquery
	answerTimeout = 10 * time.Second

	// maxAnswers limits the answers that run at the same time. Further presses are not answered; the client then hides
	// its progress indicator by itself.
	maxAnswers = 64
)

// addButtons adds the buttons, in one row. Without buttons it adds nothing. An edit then removes the message's buttons,
// because editMessageText replaces text and keyboard together.
func addButtons(params tgbotapi.Params, actions []chat.Action) {
	if len(actions) == 0 {
		return
	}
	row := make([]tgbotapi.InlineKeyboardButton, len(actions))
	for i, a := range actions {
		row[i] = tgbotapi.NewInlineKeyboardButtonData(a.Label, a.ID)
	}
	addJSON(params, "reply_markup", tgbotapi.NewInlineKeyboardMarkup(row))
}

// answerPress tells the client that an accepted press has arrived. Receiving does not wait for it, because a late or
// missing answer does no harm.
func (b *Bot) answerPress(ctx context.Context, r *receiver, query string) {
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
