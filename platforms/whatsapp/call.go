package whatsapp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"telex/internal/chat"
	"telex/platforms/internal/calls"
)

// graphError is an error that the Graph API reports, in the response to a call or in a webhook.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
type graphError struct {
	Code    int    `json:"code"`
	Subcode int    `json:"error_subcode"`
	Title   string `json:"title"` // only in webhooks
	Message string `json:"message"`
	Data    struct {
		Details string `json:"details"`
	} `json:"error_data"`
}

// description returns the text of the error, or "" if the error contains no text.
func (e graphError) description() string {
	text := e.Message
	if text == "" {
		text = e.Title
	}
	if e.Data.Details != "" {
		text += ": " + e.Data.Details
	}
	return text
}

// operation is the name of a call, as the call's errors contain it.
type operation string

const (
	opMessage operation = "send message"
	opTyping  operation = "show typing"
	opUpload  operation = "upload file"
	opAccount operation = "read phone number"
	opMedia   operation = "find attachment"
)

// post sends JSON to a path (an "edge" of the Graph API) below the phone number, and decodes the response into result.
// The errors of post are of type *chat.SendError.
func (b *Bot) post(ctx context.Context, op operation, edge string, body, result any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return &chat.SendError{Kind: chat.Rejected, Err: b.secrets.Error(string(op), err)}
	}
	return b.call(ctx, op, http.MethodPost, b.opts.PhoneNumberID+"/"+edge, result, func(req *http.Request) {
		// The HTTP transport calls GetBody if it must send the same request again on another connection.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		req.Body, _ = req.GetBody()
		req.ContentLength = int64(len(content))
		req.Header.Set("Content-Type", "application/json")
	})
}

// The method get reads an object (a "node") of the Graph API, and decodes the response into result.
func (b *Bot) get(ctx context.Context, op operation, node string, query url.Values, result any) error {
	return b.call(ctx, op, http.MethodGet, node+"?"+query.Encode(), result, func(*http.Request) {})
}

// call makes one call of the Graph API, and blocks until the response arrives or ctx ends.
func (b *Bot) call(ctx context.Context, op operation, method, path string, result any, fill func(*http.Request)) error {
	req, err := http.NewRequestWithContext(ctx, method, b.base+path, nil)
	if err != nil {
		return &chat.SendError{Kind: chat.Rejected, Err: b.secrets.Error(string(op), err)}
	}
	req.Header = b.header()
	fill(req)
	o := calls.Do(b.client, req)
	if o.Err != nil {
		return o.UnansweredError(string(op), b.secrets)
	}
	var answer struct {
		Error *graphError `json:"error"`
	}
	known := json.Unmarshal(o.Body, &answer) == nil
	if known && answer.Error == nil && o.Status == http.StatusOK && json.Unmarshal(o.Body, result) == nil {
		return nil
	}
	failure, words := classify(op, o, answer.Error), ""
	if answer.Error != nil {
		words = answer.Error.description()
	}
	failure.Err = b.secrets.RefusedError(string(op), o, codeOf(answer.Error), words)
	return failure
}

// header returns the headers of every request to Meta.
func (b *Bot) header() http.Header {
	return http.Header{"Authorization": {"Bearer " + b.opts.AccessToken}, "User-Agent": {"telex"}}
}
