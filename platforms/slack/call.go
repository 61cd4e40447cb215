package slack

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

	library "github.com/slack-go/slack"

	"telex/internal/chat"
)

// maxAnswer bounds what is read of one answer: a page of long messages stays far below.
const maxAnswer = 16 << 20 // bytes

// errAnswerTooLarge is the cause when an answer exceeds maxAnswer.
var errAnswerTooLarge = errors.New("the answer is larger than 16 MiB")

// answer is what every answer of the Web API has, and the few results that the package needs.
// https://docs.slack.dev/apis/web-api/#responses
type answer struct {
	OK       bool    `json:"ok"`
	Error    string  `json:"error"`
	Needed   string  `json:"needed"` // missing_scope: the scope
	TS       string  `json:"ts"`     // of a message that was made or changed
	Metadata remarks `json:"response_metadata"`

	body []byte // the whole answer
}

// remarks are what an answer says beside its result.
type remarks struct {
	Messages []string `json:"messages"` // what is wrong with the arguments
	Cursor   string   `json:"next_cursor"`
}

// UnmarshalJSON takes what has another form for nothing: the call succeeded or failed all the same.
func (r *remarks) UnmarshalJSON(data []byte) error {
	type plain remarks
	var p plain
	if json.Unmarshal(data, &p) == nil {
		*r = remarks(p)
	}
	return nil
}

// decode reads a result into v.
func (a *answer) decode(method string, v any) error {
	if err := json.Unmarshal(a.body, v); err != nil {
		return &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("%s: the answer has another form than documented", method)}
	}
	return nil
}

// call runs one method of the Web API: run builds the request with a client of the library that is
// made for this call alone. What came of it is read from the answer, never from what the library
// makes of it. A failure is a *chat.SendError. It blocks until the answer is there or ctx ends.
func (b *Bot) call(ctx context.Context, method string, run func(api *library.Client) error) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("%s: %w", method, err)}
	}
	x := &exchange{}
	err := run(library.New(b.opts.BotToken,
		library.OptionAppLevelToken(b.opts.AppToken),
		library.OptionAPIURL(b.base),
		library.OptionHTTPClient(doer(func(req *http.Request) (*http.Response, error) {
			resp, err := x.do(b.client, req)
			x.failed = err
			return resp, err
		}))))
	if x.failed == nil && x.status == 0 { // no request was made
		return nil, &chat.SendError{Kind: chat.Rejected, Err: b.problem(method, err, x)}
	}
	var a answer
	known := x.failed == nil && json.Unmarshal(x.body, &a) == nil && (a.OK || a.Error != "")
	if a.body = x.body; known && a.OK && x.status == http.StatusOK {
		return &a, nil
	}
	failure := classify(method, x, &a, known)
	failure.Err = b.problem(method, x.failed, x, a.describe()...)
	return nil, failure
}

// describe returns the platform's words for a failure.
func (a *answer) describe() []string {
	if a.Error == "" {
		return nil
	}
	words := []string{a.Error}
	if a.Needed != "" {
		words = append(words, "the app lacks the scope "+a.Needed+": add it under OAuth & Permissions, and reinstall the app")
	}
	return append(words, a.Metadata.Messages...)
}

// doer is an HTTP client that is a function, as the library wants one.
type doer func(*http.Request) (*http.Response, error)

// Do calls d.
func (d doer) Do(req *http.Request) (*http.Response, error) { return d(req) }

// exchange keeps of exactly one call what the library hides.
type exchange struct {
	status     int    // 0: no answer
	retryAfter string // the header of that name
	body       []byte
	unsent     bool  // the request surely never left
	failed     error // why there is no whole answer
}

// do sends the request and reads the whole answer, so that a connection that breaks in the middle
// of it is seen here and not as malformed JSON.
func (x *exchange) do(client *http.Client, req *http.Request) (*http.Response, error) {
	// The transport tries a second connection only when nothing was written to the first, so the
	// last event of each kind tells.
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
	x.unsent, x.status, x.retryAfter = false, resp.StatusCode, resp.Header.Get("Retry-After")
	if x.body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1)); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(x.body) > maxAnswer {
		return nil, errAnswerTooLarge
	}
	resp.Body = io.NopCloser(bytes.NewReader(x.body))
	return resp, nil
}

// callError is the cause inside every SendError: text without secrets, and the error below where its
// own text is free of them too.
type callError struct {
	text  string
	cause error
	code  string // the platform's word for it; empty: it has none
}

// Error returns the method and what went wrong.
func (e *callError) Error() string { return e.text }

// Unwrap returns the cause, for errors.Is on the context's errors.
func (e *callError) Unwrap() error { return e.cause }

// codeOf returns the platform's word for the failure err is about, empty without one.
func codeOf(err error) string {
	if e, ok := errors.AsType[*callError](err); ok {
		return e.code
	}
	return ""
}

// maxWords bounds what is quoted of an answer.
const maxWords = 300 // bytes

// problem says what went wrong with a call: by the platform's own words where there are any, else
// by err, which is quoted without its address: those of uploads and sockets are secrets.
func (b *Bot) problem(method string, err error, x *exchange, words ...string) error {
	e := &callError{}
	switch {
	case len(words) > 0:
		e.code, e.text = words[0], strings.Join(words, ": ")
		if len(e.text) > maxWords {
			e.text = strings.ToValidUTF8(e.text[:maxWords], "") + "…"
		}
	case err != nil:
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		e.text, e.cause = err.Error(), err
	default:
		e.text = fmt.Sprintf("the answer is not Slack's (HTTP %d)", x.status)
	}
	e.text = method + ": " + b.secrets.Replace(e.text)
	for e.cause != nil && b.secrets.Replace(e.cause.Error()) != e.cause.Error() {
		e.cause = errors.Unwrap(e.cause)
	}
	return e
}
