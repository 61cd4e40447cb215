package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	library "github.com/slack-go/slack"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// answer is what every answer of the Web API has, and the few results that the package needs.
// https://docs.slack.dev/apis/web-api/#responses
type answer struct {
	OK     bool                               `json:"ok"`
	Error  string                             `json:"error"`
	Needed string                             `json:"needed"`            // missing_scope: the scope
	TS     string                             `json:"ts"`                // of a message that was made or changed
	Beside optional[library.ResponseMetadata] `json:"response_metadata"` // what is wrong with the arguments; the next page

	body []byte // the whole answer
}

// optional is a part of an answer that is ignored if it has another form than T: all else is as true without it.
type optional[T any] struct{ value T }

// UnmarshalJSON implements json.Unmarshaler.
func (o *optional[T]) UnmarshalJSON(data []byte) error {
	var value T
	if json.Unmarshal(data, &value) == nil {
		o.value = value
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

// outcomeKey is the key of a call's outcome in the context of its request. The library passes on the context, and nothing else
// that identifies the call.
type outcomeKey struct{}

// roundTrip sends a request of the library and keeps its outcome.
func (b *Bot) roundTrip(req *http.Request) (*http.Response, error) {
	o := calls.Do(b.client, req)
	if kept, ok := req.Context().Value(outcomeKey{}).(*calls.Outcome); ok {
		*kept = o
	}
	return o.Response()
}

// call runs one method of the Web API: run makes the request through the library, with the context that it is given. The
// result is read from the answer, never from the library's error. A failure is a *chat.SendError. It blocks until the answer
// is there or ctx ends.
func (b *Bot) call(ctx context.Context, method string, run func(ctx context.Context, api *library.Client) error) (*answer, error) {
	var o calls.Outcome
	err := run(context.WithValue(ctx, outcomeKey{}, &o), b.api)
	if o.Err != nil {
		return nil, o.Unanswered(method, b.secrets)
	}
	if o.Status == 0 { // no request was made
		return nil, &chat.SendError{Kind: chat.Rejected, Err: b.secrets.Error(method, err)}
	}
	var a answer
	known := json.Unmarshal(o.Body, &a) == nil && (a.OK || a.Error != "")
	if a.body = o.Body; known && a.OK && o.Status == http.StatusOK {
		return &a, nil
	}
	failure := classify(method, o, &a, known)
	failure.Err = b.secrets.Refused(method, o, a.Error, a.describe())
	return nil, failure
}

// describe returns the platform's words for a failure; empty: it has none.
func (a *answer) describe() string {
	if a.Error == "" {
		return ""
	}
	words := []string{a.Error}
	if a.Needed != "" {
		words = append(words, "the app lacks the scope "+a.Needed+": add it under OAuth & Permissions, and reinstall the app")
	}
	return strings.Join(append(words, a.Beside.value.Messages...), ": ")
}
