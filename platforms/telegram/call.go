package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
)

// maxAnswer bounds what is read of one answer. The largest real one, 100 updates of the
// longest text that each quote another, stays below.
const maxAnswer = 16 << 20 // bytes

// errAnswerTooLarge is the cause when an answer exceeds maxAnswer.
var errAnswerTooLarge = errors.New("the answer is larger than 16 MiB")

// call runs one method of the API and returns its result. A failure is a *chat.SendError.
// It blocks until the answer is there or ctx ends.
func (b *Bot) call(ctx context.Context, method string, params tgbotapi.Params) (json.RawMessage, error) {
	return b.exchange(ctx, method, params, nil)
}

// exchange is call with a form instead of params where there is one.
func (b *Bot) exchange(ctx context.Context, method string, params tgbotapi.Params, f *form) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("%s: %w", method, err)}
	}
	x := &exchange{}
	api := b.api
	api.Client = doer(func(req *http.Request) (*http.Response, error) {
		if req = req.WithContext(ctx); f != nil {
			f.fill(req)
		}
		resp, err := x.do(b.client, req)
		x.failed = err
		return resp, err
	})
	answer, err := api.MakeRequest(method, params)
	if err == nil {
		return answer.Result, nil
	}
	failure := classify(err, x)
	failure.Err = &callError{text: method + ": " + b.redact(describe(err, x)), cause: b.safeCause(err), status: x.status}
	return nil, failure
}

// doer is an HTTP client that is a function, as the library wants one.
type doer func(*http.Request) (*http.Response, error)

// Do calls d.
func (d doer) Do(req *http.Request) (*http.Response, error) { return d(req) }

// exchange keeps of exactly one call what the library hides.
type exchange struct {
	status     int    // 0: no answer
	retryAfter string // the header of that name
	unsent     bool   // the request surely never left
	failed     error  // why there is no whole answer
}

// do sends the request and reads the whole answer, so that a connection that breaks in the
// middle of it is seen here and not as malformed JSON.
func (x *exchange) do(client *http.Client, req *http.Request) (*http.Response, error) {
	// The transport tries a second connection only when nothing was written to the first, so
	// the last event of each kind tells.
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { x.unsent = true },
		GotConn: func(httptrace.GotConnInfo) { x.unsent = false },
	}
	resp, err := client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			x.unsent = true // for transports that do not trace
		}
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up.
	x.unsent = false
	x.status = resp.StatusCode
	x.retryAfter = resp.Header.Get("Retry-After")
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, errAnswerTooLarge
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// callError is the cause inside every SendError: text without secrets, and the error below
// where its own text is free of them too.
type callError struct {
	text   string
	cause  error
	status int // HTTP; 0: no answer
}

// Error returns the method and what went wrong.
func (e *callError) Error() string { return e.text }

// Unwrap returns the cause, for errors.Is on the context's errors.
func (e *callError) Unwrap() error { return e.cause }

// statusOf returns the HTTP status of the answer that err is about, 0 without one.
func statusOf(err error) int {
	if e, ok := errors.AsType[*callError](err); ok {
		return e.status
	}
	return 0
}

// maxDescription bounds what is quoted of an answer.
const maxDescription = 300 // bytes

// describe says what went wrong without the address, which contains the token.
func describe(err error, x *exchange) string {
	if x.failed != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			return ue.Err.Error()
		}
		return err.Error()
	}
	if api, ok := errors.AsType[*tgbotapi.Error](err); ok && api.Message != "" {
		text := api.Message
		if len(text) > maxDescription {
			text = strings.ToValidUTF8(text[:maxDescription], "") + "…"
		}
		return fmt.Sprintf("%s (HTTP %d)", text, x.status)
	}
	return fmt.Sprintf("the answer is not the Bot API's (HTTP %d)", x.status)
}

// redact removes the token, plain or escaped, from a text.
func (b *Bot) redact(text string) string {
	text = strings.ReplaceAll(text, b.token, "<token>")
	return strings.ReplaceAll(text, url.QueryEscape(b.token), "<token>")
}

// safeCause returns what may be shown of a chain of errors: what lies below those that quote
// the address.
func (b *Bot) safeCause(err error) error {
	for err != nil && b.redact(err.Error()) != err.Error() {
		err = errors.Unwrap(err)
	}
	return err
}
