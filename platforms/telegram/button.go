package telegram

import (
	"context"
	"log/slog"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// The message id of a button press is pressPrefix and the id of the callback query. The ids of Telegram's messages
// have no such prefix, so the bot never tries to send a message as a reply to a press.
const pressPrefix = "q"

// The message id of a press on a draft's stop button is stopPrefix and the id of the update.
const stopPrefix = "s"

const (
	// answerTimeout limits one call of answerCallbackQuery. When the bot calls answerCallbackQuery, the gateway has
	// already accepted the press. answerCallbackQuery only removes the progress indicator that the person's app shows on
	// the button. https://core.telegram.org/bots/api#answercallbackquery
	answerTimeout = 10 * time.Second

	// maxAnswers limits the calls of answerCallbackQuery that run at the same time. If people press more than maxAnswers
	// buttons at the same time, the bot does not call answerCallbackQuery for the additional presses. The person's app
	// removes its progress indicator by itself after a while.
	maxAnswers = 64
)

// addButtons adds the buttons for the actions, in one row, to the parameters of a call. If there are no actions,
// addButtons adds nothing. In an edit, no buttons in the parameters mean that Telegram removes the message's buttons,
// because editMessageText replaces text and buttons together.
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

// answerPress tells the person's app that the bot has accepted a press. answerPress calls answerCallbackQuery in
// another goroutine, because a late or failed call does no harm and receiving must not wait for the call.
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
