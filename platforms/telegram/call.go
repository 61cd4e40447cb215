package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/platforms/internal/calls"
)

// call calls one method of the API and returns the method's result. All errors of call are of type *chat.SendError.
// call blocks until the response arrives or ctx ends.
func (b *Bot) call(ctx context.Context, method string, params tgbotapi.Params) (json.RawMessage, error) {
	return b.callWithForm(ctx, method, params, nil)
}

// callWithForm is like call, but if f is not nil, the request contains the form f instead of params.
func (b *Bot) callWithForm(ctx context.Context, method string, params tgbotapi.Params, f *calls.Form) (json.RawMessage, error) {
	var o calls.Outcome
	api := b.api
	api.Client = calls.Doer(func(req *http.Request) (*http.Response, error) {
		if req = req.WithContext(ctx); f != nil {
			f.Fill(req)
		}
		o = calls.Do(b.client, req)
		return o.Response()
	})
	answer, err := api.MakeRequest(method, params)
	if err == nil {
		return answer.Result, nil
	}
	if o.Err != nil {
		return nil, o.UnansweredError(method, b.secrets)
	}
	refusal, ok := errors.AsType[*tgbotapi.Error](err)
	if !ok || (refusal.Code == 0 && refusal.Message == "") {
		refusal = nil // the response is not from the API: it is the page of a proxy, or incomplete
	}
	failure, description := classify(refusal, o), ""
	if refusal != nil {
		description = refusal.Message // also used as the error code, because the Bot API has only HTTP status codes
	}
	failure.Err = b.secrets.RefusedError(method, o, description, description)
	return nil, failure
}
