package discord

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// defaultRetryAfter is the wait after a 429 response that lacks retry_after. Discord always sends retry_after. A proxy
// in front of Discord may omit retry_after, and a proxy that omits retry_after blocks calls for longer than Discord
// does.
const defaultRetryAfter = time.Minute

// These constants are Discord's error codes that discordgo does not define.
// https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
const (
	codeBlockedByAutoMod   = 200000
	codeTitleByAutoMod     = 200001
	codeHarmfulLink        = 240000
	codeServiceRateLimited = 40062
	// A proxy in front of Discord sends codeBlockedByProxy with status 403 when the proxy blocks a call.
	// https://github.com/discord/discord-api-docs/issues/6473
	codeBlockedByProxy = 40333
)

// apiError is the body of the response to a failed call. https://docs.discord.com/developers/reference#error-messages
type apiError struct {
	Code       int             `json:"code"` // 0: none
	Message    string          `json:"message"`
	Errors     json.RawMessage `json:"errors"`
	RetryAfter float64         `json:"retry_after"` // seconds
	Global     bool            `json:"global"`
}

// callError converts the response of a failed call to an error.
func (b *Bot) callError(r request, o calls.Outcome) error {
	var p apiError
	ours := json.Unmarshal(o.Body, &p) == nil && p.Message != ""
	if !ours { // the response is an error page of a proxy
		p = apiError{}
	}
	failure := &chat.SendError{Kind: kindOf(o.Status, p, ours, r.token != "")}
	if failure.Kind == chat.RateLimited {
		failure.RetryAfter = calls.RetryAfter(p.RetryAfter, o.Header, defaultRetryAfter)
		failure.Scope, failure.Ops = b.rateLimitScope(r, o.Header, p, ours)
	}
	if ours && o.Status == http.StatusTooManyRequests {
		failure.RateLimits = b.buckets.rateLimitInfo(r, o.Header)
	}
	// Only the message of Discord's error becomes part of the returned error. The error's list of invalid fields may quote
	// the text that was sent, which must not appear in logs.
	code, words := "", p.Message
	if p.Code != 0 {
		code = strconv.Itoa(p.Code)
		words = "code " + code + ": " + words
	}
	failure.Err = b.secrets.With(r.token).RefusedError(r.name, o, code, words)
	return failure
}

// rateLimitScope returns which calls a 429 blocks. Usually a 429 blocks all kinds of calls that are known to use the
// bucket named in the response's header. A 429 from a proxy in front of Discord blocks all calls, because the proxy
// counts calls by IP address. https://docs.discord.com/developers/topics/rate-limits#header-format
func (b *Bot) rateLimitScope(r request, h http.Header, p apiError, ours bool) (chat.Scope, chat.Op) {
	op := r.op
	if op == 0 { // r is an auxiliary call, such as the call that creates a thread
		op = chat.OpSend | chat.OpFile
	}
	switch name := h.Get("X-RateLimit-Bucket"); {
	case !ours, p.Global, h.Get("X-RateLimit-Global") != "", h.Get("X-RateLimit-Scope") == "global":
		return chat.ScopeEndpoint, chat.OpAll
	case r.token != "" && r.op == chat.OpEdit:
		return chat.ScopeMessage, op // each interaction has its own bucket
	case r.token == "" && r.op != 0 && name != "":
		return chat.ScopeThread, b.buckets.recordBucket(r.op, name)
	}
	return chat.ScopeThread, op
}

// kindOf returns the kind of error for a failed call. The parameter ours says that the response is from Discord, not
// from a proxy. The parameter byToken says that the call used an interaction's token. If Discord refuses a call with an
// interaction's token, the bot's own token may still be valid.
func kindOf(status int, p apiError, ours, byToken bool) chat.ErrorKind {
	switch {
	case p.Code == discordgo.ErrCodeMaximumNumberOfEditsToMessagesOlderThanOneHourReached:
		// Discord has an undocumented limit for edits of old messages, which blocks further edits for hours. Because Discord
		// blocks edits of the old message, the gateway must replace the message with a new message.
		// https://github.com/discord/discord-api-docs/issues/4413
		return chat.Frozen
	case status == http.StatusTooManyRequests:
		return chat.RateLimited
	case status == http.StatusRequestEntityTooLarge: // proxies send status 413 too, with other bodies
		return chat.TooLong
	case !ours && status >= http.StatusInternalServerError:
		return chat.Uncertain
	case !ours:
		return chat.Temporary // a proxy blocked the call, but only for a while
	}
	if kind, ok := kindOfCode(p); ok {
		return kind
	}
	switch {
	case status >= http.StatusInternalServerError:
		return chat.Uncertain
	case byToken && (status == http.StatusUnauthorized || status == http.StatusNotFound):
		return chat.Gone
	case status == http.StatusUnauthorized:
		return chat.Auth
	case status == http.StatusForbidden:
		return chat.Forbidden
	case status == http.StatusNotFound, status < http.StatusBadRequest:
		// The call had no effect, because the configured URL does not lead to the API. The error is Temporary, because an
		// operator may correct the URL.
		return chat.Temporary
	}
	return chat.Rejected
}

// kindOfCode derives the kind of error from Discord's error code. kindOfCode returns false if the error code says no
// more than the HTTP status does. https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
func kindOfCode(p apiError) (chat.ErrorKind, bool) {
	switch p.Code {
	case discordgo.ErrCodeUnknownMessage, discordgo.ErrCodeCannotEditFromAnotherUser,
		discordgo.ErrCodeUnknownWebhook, discordgo.ErrCodeUnknownInteraction, discordgo.ErrCodeInvalidWebhookTokenProvided:
		return chat.Gone, true
	case discordgo.ErrCodeRequestEntityTooLarge, discordgo.ErrCodeFileUploadedExceedsTheMaximumSize:
		return chat.TooLong, true
	case discordgo.ErrCodeInvalidFormBody:
		if tooLong(p.Errors) {
			return chat.TooLong, true
		}
		return chat.Rejected, true
	case discordgo.ErrCodeAPIResourceIsCurrentlyOverloaded, discordgo.ErrCodeSendMessagesHasBeenTemporarilyDisabled,
		discordgo.ErrCodeFeatureTemporarilyDisabledServerSide, codeBlockedByProxy:
		return chat.Temporary, true
	case codeServiceRateLimited:
		return chat.RateLimited, true
	case discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeUnknownGuild, discordgo.ErrCodePerformedOperationOnArchivedThread, discordgo.ErrCodeThreadIsLocked,
		discordgo.ErrCodeCannotExecuteActionOnThisChannelType, discordgo.ErrCodeCannotSendMessagesInVoiceChannel,
		discordgo.ErrCodeCannotExecuteActionOnDMChannel, discordgo.ErrCodeCannotReplyWithoutPermissionToReadMessageHistory,
		discordgo.ErrCodeMissingAccess, discordgo.ErrCodeMissingPermissions, discordgo.ErrCodeCannotSendMessagesToThisUser:
		return chat.Forbidden, true
	case discordgo.ErrCodeExplicitContentCannotBeSentToTheDesiredRecipients,
		codeBlockedByAutoMod, codeTitleByAutoMod, codeHarmfulLink:
		return chat.Rejected, true
	}
	return 0, false
}

// tooLong reports whether Discord refused the content of a message because of its length.
func tooLong(errs json.RawMessage) bool {
	var fields struct {
		Content struct {
			Errors []struct {
				Code string `json:"code"`
			} `json:"_errors"`
		} `json:"content"`
	}
	if err := json.Unmarshal(errs, &fields); err != nil {
		return false
	}
	for _, e := range fields.Content.Errors {
		if e.Code == "BASE_TYPE_MAX_LENGTH" || e.Code == "BASE_TYPE_BAD_LENGTH" {
			return true
		}
	}
	return false
}

// isDeadToken reports whether a call with an interaction's token failed because the token is invalid, or because the
// interaction was never acknowledged. If isDeadToken returns true, the bot can repeat the call with the bot's own
// token. If the call failed because the message was deleted, isDeadToken returns false.
func isDeadToken(err error) bool {
	switch codeOf(err) {
	case discordgo.ErrCodeUnknownMessage:
		return false
	case discordgo.ErrCodeUnknownWebhook, discordgo.ErrCodeUnknownInteraction, discordgo.ErrCodeInvalidWebhookTokenProvided:
		return true
	}
	return chat.AsSendError(err).Kind == chat.Gone
}
