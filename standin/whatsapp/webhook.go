package whatsapp

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kinds of webhooks. The field Method of a Fault selects webhooks by their kind.
const (
	kindMessage = "message"
	kindStatus  = "status"
)

const (
	// answerTimeout is how long the app may take to respond to a webhook. WhatsApp's documentation mentions a limit on the
	// time for the response, but not its length.
	answerTimeout = 10 * time.Second
	// maxAnswer is the maximum number of bytes that the server reads of an app's response.
	maxAnswer = 1 << 20
)

// Sign returns the signature of a webhook, which consists of "sha256=" and the HMAC-SHA256 of the body in hexadecimal
// digits. Source: https://developers.facebook.com/docs/graph-api/webhooks/getting-started#validate-payloads
func Sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// webhookItem is one item of a webhook, such as a message or a status.
type webhookItem struct {
	user    string
	message string // id of the message
	kind    string
	// contact describes the person. If contact is nil, the webhook does not describe the person.
	contact object
	item    object
}

// notify queues an item for delivery to the app. The caller holds s.mu.
func (s *Server) notify(n *webhookItem) {
	if s.Host.Ended() {
		return
	}
	if s.opts.BatchWindow <= 0 {
		s.dispatchWebhook([]*webhookItem{n})
		return
	}
	s.batch = append(s.batch, n)
	if len(s.batch) > 1 {
		return
	}
	s.stats.Pending++
	ctx := s.background
	s.Host.Go(func() {
		if !wait(ctx, s.opts.BatchWindow) {
			return
		}
		s.Locked(func() {
			if ctx.Err() != nil {
				return
			}
			s.stats.Pending--
			batch := s.batch
			s.batch = nil
			s.dispatchWebhook(batch) //nolint:contextcheck // the deliveries end when the stand-in is closed or reset
		})
	})
}

// payload returns the body of a webhook. In the body, each change contains up to two messages, and each entry up to two
// changes. Thus a test can detect an app that reads only the first change or the first message of a webhook.
func (s *Server) payload(batch []*webhookItem) object {
	var changes []object
	for _, kind := range []string{kindMessage, kindStatus} {
		of := slices.DeleteFunc(slices.Clone(batch), func(n *webhookItem) bool { return n.kind != kind })
		for part := range slices.Chunk(of, 2) {
			changes = append(changes, s.change(kind, part))
		}
	}
	var entries []object
	for part := range slices.Chunk(changes, 2) {
		entries = append(entries, object{"id": AccountID, "changes": part})
	}
	return object{"object": "whatsapp_business_account", "entry": entries}
}

// change returns a part of a webhook. The part that change returns contains either messages or statuses. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages
func (s *Server) change(kind string, notices []*webhookItem) object {
	var items, contacts []object
	var users []string
	for _, n := range notices {
		items = append(items, n.item)
		if n.contact != nil && !slices.Contains(users, n.user) {
			users, contacts = append(users, n.user), append(contacts, n.contact)
		}
	}
	value := object{
		"messaging_product": "whatsapp",
		"metadata":          object{"display_phone_number": Number, "phone_number_id": s.opts.PhoneNumberID},
		map[string]string{kindMessage: "messages", kindStatus: "statuses"}[kind]: items,
	}
	if len(contacts) > 0 {
		value["contacts"] = contacts
	}
	return object{"field": "messages", "value": value}
}

// status records a new status of a message of the business, and reports it by a webhook. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/status
func (s *Server) status(c *conversation, m *Message, status string) {
	m.Statuses = append(m.Statuses, Status{At: time.Now(), Status: status})
	s.Publish("status", Event{User: m.User, Message: m})
	s.sendStatus(c, m, status)
}

func (s *Server) sendStatus(c *conversation, m *Message, status string) {
	item := object{
		"id": m.ID, "status": status, "timestamp": stamp(time.Now()), "recipient_user_id": m.User,
		"pricing": object{"billable": false, "pricing_model": "PMP", "category": "service", "type": "free_customer_service"},
	}
	if m.toPhone || !c.person.HidePhone {
		item["recipient_id"] = c.person.Phone
	}
	if m.opaque != "" {
		item["biz_opaque_callback_data"] = m.opaque
	}
	person := c.person
	person.HidePhone = person.HidePhone && !m.toPhone
	s.notify(&webhookItem{user: m.User, message: m.ID, kind: kindStatus, contact: person.contact(status != "sent"), item: item})
}

// sendFailure reports in a webhook that a message was accepted but not delivered.
func (s *Server) sendFailure(to recipient, out *outgoing, e *apiError) {
	title := strings.TrimPrefix(e.message, fmt.Sprintf("(#%d) ", e.code))
	item := object{
		"id": out.ID, "status": "failed", "timestamp": stamp(time.Now()),
		"errors": []object{{
			"code": e.code, "title": title, "message": title, "error_data": object{"details": e.details},
			"href": "https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes",
		}},
	}
	if to.byPhone {
		item["recipient_id"] = to.digits
	} else {
		item["recipient_user_id"] = to.user
	}
	if out.opaque != "" {
		item["biz_opaque_callback_data"] = out.opaque
	}
	s.notify(&webhookItem{user: to.user, message: out.ID, kind: kindStatus, item: item})
}

// SetCallback makes the handshake with the app at target. If the handshake succeeds, the server posts webhooks to this
// URL. With an empty URL, webhooks are lost.
func (s *Server) SetCallback(ctx context.Context, target string) error {
	if target != "" {
		if err := s.Verify(ctx, target, s.opts.VerifyToken); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callback = target
	return nil
}

// Verify makes the handshake with the app at a callback URL. Verify returns an error if the app does not answer the
// challenge. Source: https://developers.facebook.com/docs/graph-api/webhooks/getting-started#verification-requests
func (s *Server) Verify(ctx context.Context, target, token string) error {
	u, err := url.Parse(target)
	if err != nil {
		return fmt.Errorf("verify callback URL: %w", err)
	}
	s.mu.Lock()
	s.serial++
	challenge := strconv.Itoa(1158201444 + s.serial)
	s.mu.Unlock()
	query := u.Query()
	query.Set("hub.mode", "subscribe")
	query.Set("hub.challenge", challenge)
	query.Set("hub.verify_token", token)
	u.RawQuery = query.Encode()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("verify callback URL: %w", err)
	}
	status, body, err := s.ask(req)
	switch {
	case err != nil:
		return fmt.Errorf("verify callback URL: %w", err)
	case status != http.StatusOK:
		return fmt.Errorf("verify callback URL: answer with status %d", status)
	case string(body) != challenge:
		return errors.New("verify callback URL: the challenge was not answered")
	}
	return nil
}

// ask sends a request to the app and reads the response.
func (s *Server) ask(req *http.Request) (status int, body []byte, err error) {
	req.Header.Set("User-Agent", "facebookexternalua")
	res, err := s.app.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("call the app: %w", err)
	}
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return 0, nil, fmt.Errorf("read the app's answer: %w", err)
	}
	return res.StatusCode, body, nil
}

// post makes one attempt to deliver a webhook. post returns the HTTP status of the response, or the reason why no
// response arrived.
func (s *Server) post(ctx context.Context, target string, body []byte, rule *Fault) (status int, failed string) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return 0, "invalid callback URL"
	}
	req.Header.Set("Content-Type", "application/json")
	secret := s.opts.AppSecret
	if rule != nil && rule.Action == ActBadSignature {
		secret += "-of-somebody-else"
	}
	if rule == nil || rule.Action != ActNoSignature {
		req.Header.Set("X-Hub-Signature-256", Sign(secret, body))
	}
	status, _, err = s.ask(req)
	var opError *net.OpError
	switch {
	case err == nil && status == http.StatusOK:
		return status, ""
	case err == nil:
		return status, "status"
	case ctx.Err() != nil:
		return 0, "timeout"
	case errors.As(err, &opError) && opError.Op == "dial":
		return 0, "connection"
	}
	return 0, "broken off"
}

// wait waits for d. wait returns false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool { return waitOr(ctx, d, nil) }

// waitOr waits like wait, but also returns when the channel now is closed.
func waitOr(ctx context.Context, d time.Duration, now <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-now:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
