package telegram

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// defaultRetryAfter is the wait after a 429 that names none. Real waits in groups are 18 to 35 seconds, in private chats a few.
// A wait that is too short lengthens the penalty.
const defaultRetryAfter = 10 * time.Second

// classify says what may be done after a refused call. api is the API's refusal; nil: the answer is not the API's.
func classify(api *tgbotapi.Error, o calls.Outcome) *chat.SendError {
	switch {
	case o.Status == http.StatusTooManyRequests || (api != nil && api.Code == http.StatusTooManyRequests):
		seconds := 0
		if api != nil {
			seconds = api.RetryAfter
		}
		return &chat.SendError{Kind: chat.RateLimited, RetryAfter: calls.RetryAfter(float64(seconds), o.Header, defaultRetryAfter)}
	case o.Status == http.StatusRequestEntityTooLarge: // a proxy says so too, in its own words
		return &chat.SendError{Kind: chat.TooLong}
	case api == nil:
		return &chat.SendError{Kind: chat.Uncertain}
	case api.MigrateToChatID != 0:
		return &chat.SendError{Kind: chat.Moved, Moved: chatID(api.MigrateToChatID)}
	}
	return &chat.SendError{Kind: kindOf(cmp.Or(api.Code, o.Status), strings.ToLower(api.Message))}
}

// kindOf classifies an answer of the API by its code and its description in lower case.
func kindOf(code int, description string) chat.ErrorKind {
	switch {
	case code == http.StatusUnauthorized:
		return chat.Auth
	case code == http.StatusNotFound:
		// Nothing was done: the address leads past the API, or the token is invalid. A server
		// that is put in its place mends the first, so that this is not Auth.
		return chat.Temporary
	case code == http.StatusForbidden:
		return chat.Forbidden
	case code == http.StatusConflict:
		return chat.Conflict
	case code >= http.StatusInternalServerError:
		return chat.Uncertain
	}
	for _, k := range knownDescriptions() {
		for _, text := range k.texts {
			if strings.Contains(description, text) {
				return k.kind
			}
		}
	}
	return chat.Rejected
}

// described names the descriptions that mean one kind.
type described struct {
	kind  chat.ErrorKind
	texts []string
}

// knownDescriptions lists the descriptions of a 400 that do not blame the content. Telegram
// has no error codes below the HTTP status; the texts are those of
// https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/Client.cpp, which
// passes the codes in capitals on from https://core.telegram.org/api/errors.
//
// A topic that is closed or gone counts as Forbidden: nothing can be written in that
// conversation, although other topics of the same chat may work. Where drafts are not for
// this chat, TEXTDRAFT_PEER_INVALID, there is no text to find here: Rejected says so.
func knownDescriptions() []described {
	return []described{
		{chat.Gone, []string{
			"message to edit not found",
			"message_id_invalid",
			"message identifier is not specified",
		}},
		{chat.Frozen, []string{
			"message can't be edited",
			"message_edit_time_expired",
			"message can't be deleted",
			"message_delete_forbidden",
		}},
		{chat.TooLong, []string{
			"message is too long",
			"message_too_long",
			"text is too long",
			"caption is too long",
			"media_caption_too_long",
		}},
		{chat.Forbidden, []string{
			"chat not found",
			"peer_id_invalid",
			"not enough rights",
			"have no rights",
			"need administrator rights",
			"chat_write_forbidden",
			"chat_admin_required",
			"chat_restricted",
			"chat_send_plain_forbidden",
			"channel_private",
			"user_is_blocked",
			"input_user_deactivated",
			"user is deactivated",
			"bot is not a member",
			"group chat was deactivated",
			"topic_closed",
			"topic_deleted",
			"message thread not found",
		}},
	}
}

// says reports whether the API refused a call with this text.
func says(err error, text string) bool {
	return strings.Contains(strings.ToLower(calls.Code(err)), text)
}
