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

// response holds the fields that all responses of Slack's Web API have in common, and the few results that the
// package uses.
// https://docs.slack.dev/apis/web-api/#responses
type response struct {
	OK       bool                              `json:"ok"`
	Error    string                            `json:"error"`
	Needed   string                            `json:"needed"`            // the missing scope, if Error is missing_scope
	TS       string                            `json:"ts"`                // id of the created or changed message
	Metadata lenient[library.ResponseMetadata] `json:"response_metadata"` // the cursor of the next page, and details about invalid arguments

	body []byte // the whole response
}

// lenient decodes a part of a response. If a part of a response can't be decoded as a T, lenient ignores this part, so
// that decoding the whole response does not fail.
type lenient[T any] struct{ value T }

// UnmarshalJSON implements json.Unmarshaler. UnmarshalJSON never fails.
func (o *lenient[T]) UnmarshalJSON(data []byte) error {
	var value T
	if json.Unmarshal(data, &value) == nil {
		o.value = value
	}
	return nil
}

// decode decodes the response into v.
func (a *response) decode(method string, v any) error {
	if err := json.Unmarshal(a.body, v); err != nil {
		return &chat.SendError{Kind: chat.Temporary, Err: fmt.Errorf("%s: unexpected response", method)}
	}
	return nil
}

// outcomeKey is the context key for the outcome of a call. The library slack-go passes the context of a call on to the
// call's HTTP requests. Only the context tells roundTrip to which call a request belongs.
type outcomeKey struct{}

// roundTrip sends a request of the library slack-go and records the outcome of the request.
func (b *Bot) roundTrip(req *http.Request) (*http.Response, error) {
	o := calls.Do(b.client, req)
	if kept, ok := req.Context().Value(outcomeKey{}).(*calls.Outcome); ok {
		*kept = o
	}
	return o.Response()
}

// call runs one method of the Web API. The function run must make the request with the library, and must pass on the
// context that it receives. If there is a response, call decodes the response itself and ignores the error that run
// returns. All errors of call are of type *chat.SendError. call blocks until the response arrives or ctx ends.
func (b *Bot) call(ctx context.Context, method string, run func(ctx context.Context, api *library.Client) error) (*response, error) {
	var o calls.Outcome
	err := run(context.WithValue(ctx, outcomeKey{}, &o), b.api)
	if o.Err != nil {
		return nil, o.UnansweredError(method, b.secrets)
	}
	if o.Status == 0 { // the function run made no request
		return nil, &chat.SendError{Kind: chat.Rejected, Err: b.secrets.Error(method, err)}
	}
	var a response
	known := json.Unmarshal(o.Body, &a) == nil && (a.OK || a.Error != "")
	if a.body = o.Body; known && a.OK && o.Status == http.StatusOK {
		return &a, nil
	}
	failure := classify(method, o, &a, known)
	failure.Err = b.secrets.RefusedError(method, o, a.Error, a.describe())
	return nil, failure
}

// describe returns Slack's description of a failure, or "" if the response contains no description.
func (a *response) describe() string {
	if a.Error == "" {
		return ""
	}
	words := []string{a.Error}
	if a.Needed != "" {
		words = append(words, "the app lacks the scope "+a.Needed+": add it under OAuth & Permissions, and reinstall the app")
	}
	return strings.Join(append(words, a.Metadata.value.Messages...), ": ")
}
