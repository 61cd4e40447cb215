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

// maxBody is the maximum size of a request body in bytes. Slack documents no limit for its requests, but its events are
// far smaller.
const maxBody = 1 << 20

// serveHTTP answers Slack's requests until ctx ends or accept fails.
// https://docs.slack.dev/apis/events-api/using-http-request-urls
func (r *receiver) serveHTTP(ctx context.Context) error {
	return webhook.Server{
		Listener: r.bot.opts.Listener, Log: r.bot.log, Heart: &r.bot.heart,
		MaxBody: maxBody, BodyTimeout: ackTimeout,
		Check: r.bot.checkSignature, Answer: r.answer, OnOpen: r.markOpen,
	}.Serve(ctx)
}

// checkSignature checks whether a request is from Slack.
// https://docs.slack.dev/authentication/verifying-requests-from-slack
func (b *Bot) checkSignature(req *http.Request) (func(body []byte) error, error) {
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

// answer handles one request of Slack. answer returns a reply after the function accept has accepted the content of the
// request. If accept fails, answer returns the error, and Slack repeats the request.
func (r *receiver) answer(ctx context.Context, req webhook.Request) (webhook.Reply, error) {
	if challenge := challengeOf(req.Body); challenge != "" {
		return webhook.Text(challenge), nil // if the response is lost, Slack sends the challenge again
	}
	r.hold(ctx)
	a, found, err := decodeRequest(req.Header.Get("Content-Type"), req.Body, r.self)
	a.in.Missed = req.Header.Get("X-Slack-Retry-Num") != "" && r.wasWaiting(a.in)
	if a.arrived = req.Arrived; found && a.ts != "" {
		defer r.order.enter(ctx, a.in.To.Chat, a.ts)()
	}
	ack, err := r.deliverAndAck(ctx, a, found, err)
	if err != nil || ack == nil {
		return webhook.Reply{}, err
	}
	return webhook.Reply{ContentType: "application/json", Body: ack}, nil
}

// challengeOf returns the challenge with which Slack verifies the request URL, or "" for other requests.
// https://docs.slack.dev/reference/events/url_verification
func challengeOf(body []byte) string {
	c, err := receiving.Decode[callback](body)
	if err != nil || c.Type != "url_verification" {
		return ""
	}
	return c.Challenge
}

// decodeRequest decodes a request. Slack sends events as JSON, and commands and button presses as forms.
func decodeRequest(contentType string, body []byte, self identity) (decodedEvent, bool, error) {
	if kind, _, _ := mime.ParseMediaType(contentType); kind != "application/x-www-form-urlencoded" {
		return decodeEvent(body, self)
	}
	form, err := url.ParseQuery(string(body))
	switch {
	case err != nil:
		return decodedEvent{}, false, errors.New("decode form: malformed")
	case form.Has("payload"):
		return decodeInteraction(json.RawMessage(form.Get("payload")))
	case form.Has("command"):
		c := command{
			Command: form.Get("command"), Text: form.Get("text"), Channel: form.Get("channel_id"),
			User: form.Get("user_id"), UserName: form.Get("user_name"), Trigger: form.Get("trigger_id"),
			Team: form.Get("team_id"),
		}
		return c.decode()
	}
	return decodedEvent{}, false, nil // ignore ssl_check and other checks by Slack
}
