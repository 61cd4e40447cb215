package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/platforms/internal/calls"
)

// call runs one method of the API and returns its result. A failure is a *chat.SendError.
// It blocks until the answer is there or ctx ends.
func (b *Bot) call(ctx context.Context, method string, params tgbotapi.Params) (json.RawMessage, error) {
	return b.exchange(ctx, method, params, nil)
}

// exchange is call with a form instead of params where there is one.
func (b *Bot) exchange(ctx context.Context, method string, params tgbotapi.Params, f *calls.Form) (json.RawMessage, error) {
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
		return nil, o.Unanswered(method, b.secrets)
	}
	refusal, ok := errors.AsType[*tgbotapi.Error](err)
	if !ok || (refusal.Code == 0 && refusal.Message == "") {
		refusal = nil // not the API's answer: a proxy's page, or cut
	}
	failure, words := classify(refusal, o), ""
	if refusal != nil {
		words = refusal.Message // also used as the code: the Bot API has no error code but the HTTP status
	}
	failure.Err = b.secrets.Refused(method, o, words, words)
	return nil, failure
}
