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

// defaultRetryAfter is the wait after a 429 without retry_after. Actual waits are 18 to 35 seconds in groups and a few
// seconds in private chats. Retrying too early lengthens the penalty.
const defaultRetryAfter = 10 * time.Second

// classify decides what may be done after a refused call. api is the API's refusal; it is nil if the response is not
// from the API.
func classify(api *tgbotapi.Error, o calls.Outcome) *chat.SendError {
	switch {
	case o.Status == http.StatusTooManyRequests || (api != nil && api.Code == http.StatusTooManyRequests):
		seconds := 0
		if api != nil {
			seconds = api.RetryAfter
		}
		return &chat.SendError{Kind: chat.RateLimited, RetryAfter: calls.RetryAfter(float64(seconds), o.Header, defaultRetryAfter)}
	case o.Status == http.StatusRequestEntityTooLarge: // also from proxies, with other texts
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
		// The call had no effect: either the URL does not lead to the API, or the token is invalid. A wrong URL may
		// be repaired while telex runs, so the error is not Auth, which would stop the bot.
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

// descriptionKind maps descriptions to a kind of error.
type descriptionKind struct {
	kind  chat.ErrorKind
	texts []string
}

// knownDescriptions lists the descriptions of a 400 whose cause is not the message's content. Besides the HTTP
// status, Telegram has no error codes. The texts come from
// https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/Client.cpp, which passes through the codes
// in capitals from https://core.telegram.org/api/errors.
//
// A closed or deleted topic counts as Forbidden: nothing can be written in that conversation, although other topics
// of the same chat may work. TEXTDRAFT_PEER_INVALID, for chats without drafts, is not listed, because it should be
// Rejected, the kind of every 400 that is not listed.
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

// hasDescription reports whether the API refused a call with this text.
func hasDescription(err error, text string) bool {
	return strings.Contains(strings.ToLower(calls.Code(err)), text)
}
