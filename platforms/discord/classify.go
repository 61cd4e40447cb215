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

// defaultRetryAfter is the wait after a 429 that names none. Discord always names one; a proxy in front of it may not, and
// blocks for longer.
const defaultRetryAfter = time.Minute

// Codes that the library does not know.
// https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
const (
	codeBlockedByAutoMod   = 200000
	codeTitleByAutoMod     = 200001
	codeHarmfulLink        = 240000
	codeServiceRateLimited = 40062
	// A proxy in front of Discord answers so, with status 403, to calls that it blocks.
	// https://github.com/discord/discord-api-docs/issues/6473
	codeStopped = 40333
)

// problem is the body of a failed call's answer.
// https://docs.discord.com/developers/reference#error-messages
type problem struct {
	Code       int             `json:"code"` // 0: none
	Message    string          `json:"message"`
	Errors     json.RawMessage `json:"errors"`
	RetryAfter float64         `json:"retry_after"` // seconds
	Global     bool            `json:"global"`
}

// refused returns the failure of a call that was answered with no success.
func (b *Bot) refused(r request, o calls.Outcome) error {
	var p problem
	ours := json.Unmarshal(o.Body, &p) == nil && p.Message != ""
	if !ours { // a page of a proxy
		p = problem{}
	}
	failure := &chat.SendError{Kind: kindOf(o.Status, p, ours, r.token != "")}
	if failure.Kind == chat.RateLimited {
		failure.RetryAfter = calls.RetryAfter(p.RetryAfter, o.Header, defaultRetryAfter)
		failure.Scope, failure.Ops = b.closedBy(r, o.Header, p, ours)
	}
	if ours && o.Status == http.StatusTooManyRequests {
		failure.RateLimits = b.buckets.rateLimitInfo(r, o.Header)
	}
	// The message alone: the fields that were found wrong can repeat what was sent.
	code, words := "", p.Message
	if p.Code != 0 {
		code = strconv.Itoa(p.Code)
		words = "code " + code + ": " + words
	}
	failure.Err = b.secrets.With(r.token).Refused(r.name, o, code, words)
	return failure
}

// closedBy returns what a 429 closes: the bucket that it names, for the kinds of calls that are known to share it. A 429 of a
// proxy in front of Discord closes everything, because it counts by IP address.
// https://docs.discord.com/developers/topics/rate-limits#header-format
func (b *Bot) closedBy(r request, h http.Header, p problem, ours bool) (chat.Scope, chat.Op) {
	op := r.op
	if op == 0 { // a call that helps to send, such as opening a thread
		op = chat.OpSend | chat.OpFile
	}
	switch name := h.Get("X-RateLimit-Bucket"); {
	case !ours, p.Global, h.Get("X-RateLimit-Global") != "", h.Get("X-RateLimit-Scope") == "global":
		return chat.ScopeEndpoint, chat.OpAll
	case r.token != "" && r.op == chat.OpEdit:
		return chat.ScopeMessage, op // its bucket is the interaction's
	case r.token == "" && r.op != 0 && name != "":
		return chat.ScopeThread, b.buckets.sharing(r.op, name)
	}
	return chat.ScopeThread, op
}

// kindOf classifies a failed call. byToken: the call used an interaction's token, so that a refusal says nothing about the
// bot's own token.
func kindOf(status int, p problem, ours, byToken bool) chat.ErrorKind {
	switch {
	case p.Code == discordgo.ErrCodeMaximumNumberOfEditsToMessagesOlderThanOneHourReached:
		// The limit is a secret and hours long: another message takes this one's place.
		// https://github.com/discord/discord-api-docs/issues/4413
		return chat.Frozen
	case status == http.StatusTooManyRequests:
		return chat.RateLimited
	case status == http.StatusRequestEntityTooLarge: // a proxy says so too, in its own words
		return chat.TooLong
	case !ours && status >= http.StatusInternalServerError:
		return chat.Uncertain
	case !ours:
		return chat.Temporary // a proxy's: it let nothing through, and that does not last
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
		// Nothing was done: the address leads past the API, which a server that is put in its place mends.
		return chat.Temporary
	}
	return chat.Rejected
}

// kindOfCode classifies by the platform's own code, where that says more than the status.
// https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
func kindOfCode(p problem) (chat.ErrorKind, bool) {
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
		discordgo.ErrCodeFeatureTemporarilyDisabledServerSide, codeStopped:
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

// tooLong reports whether the content was refused for its length.
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

// deadToken reports whether a call by an interaction's token failed because the token is dead, or because the interaction was
// never acknowledged. The bot's own token is then left. A deleted message is no such failure.
func deadToken(err error) bool {
	switch codeOf(err) {
	case discordgo.ErrCodeUnknownMessage:
		return false
	case discordgo.ErrCodeUnknownWebhook, discordgo.ErrCodeUnknownInteraction, discordgo.ErrCodeInvalidWebhookTokenProvided:
		return true
	}
	return chat.AsSendError(err).Kind == chat.Gone
}
