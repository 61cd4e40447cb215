package slack

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// defaultRetryAfter is the wait after a response that reports a rate limit but lacks the header Retry-After.
// defaultRetryAfter is half of the minute over which Slack counts calls.
const defaultRetryAfter = 30 * time.Second

const methodPost = "chat.postMessage"

// rateLimitScope returns which calls Slack blocks after it has refused a call of a method with 429. If the method is
// chat.postMessage, Slack blocks only posts in the same channel. For any other method, Slack blocks all calls of the
// method in the workspace. For auxiliary methods, see [notStarted]. https://docs.slack.dev/apis/web-api/rate-limits
func rateLimitScope(method string) (chat.Scope, chat.Op) {
	switch method {
	case methodPost:
		return chat.ScopeChat, chat.OpSend
	case methodHistory, methodReplies:
		return chat.ScopeEndpoint, chat.OpFind
	case methodUploadURL, methodUpload, methodComplete:
		return chat.ScopeEndpoint, chat.OpFile
	}
	ops := map[string]chat.Op{
		methodUpdate: chat.OpEdit, methodDelete: chat.OpDelete, methodDrop: chat.OpDelete, methodStart: chat.OpStart,
		methodAppend: chat.OpAppend, methodStop: chat.OpStop, methodStatus: chat.OpTyping,
		methodPrompts: chat.OpPane, methodTitle: chat.OpPane,
	}
	return chat.ScopeEndpoint, cmp.Or(ops[method], chat.OpAll)
}

// classify returns the error for a refused call. The error's kind tells the gateway how it may continue. The parameter
// known says that the response is from Slack's API and not, for example, from a proxy.
func classify(method string, o calls.Outcome, a *response, known bool) *chat.SendError {
	switch {
	case o.Status == http.StatusTooManyRequests, known && slices.Contains([]string{"ratelimited", "rate_limited"}, a.Error):
		scope, ops := rateLimitScope(method)
		return &chat.SendError{Kind: chat.RateLimited, RetryAfter: calls.RetryAfter(0, o.Header, defaultRetryAfter), Scope: scope, Ops: ops}
	case known:
		return &chat.SendError{Kind: kindOf(method, a)}
	case o.Status == http.StatusRequestEntityTooLarge: // only a proxy sends status 413
		return &chat.SendError{Kind: chat.TooLong}
	case o.Status >= 300 && o.Status < http.StatusInternalServerError:
		// A proxy blocked the call, or the URL is wrong. The error is Temporary, because an operator can fix the
		// proxy or the URL without a restart of telex.
		return &chat.SendError{Kind: chat.Temporary}
	}
	return &chat.SendError{Kind: chat.Uncertain}
}

// kindOf derives the kind of error from the error name in a response of the API, as listed on the pages of the
// methods:
// https://docs.slack.dev/reference/methods/chat.postMessage#errors and so on. An error that kindOf does not list
// becomes Rejected, because its cause is probably the content of the message.
//
// The error for a deleted thread is Forbidden, because the bot can't write in the thread, although the bot may be able
// to write in the channel. The error for an edit of a message that is still a stream is Temporary; see [Bot.Edit].
func kindOf(method string, a *response) chat.ErrorKind {
	switch a.Error {
	case "missing_scope", "not_allowed_token_type":
		// The error is Auth if the app lacks a scope that it needs for writing or receiving. Without a scope for writing or
		// receiving, the bot can do nothing until the operator adds the scope. The scopes that are not needed for writing or
		// receiving are optional.
		if strings.HasPrefix(method, "chat.") || method == methodOpen || method == methodSelf {
			return chat.Auth
		}
	case "invalid_blocks":
		if strings.Contains(strings.Join(a.Metadata.value.Messages, "\n"), "must be less than") { // the text of one of the message's blocks is too long
			return chat.TooLong
		}
	case "message_not_found":
		return chat.Gone
	case "cant_update_message", "edit_window_closed", "cant_delete_message", "compliance_exports_prevent_deletion",
		"message_not_owned_by_app", "block_mismatch":
		return chat.Frozen
	case "msg_too_long", "msg_blocks_too_long", "markdown_text_too_long", "message_too_long":
		return chat.TooLong
	case "channel_not_found", "not_in_channel", "is_archived", "is_inactive", "thread_not_found", "invalid_thread_ts",
		"cannot_reply_to_message", "user_not_found", "user_disabled", "users_not_found", "access_denied", "accesslimited",
		"team_access_not_granted", "team_not_found", "no_permission", "ekm_access_denied", "messages_tab_disabled", "cannot_dm_bot",
		"posting_to_channel_denied", "channel_is_archived", "as_user_not_supported", "mpim_not_supported":
		return chat.Forbidden
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "org_login_required",
		"two_factor_setup_required", "enterprise_is_restricted":
		return chat.Auth
	case "internal_error", "fatal_error", "service_unavailable", "operation_timeout":
		return chat.Uncertain
	case "request_timeout", "team_added_to_org", "socket_mode_disabled", "streaming_state_conflict", "update_failed":
		return chat.Temporary
	}
	if strings.HasPrefix(a.Error, "restricted_action") {
		return chat.Forbidden
	}
	return chat.Rejected
}
