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

// defaultRetryAfter is the wait after a 429 response that lacks retry_after. The waits that Telegram asks for are 18 to
// 35 seconds in groups and a few seconds in private chats. If the bot repeats a call before the wait is over, Telegram
// lengthens the wait.
const defaultRetryAfter = 10 * time.Second

// classify returns the error for a refused call. The error's kind tells the gateway how it may continue. The parameter
// api is the API's refusal, or nil if the response is not from the API.
func classify(api *tgbotapi.Error, o calls.Outcome) *chat.SendError {
	switch {
	case o.Status == http.StatusTooManyRequests || (api != nil && api.Code == http.StatusTooManyRequests):
		seconds := 0
		if api != nil {
			seconds = api.RetryAfter
		}
		return &chat.SendError{Kind: chat.RateLimited, RetryAfter: calls.RetryAfter(float64(seconds), o.Header, defaultRetryAfter)}
	case o.Status == http.StatusRequestEntityTooLarge: // proxies also send status 413, with other texts
		return &chat.SendError{Kind: chat.TooLong}
	case api == nil:
		return &chat.SendError{Kind: chat.Uncertain}
	case api.MigrateToChatID != 0:
		return &chat.SendError{Kind: chat.Moved, Moved: chatID(api.MigrateToChatID)}
	}
	return &chat.SendError{Kind: kindOf(cmp.Or(api.Code, o.Status), strings.ToLower(api.Message))}
}

// kindOf classifies a response of the API by its code and its description in lower case.
func kindOf(code int, description string) chat.ErrorKind {
	switch {
	case code == http.StatusUnauthorized:
		return chat.Auth
	case code == http.StatusNotFound:
		// The call had no effect: either the URL does not lead to the API, or the token is invalid. The error is not Auth,
		// which would stop the bot, because an operator may correct a wrong URL while telex runs.
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

// descriptionKind is a kind of error, together with the descriptions that Telegram uses for this kind.
type descriptionKind struct {
	kind  chat.ErrorKind
	texts []string
}

// knownDescriptions lists descriptions of responses with status 400, and the kind of error for each description. telex
// must compare descriptions, because Telegram sends no error codes besides the HTTP status. The Bot API server defines
// the descriptions in its file Client.cpp. Descriptions with underscores, such as message_id_invalid, are errors of
// Telegram's core API, which the Bot API server passes on.
// https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/Client.cpp
// https://core.telegram.org/api/errors
//
// The error for a closed or deleted topic is Forbidden: the bot can't write in that topic, although it may be able to
// write in other topics of the chat. For every description that knownDescriptions does not list, the kind of error is
// Rejected. One description that knownDescriptions does not list is TEXTDRAFT_PEER_INVALID, which Telegram sends for
// drafts in chats that don't support drafts.
func knownDescriptions() []descriptionKind {
	return []descriptionKind{
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

// hasDescription reports whether err is a refusal of the API whose description contains text. The parameter text must
// be in lower case.
func hasDescription(err error, text string) bool {
	return strings.Contains(strings.ToLower(calls.Code(err)), text)
}
