package telegram

import (
	"log/slog"
	"net/http"
	"slices"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
)

// richMode returns which messages are rich messages: none on a server that does not know them.
func (b *Bot) richMode() Rich {
	if b.richless.Load() {
		return RichOff
	}
	return b.rich
}

// sendsRich reports whether a message is sent as a rich message. Besides those that the dialect chose, these are texts without
// markup that are too long for anything else.
func (b *Bot) sendsRich(m chat.Outgoing) bool {
	switch b.richMode() {
	case RichAlways:
		return chosen(m) || markup.Units(m.Text) > textLimit
	case RichAuto:
		return chosen(m)
	}
	return false
}

// chosen reports whether the dialect wants a message to be a rich message.
func chosen(m chat.Outgoing) bool {
	return slices.ContainsFunc(m.Spans, func(s chat.Span) bool { return s.Kind == kindRich })
}

// refused returns the failure of a call with a rich message. On a server that lacks them nothing was done, and nothing but texts
// is sent from then on: the failure is Temporary, so that the same message follows as one.
func (b *Bot) refused(method string, err error, m chat.Outgoing) error {
	switch {
	case calls.Status(err) == http.StatusNotFound, says(err, "method not found"),
		method == methodEdit && (says(err, "text is empty") || says(err, "text must be non-empty")): // the parameter is unknown there
		if !b.richless.Swap(true) {
			b.log.Warn("the server does not know rich messages; texts are sent instead", slog.Any("error", err))
		}
		return calls.Instead(err, chat.Temporary, chat.Rejected)
	case !chosen(m): // without markup it was a rich message for its length alone
		return calls.Instead(err, chat.TooLong, chat.Rejected)
	}
	return err
}

// onlyEntities returns the spans that a text with entities can have. Code goes last: it may keep a mention from notifying.
func onlyEntities(spans []chat.Span) []chat.Span {
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
