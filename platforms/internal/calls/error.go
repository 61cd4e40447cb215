package calls

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Error is the cause inside a call's SendError: a text without secrets. It wraps the first error below whose text has no secrets
// either.
type Error struct {
	text   string
	cause  error
	status int
	code   string
}

// Error returns the operation and what went wrong.
func (e *Error) Error() string { return e.text }

// Unwrap returns the cause, for errors.Is on the context's errors.
func (e *Error) Unwrap() error { return e.cause }

// Status returns the HTTP status of the answer that err is about, 0 without one.
func Status(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.status
	}
	return 0
}

// Code returns the platform's own word for the failure that err is about, empty without one.
func Code(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.code
	}
	return ""
}

// Secrets are texts that no error and no log may contain.
type Secrets []string

// With returns the secrets and one more. Empty ones are left out.
func (s Secrets) With(secret string) Secrets {
	if secret == "" {
		return s
	}
	return append(slices.Clip(s), secret)
}

// Redact removes the secrets, plain or escaped, from a text.
func (s Secrets) Redact(text string) string {
	for _, secret := range s {
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
			text = strings.ReplaceAll(text, form, "<token>")
		}
	}
	return text
}

// Error describes a call that got no whole answer. It never quotes the address, which may be a secret itself.
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

// maxQuote bounds what is quoted of an answer.
const maxQuote = 300 // bytes

// RefusedError describes a call whose answer is a failure, by the platform's words and its code, which may be empty. An answer
// without words is not the platform's but that of a proxy, for example.
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
