package homeassistant

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/internal/calls"
)

// title is the title of every notification.
const title = "telex"

// defaultRetryAfter is the wait after a response with status 429 that lacks the header Retry-After. Home Assistant has
// no rate limit, but a proxy in front of Home Assistant may have a rate limit.
const defaultRetryAfter = 30 * time.Second

var errTooLong = errors.New("the text is too long")

// Send shows a notification. Send derives the id of a persistent notification from the idempotency key in m. If the
// gateway repeats the call, Home Assistant therefore replaces the notification and shows the answer only once. telex
// never edits a notification.
func (b *Bot) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	if b.Dialect(to).Len(markup.Rendered{Text: m.Text}) > b.Profile(to).TextLimit {
		return chat.Receipt{}, &chat.SendError{Kind: chat.TooLong, Err: errTooLong}
	}
	id := notificationID(m.Key)
	action, data := "persistent_notification/create", map[string]string{"title": title, "message": m.Text, "notification_id": id}
	if b.notify != "" {
		action, data = "notify/"+b.notify, map[string]string{"title": title, "message": m.Text}
		isEntity, err := b.exists(ctx, domainNotify+"."+b.notify)
		if err != nil {
			return chat.Receipt{}, err
		}
		if isEntity {
			action, data["entity_id"] = "notify/send_message", domainNotify+"."+b.notify
		}
	}
	if _, err := b.call(ctx, http.MethodPost, "services/"+action, data); err != nil {
		return chat.Receipt{}, err
	}
	return chat.Receipt{Ref: chat.MessageRef{Target: to, ID: chat.MessageID(id)}}, nil
}

// notificationID returns the id of the notification that Send creates for a message with the given idempotency key.
func notificationID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "telex_" + hex.EncodeToString(sum[:16])
}

// exists reports whether Home Assistant has an entity. Send calls exists to find out whether the configured name is
// that of a notify entity or of a notify action, because both names have the same form:
// https://www.home-assistant.io/integrations/notify/. Send can't simply try notify.send_message, because this action
// succeeds and does nothing if the entity is missing.
func (b *Bot) exists(ctx context.Context, entity string) (bool, error) {
	o, err := b.call(ctx, http.MethodGet, "states/"+entity, nil)
	if o.Status == http.StatusNotFound {
		return false, nil
	}
	if err != nil {
		return false, calls.AsRepeatable(err)
	}
	return true, nil
}

// call makes one call of the REST API, and blocks until the response arrives or ctx ends. The errors of call are
// *chat.SendError. https://developers.home-assistant.io/docs/api/rest
func (b *Bot) call(ctx context.Context, method, path string, body any) (calls.Outcome, error) {
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return calls.Outcome{}, &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("encode body: %w", err)}
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, b.base+"/api/"+path, bytes.NewReader(payload))
	if err != nil {
		return calls.Outcome{}, &chat.SendError{Kind: chat.Rejected, Err: b.secrets.Error(path, err)}
	}
	req.Header.Set("Authorization", "Bearer "+b.token)
	req.Header.Set("Content-Type", "application/json")
	o := calls.Do(b.client, req)
	switch {
	case o.Err != nil:
		return o, o.UnansweredError(path, b.secrets)
	case o.Status == http.StatusOK, o.Status == http.StatusCreated:
		return o, nil
	}
	failure := classify(o)
	failure.Err = b.secrets.RefusedError(path, o, "", errorText(o.Body))
	return o, failure
}

// classify returns the error for a refused call. The error's kind says whether the call may be repeated.
func classify(o calls.Outcome) *chat.SendError {
	switch {
	case o.Status == http.StatusTooManyRequests:
		return &chat.SendError{Kind: chat.RateLimited, RetryAfter: calls.RetryAfter(0, o.Header, defaultRetryAfter), Scope: chat.ScopeEndpoint}
	case o.Status == http.StatusBadRequest: // the action does not exist, or the data is invalid
		return &chat.SendError{Kind: chat.Rejected}
	case o.Status == http.StatusUnauthorized:
		return &chat.SendError{Kind: chat.Auth}
	case o.Status == http.StatusForbidden: // also for a banned IP address: https://www.home-assistant.io/integrations/http/
		return &chat.SendError{Kind: chat.Forbidden}
	case o.Status == http.StatusRequestEntityTooLarge:
		return &chat.SendError{Kind: chat.TooLong}
	case o.Status < http.StatusInternalServerError: // Home Assistant's API has not started yet, or a proxy responded
		return &chat.SendError{Kind: chat.Temporary}
	}
	return &chat.SendError{Kind: chat.Uncertain}
}

// errorText returns the error message in the body of a response, which is JSON or plain text. For an HTML page,
// errorText returns "", because the page comes from a proxy.
func errorText(body []byte) string {
	var answer struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &answer) == nil {
		return oneLine(answer.Message, maxState)
	}
	if text := oneLine(string(body), maxState); !strings.HasPrefix(text, "<") {
		return text
	}
	return ""
}
