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
	failure := classify(refusal, o)
	failure.Err = b.refused(method, refusal, o)
	return nil, failure
}

// refused describes a refusal. Telegram has no error codes below the HTTP status, so that its description is the code.
func (b *Bot) refused(method string, refusal *tgbotapi.Error, o calls.Outcome) error {
	if refusal == nil {
		return b.secrets.Refused(method, o, "", "")
	}
	return b.secrets.Refused(method, o, refusal.Message, refusal.Message)
}
