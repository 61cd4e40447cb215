package whatsapp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"telex/platforms/internal/webhook"
)

const (
	// maxBody is the maximum size of a request body in bytes.
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/overview
	maxBody = 3 << 20
	// bodyTimeout limits the time to read the body of a request. bodyTimeout is short, because Meta expects a response
	// within seconds.
	bodyTimeout = 5 * time.Second
)

// serveHTTP answers Meta's requests until ctx ends or the function accept fails.
func (r *receiver) serveHTTP(ctx context.Context) error {
	return webhook.Server{
		Listener: r.bot.opts.Listener, Log: r.bot.log, Heart: &r.bot.heart,
		MaxBody: maxBody, BodyTimeout: bodyTimeout,
		Check: r.bot.checkSignature, Answer: r.answer, Get: r.bot.answerChallenge, OnOpen: r.markOpen,
	}.Serve(ctx)
}

// answerChallenge answers the request with which Meta verifies the URL of the webhook.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/create-webhook-endpoint#get-requests
func (b *Bot) answerChallenge(req *http.Request) (webhook.Reply, error) {
	query := req.URL.Query()
	if query.Get("hub.mode") != "subscribe" || !webhook.SameSecret(query.Get("hub.verify_token"), b.opts.VerifyToken) {
		return webhook.Reply{}, &webhook.Refusal{Status: http.StatusForbidden, Reason: "not Meta's verification request, or the verify token is wrong"}
	}
	return webhook.Text(query.Get("hub.challenge")), nil
}

// checkSignature returns a function that checks the signature of a request's body. The signature proves that Meta sent
// the request.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/create-webhook-endpoint#validate-payloads
func (b *Bot) checkSignature(req *http.Request) (func(body []byte) error, error) {
	hexed, found := strings.CutPrefix(req.Header.Get("X-Hub-Signature-256"), "sha256=")
	signature, err := hex.DecodeString(hexed)
	if !found || err != nil || len(signature) != sha256.Size {
		return nil, webhook.Unauthorized("the request has no signature")
	}
	return func(body []byte) error {
		sum := hmac.New(sha256.New, []byte(b.opts.AppSecret))
		_, _ = sum.Write(body) // never fails
		if !hmac.Equal(sum.Sum(nil), signature) {
			return webhook.Unauthorized("the signature is wrong: is app_secret that of this app?")
		}
		return nil
	}, nil
}

// answer handles one webhook. answer returns no error after the function accept has accepted all messages in the
// webhook. If accept fails, answer returns the error of accept.
func (r *receiver) answer(ctx context.Context, req webhook.Request) (webhook.Reply, error) {
	n := decode(req.Body, r.bot.opts.PhoneNumberID)
	for _, err := range n.problems {
		r.bot.log.WarnContext(ctx, "event skipped", slog.Any("error", err))
	}
	for _, s := range n.statuses {
		r.bot.logUndelivered(ctx, s)
	}
	for _, c := range n.changes {
		r.bot.log.InfoContext(ctx, "the user id of a person has changed: if they were let in by the old id, let them in again",
			slog.String("old", c.Old), slog.String("new", c.New))
	}
	for _, m := range n.messages {
		in := m.in
		in.Missed = in.At.Before(r.bot.clock.At(r.opened))
		in.Quotes = r.bot.quotes(m)
		if err := r.deliver(ctx, in); err != nil {
			return webhook.Reply{}, err
		}
	}
	return webhook.Reply{}, nil
}

// logUndelivered logs that WhatsApp could not deliver a message that it had accepted. The bot does not send an
// undelivered message again. Most causes would make a second attempt fail too, and if the first message arrived late
// after all, the person would see the text twice.
func (b *Bot) logUndelivered(ctx context.Context, s deliveryFailure) {
	b.log.WarnContext(ctx, "WhatsApp could not deliver a message", slog.String("chat", s.chat), slog.String("message", s.id),
		slog.Int("code", s.code), slog.String("error", b.secrets.Redact(s.description)), slog.Int64("failed_so_far", b.failed.Add(1)))
}
