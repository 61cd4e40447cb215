package telegram

import (
	"log/slog"
	"net/http"
	"slices"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
)

// richMode returns which messages telex sends as rich messages. richMode returns RichOff if the server does not support
// rich messages.
func (b *Bot) richMode() Rich {
	if b.richUnsupported.Load() {
		return RichOff
	}
	return b.rich
}

// sendsRich reports whether a message is sent as a rich message. In most cases, the dialect has already decided whether
// a message is rich. With RichAlways, telex also sends a text as a rich message if the text is too long for a normal
// message.
func (b *Bot) sendsRich(m chat.Outgoing) bool {
	switch b.richMode() {
	case RichAlways:
		return dialectChoseRich(m) || markup.Units(m.Text) > textLimit
	case RichAuto:
		return dialectChoseRich(m)
	}
	return false
}

// dialectChoseRich reports whether the dialect decided that a message is a rich message.
func dialectChoseRich(m chat.Outgoing) bool {
	return slices.ContainsFunc(m.Spans, func(s chat.Span) bool { return s.Kind == kindRich })
}

// richError converts the error of a call that sends a rich message. If the server does not support rich messages,
// richError returns a Temporary error and makes the bot send no more rich messages. After the Temporary error, the
// gateway repeats the call, and the bot sends the message as a text.
func (b *Bot) richError(method string, err error, m chat.Outgoing) error {
	switch {
	case calls.Status(err) == http.StatusNotFound, hasDescription(err, "method not found"),
		method == methodEdit && (hasDescription(err, "text is empty") || hasDescription(err, "text must be non-empty")): // older servers ignore the parameter rich_message and find no text
		if !b.richUnsupported.Swap(true) {
			b.log.Warn("the server does not know rich messages; texts are sent instead", slog.Any("error", err))
		}
		return calls.Reclassify(err, chat.Temporary, chat.Rejected)
	case !dialectChoseRich(m): // the message was rich only because its text was too long for a normal message
		return calls.Reclassify(err, chat.TooLong, chat.Rejected)
	}
	return err
}

// entitySpans returns the spans that are valid in a text with entities, and at most maxEntities spans. If entitySpans
// must shorten the spans of a rich message, it drops spans of other kinds before spans of code, because code may prevent
// a mention from notifying somebody. (For other messages, the dialect has already limited the number of spans.)
func entitySpans(spans []chat.Span) []chat.Span {
	if !slices.ContainsFunc(spans, func(s chat.Span) bool { return rank(s.Kind) < 0 }) {
		return spans[:min(len(spans), maxEntities)]
	}
	list := slices.DeleteFunc(slices.Clone(spans), func(s chat.Span) bool { return rank(s.Kind) < 0 })
	for i := len(list) - 1; i >= 0 && len(list) > maxEntities; i-- {
		if list[i].Kind != kindCode {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list[:min(len(list), maxEntities)]
}
