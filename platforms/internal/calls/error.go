package calls

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Error is the cause of a failed call, which the call's SendError wraps. The text of an Error contains no secrets. In
// the chain of the original error, an Error wraps the first error whose text contains no secrets.
type Error struct {
	text   string
	cause  error
	status int
	code   string
}

// Error returns the name of the operation and the reason of the failure.
func (e *Error) Error() string { return e.text }

// Unwrap returns the error that caused the failure, so that errors.Is finds errors such as context.Canceled.
func (e *Error) Unwrap() error { return e.cause }

// Status returns the HTTP status that the error err contains, or 0 if err contains no status.
func Status(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.status
	}
	return 0
}

// Code returns the platform's error code that the error err contains, or "" if err contains no code.
func Code(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.code
	}
	return ""
}

// Secrets are texts that no error and no log may contain.
type Secrets []string

// With returns the secrets in s and one more secret. If the additional secret is empty, With returns s.
func (s Secrets) With(secret string) Secrets {
	if secret == "" {
		return s
	}
	return append(slices.Clip(s), secret)
}

// Redact replaces each secret in a text with a placeholder, even if the secret is escaped as in a URL.
func (s Secrets) Redact(text string) string {
	for _, secret := range s {
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			text = strings.ReplaceAll(text, form, "<token>")
		}
	}
	return text
}

// Error returns an error for a call that got no complete response. The error's text never contains the URL, which may
// be secret.
func (s Secrets) Error(operation string, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	e := &Error{text: operation + ": " + s.Redact(err.Error()), cause: err}
	for e.cause != nil && s.Redact(e.cause.Error()) != e.cause.Error() {
		e.cause = errors.Unwrap(e.cause)
	}
	return e
}

// maxQuote is the maximum length of the text that an error quotes from a response.
const maxQuote = 300 // bytes

// RefusedError returns an error for a call whose response reports a failure. The parameter words is the platform's
// description of the failure. The parameter code is the platform's error code, which may be empty. If words is empty,
// the response is not from the platform but, for example, from a proxy.
func (s Secrets) RefusedError(operation string, o Outcome, code, words string) error {
	if words == "" {
		words = "unexpected response, not from the API"
	}
	if len(words) > maxQuote {
		words = strings.ToValidUTF8(words[:maxQuote], "") + "…"
	}
	text := fmt.Sprintf("%s: %s (HTTP %d)", operation, s.Redact(words), o.Status)
	return &Error{text: text, status: o.Status, code: code}
}
