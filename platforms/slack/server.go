package slack

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"

	library "github.com/slack-go/slack"

	"telex/platforms/internal/receiving"
	"telex/platforms/internal/webhook"
)

// maxBody bounds a request body, in bytes. Slack documents no limit; events are far smaller.
const maxBody = 1 << 20

// serve answers Slack's requests until ctx ends or accept fails.
// https://docs.slack.dev/apis/events-api/using-http-request-urls
func (r *reception) serve(ctx context.Context) error {
	return webhook.Server{
		Listener: r.bot.opts.Listener, Log: r.bot.log, Heart: &r.bot.heart,
		MaxBody: maxBody, BodyTimeout: ackTime,
		Check: r.bot.check, Answer: r.answer, Opened: r.isOpen,
	}.Serve(ctx)
}

// check judges whether a request is Slack's.
// https://docs.slack.dev/authentication/verifying-requests-from-slack
func (b *Bot) check(req *http.Request) (func(body []byte) error, error) {
	signature, err := library.NewSecretsVerifier(req.Header, b.opts.SigningSecret)
	switch {
	case errors.Is(err, library.ErrExpiredTimestamp):
		return nil, webhook.Unauthorized("the request is too old: if this goes on, the clock of this machine is wrong")
	case err != nil:
		return nil, webhook.Unauthorized("the request has no signature or no timestamp")
	}
	return func(body []byte) error {
		_, _ = signature.Write(body) // never fails
		if err := signature.Ensure(); err != nil {
			return webhook.Unauthorized("the signature is wrong: is signing_secret that of this app?")
		}
		return nil
	}, nil
}

// answer handles one request; its reply is written once its content was accepted. The error is accept's; Slack then sends the
// request again.
func (r *reception) answer(ctx context.Context, req webhook.Request) (webhook.Reply, error) {
	if challenge := challengeIn(req.Body); challenge != "" {
		return webhook.Text(challenge), nil // if the reply is lost, Slack asks again
	}
	r.hold(ctx)
	a, found, err := decodeRequest(req.Header.Get("Content-Type"), req.Body, r.self)
	a.in.Missed = req.Header.Get("X-Slack-Retry-Num") != "" && r.waited(a.in)
	if a.arrived = req.Arrived; found && a.ts != "" {
		defer r.line.enter(ctx, a.in.To.Chat, a.ts)()
	}
	says, err := r.settle(ctx, a, found, err)
	if err != nil || says == nil {
		return webhook.Reply{}, err
	}
	return webhook.Reply{ContentType: "application/json", Body: says}, nil
}

// challengeIn returns the challenge that Slack sends to verify the request URL; empty for other requests.
// https://docs.slack.dev/reference/events/url_verification
func challengeIn(body []byte) string {
	c, err := receiving.Decode[callback](body)
	if err != nil || c.Type != "url_verification" {
		return ""
	}
	return c.Challenge
}

// decodeRequest decodes a request. Events are JSON; commands and buttons are forms.
func decodeRequest(contentType string, body []byte, self identity) (arrival, bool, error) {
	if kind, _, _ := mime.ParseMediaType(contentType); kind != "application/x-www-form-urlencoded" {
		return decodeEvent(body, self)
	}
	form, err := url.ParseQuery(string(body))
	switch {
	case err != nil:
		return arrival{}, false, errors.New("decode form: it is malformed")
	case form.Has("payload"):
		return decodeInteraction(json.RawMessage(form.Get("payload")))
	case form.Has("command"):
		c := command{
			Command: form.Get("command"), Text: form.Get("text"), Channel: form.Get("channel_id"),
			User: form.Get("user_id"), UserName: form.Get("user_name"), Trigger: form.Get("trigger_id"),
			Team: form.Get("team_id"),
		}
		return c.arrival()
	}
	return arrival{}, false, nil // ssl_check, and what else Slack may try
}
