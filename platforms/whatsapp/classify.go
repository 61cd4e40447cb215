package whatsapp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// These constants are the times to wait after a rate-limit error that does not say how long to wait. Meta documents
// only that the wait is 4 to the power of the number of failures.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/about-the-platform#pair-rate-limits
const (
	pairRetryAfter       = 2 * pairInterval
	fetchRetryAfter      = pairRetryAfter
	throughputRetryAfter = 4 * time.Second
	accountRetryAfter    = 5 * time.Minute // after limits on calls per hour, or limits that depend on the number's quality
)

// These are the error codes of the Graph API that the package handles in more than one place.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
const (
	codeInvalid    = 100
	codeThroughput = 130429
	codeSpam       = 131048
	codePair       = 131056
	codeWindow     = 131047

	// subcodeMissing means that an object does not exist, or that the token gives no access to the object.
	subcodeMissing = 33
)

// codeOf returns the code of an error as text for logs, or "" if e is nil.
func codeOf(e *graphError) string {
	if e == nil {
		return ""
	}
	return strconv.Itoa(e.Code)
}

// classify returns the error for a refused call. The error's kind says whether the call may be repeated. The parameter
// e is nil if the response does not come from the Graph API.
func classify(op operation, o calls.Outcome, e *graphError) *chat.SendError {
	if e == nil {
		return classifyUnknown(o)
	}
	limited := func(scope chat.Scope, standard time.Duration) *chat.SendError {
		return &chat.SendError{Kind: chat.RateLimited, Scope: scope, Ops: limitedOps(op), RetryAfter: calls.RetryAfter(accountRetrySeconds(o.Header), o.Header, standard)}
	}
	switch e.Code {
	case codePair:
		return limited(chat.ScopeChat, pairRetryAfter)
	case codeThroughput:
		return limited(chat.ScopeEndpoint, throughputRetryAfter)
	case 4, 17, 32, 613, 80007, codeSpam, 133016:
		return limited(chat.ScopeEndpoint, accountRetryAfter)
	}
	if o.Status == http.StatusTooManyRequests {
		return limited(chat.ScopeEndpoint, throughputRetryAfter)
	}
	return &chat.SendError{Kind: kindOf(e, o.Status)}
}

// limitedOps returns the kinds of calls that must wait after Meta has refused an operation because of a rate limit.
func limitedOps(op operation) chat.Op {
	switch op {
	case opTyping:
		return chat.OpTyping
	case opUpload:
		return chat.OpFile
	}
	return chat.OpSend | chat.OpFile
}

// classifyUnknown classifies a response that does not come from the Graph API, but for example from a proxy.
func classifyUnknown(o calls.Outcome) *chat.SendError {
	switch {
	case o.Status == http.StatusTooManyRequests:
		return &chat.SendError{Kind: chat.RateLimited, Scope: chat.ScopeEndpoint, RetryAfter: calls.RetryAfter(0, o.Header, throughputRetryAfter)}
	case o.Status == http.StatusRequestEntityTooLarge:
		return &chat.SendError{Kind: chat.TooLong}
	case o.Status >= 300 && o.Status < http.StatusInternalServerError:
		return &chat.SendError{Kind: chat.Temporary} // the URL is wrong, or a proxy blocked the call: the operator can fix both
	}
	return &chat.SendError{Kind: chat.Uncertain}
}

// kindOf returns the kind of an error that does not report a rate limit. For an error code that is not in its list,
// kindOf returns Rejected, because Meta probably refused the content. If the code is not in the list and the HTTP
// status says that Meta's server failed, kindOf returns Uncertain.
func kindOf(e *graphError, status int) chat.ErrorKind {
	switch e.Code {
	case 0, 3, 10, 102, 104, 190, 131005, 131045, 133010:
		return chat.Auth // something is wrong with the token, its permissions, or the registration of the number
	case codeInvalid:
		if e.Subcode == subcodeMissing {
			return chat.Auth // the configured phone number id is wrong; fetchError handles missing files
		}
	case 33:
		return chat.Auth // the phone number was deleted
	case codeWindow, // the person's last message is older than 24 hours
		131026, 131021, 131030, 131049, 131050, 131062, 130472, 130497, // the bot can't reach this person
		368, 131031, 131037, 131042: // the account is restricted, or its payment is missing
		return chat.Forbidden
	case 1, 2, 131000, 131016, 131057:
		return chat.Uncertain // Meta's server failed, perhaps after it had sent the message
	}
	switch {
	case e.Code >= 200 && e.Code <= 299:
		return chat.Auth // the token lacks a permission
	case status >= http.StatusInternalServerError:
		return chat.Uncertain
	case strings.Contains(e.description(), "characters long"), strings.Contains(e.description(), "too long"):
		return chat.TooLong
	}
	return chat.Rejected
}

// accountRetrySeconds returns after how many seconds the account may make calls again, according to a response header
// of the Graph API. If the response lacks this header, accountRetrySeconds returns 0.
// https://developers.facebook.com/docs/graph-api/overview/rate-limiting#headers-2
func accountRetrySeconds(h http.Header) float64 {
	var usage map[string][]struct {
		Minutes float64 `json:"estimated_time_to_regain_access"`
	}
	if json.Unmarshal([]byte(h.Get("X-Business-Use-Case-Usage")), &usage) != nil {
		return 0
	}
	longest := 0.0
	for _, list := range usage {
		for _, u := range list {
			longest = max(longest, u.Minutes*60)
		}
	}
	return longest
}
