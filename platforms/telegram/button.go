package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// pressPrefix begins the message id of a press on a button, before that of its query: no message
// has such an id, so that nothing can refer to it.
const pressPrefix = "q"

const (
	// answerTimeout bounds one answer to a press. Nothing depends on it: the press was accepted, and
	// the client merely shows that it waits until the answer comes.
	// https://core.telegram.org/bots/api#answercallbackquery
	answerTimeout = 10 * time.Second

	// maxPresses is how many answers may wait. What is beyond it is left out: the client then
	// stops to wait by itself.
	maxPresses = 64
)

// encodeActions adds the buttons, in one row. Without any nothing is added, and an edit then takes
// those away that the message had: editMessageText replaces text and keyboard alike.
func encodeActions(params tgbotapi.Params, actions []chat.Action) error {
	if len(actions) == 0 {
		return nil
	}
	row := make([]tgbotapi.InlineKeyboardButton, len(actions))
	for i, a := range actions {
		row[i] = tgbotapi.NewInlineKeyboardButtonData(a.Label, a.ID)
	}
	return encodeAs(params, "reply_markup", tgbotapi.NewInlineKeyboardMarkup(row))
}

// presses is the queue of those that were accepted and have no answer yet.
type presses chan string

// add queues the answer to what was accepted, should it be a press. It never blocks.
func (p presses) add(in chat.Inbound) error {
	query, is := strings.CutPrefix(string(in.ID), pressPrefix)
	if !is || in.Kind != chat.Button {
		return nil
	}
	select {
	case p <- query:
		return nil
	default:
		return fmt.Errorf("answerCallbackQuery: more than %d wait", maxPresses)
	}
}

// answerPresses answers presses until ctx ends or there will be no more. Receiving does not wait
// for it: an answer that is late, or that fails, is no loss.
func (b *Bot) answerPresses(ctx context.Context, queue presses) {
	for query := range queue {
		if ctx.Err() != nil {
			return
		}
		if err := b.answerPress(ctx, query); err != nil {
			b.log.DebugContext(ctx, "button press was not acknowledged", slog.Any("error", err))
		}
	}
}

// answerPress tells the client that the press has arrived.
func (b *Bot) answerPress(ctx context.Context, query string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := b.call(ctx, "answerCallbackQuery", tgbotapi.Params{"callback_query_id": query})
	return err
}
