package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/standin/fault"
	"telex/standin/rig"
)

const (
	// webhookMethod is the method name with which faults select deliveries to the webhook. With the action fault.CutAfter,
	// the bot receives the update, but its response is lost.
	webhookMethod = "webhook"
	// webhookTimeout is how long the bot may take to respond to a delivery.
	webhookTimeout = time.Minute
	// firstRedelivery is the wait after the first failed attempt to deliver an update. The wait doubles with each further
	// failed attempt, up to maxRedelivery.
	firstRedelivery = time.Second
	maxRedelivery   = time.Minute
	// maxRetryAfter is the longest wait that a bot can request with the header Retry-After.
	maxRetryAfter = time.Hour
	// defaultConnections and maxConnections are the default and the maximum of max_connections.
	defaultConnections = 40
	maxConnections     = 100
)

// webhook is the webhook that a call of setWebhook has set. Server.mu guards it. Source:
// https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/WebhookActor.cpp
type webhook struct {
	url, secret string
	connections int
	busy        int             // number of running deliveries
	ctx         context.Context //nolint:containedctx // the context of deliveries, which ends when the webhook is deleted.
	end         context.CancelFunc
	wake        chan struct{} // signals that runDeliveries must look for deliverable updates again; capacity 1
	failed      string        // the error of the last failed delivery
	failedAt    time.Time
}

// Delivery is one attempt to deliver an update to the webhook.
type Delivery struct {
	At       time.Time `json:"at"`
	UpdateID int64     `json:"update_id"`
	// Status is the HTTP status of the bot's response; 0 if there was no response.
	Status int    `json:"status,omitempty"`
	Failed string `json:"failed,omitempty"`
}

// Deliveries returns a copy of the records of all attempts to deliver updates to webhooks.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deliveries)
}

// setWebhook replaces the webhook. The server delivers updates of one chat one after the other, and updates of
// different chats in parallel. Source: https://core.telegram.org/bots/api#setwebhook
func (s *Server) setWebhook(r *request) any {
	address := r.text("url")
	if address == "" {
		return s.deleteWebhook(r)
	}
	u, err := url.Parse(address)
	badRequestIf(err != nil || u.Hostname() == "", "bad webhook: invalid webhook URL specified")
	if !isLocal(u.Hostname()) { // without Options.Dial, the server connects only to this machine
		badRequestIf(u.Scheme != "https", "bad webhook: An HTTPS URL must be provided for webhook")
		badRequestIf(!slices.Contains([]string{"", "443", "80", "88", "8443"}, u.Port()),
			"bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
	}
	allowed := readAllowed(r.params)
	badRequestIf(!validSecret(r.text("secret_token")), "secret token contains unallowed characters")
	connections := int(r.integer("max_connections"))
	if connections < 1 || connections > maxConnections {
		connections = defaultConnections
	}
	if allowed != nil {
		s.updates.allowed = *allowed
	}
	s.dropWebhook(r.flag("drop_pending_updates"))
	h := &webhook{url: address, secret: r.text("secret_token"), connections: connections, wake: make(chan struct{}, 1)}
	h.ctx, h.end = context.WithCancel(context.Background())
	s.updates.hook = h
	if s.updates.poll != nil {
		close(s.updates.poll.replaced)
		s.updates.poll = nil
	}
	s.Host.Go(func() { s.runDeliveries(h) })
	return true
}

func validSecret(secret string) bool {
	return len(secret) <= 256 && strings.Trim(secret,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (s *Server) deleteWebhook(r *request) any {
	s.dropWebhook(r.flag("drop_pending_updates"))
	return true
}

// dropWebhook removes the webhook. If pending is true, dropWebhook also removes all pending updates. If pending is
// false, all updates stay in the queue, even an update whose delivery is running.
func (s *Server) dropWebhook(pending bool) {
	if s.updates.hook != nil {
		s.updates.hook.end()
		s.updates.hook = nil
	}
	for i := range s.updates.pending {
		p := &s.updates.pending[i]
		p.busy, p.failures, p.due = false, 0, time.Time{}
	}
	if pending {
		s.updates.pending = nil
	}
}

// webhookInfo implements https://core.telegram.org/bots/api#webhookinfo.
func (s *Server) webhookInfo(*request) any {
	info := struct {
		URL            string   `json:"url"`
		Custom         bool     `json:"has_custom_certificate"`
		Pending        int      `json:"pending_update_count"`
		ErrorDate      int64    `json:"last_error_date,omitempty"`
		ErrorMessage   string   `json:"last_error_message,omitempty"`
		Connections    int      `json:"max_connections,omitempty"`
		AllowedUpdates []string `json:"allowed_updates,omitempty"`
	}{Pending: len(s.updates.pending), AllowedUpdates: s.updates.allowed}
	if h := s.updates.hook; h != nil {
		info.URL, info.Connections, info.ErrorMessage = h.url, h.connections, h.failed
		if h.failed != "" {
			info.ErrorDate = h.failedAt.Unix()
		}
	}
	return info
}

// runDeliveries delivers updates until the webhook is removed.
func (s *Server) runDeliveries(h *webhook) {
	for h.ctx.Err() == nil {
		s.mu.Lock()
		list, next := s.updates.deliverable(h, time.Now())
		for _, u := range list {
			s.Host.Go(func() { s.deliverOnce(h, u) })
		}
		s.mu.Unlock()
		timer := time.NewTimer(time.Until(next))
		select {
		case <-h.wake:
		case <-timer.C:
		case <-h.ctx.Done():
		}
		timer.Stop()
	}
}

// deliverable returns the updates that the server can deliver now, and the time at which the caller must check again at
// the latest.
func (q *queue) deliverable(h *webhook, now time.Time) (list []*wireUpdate, next time.Time) {
	if h.ctx.Err() != nil {
		return nil, now
	}
	next = now.Add(time.Hour)
	q.confirm(0, now)
	waits := make(map[int64]bool)
	for i := range q.pending {
		p := &q.pending[i]
		line := p.update.orderKey()
		switch {
		case waits[line] || p.busy:
		case p.due.After(now):
			if p.due.Before(next) {
				next = p.due
			}
		case h.busy < h.connections:
			p.busy = true
			h.busy++
			list = append(list, p.update)
		}
		waits[line] = true
	}
	return list, next
}

// deliverOnce makes one attempt to deliver an update.
func (s *Server) deliverOnce(h *webhook, u *wireUpdate) {
	call := &Call{Call: rig.Call{At: time.Now(), Method: webhookMethod}, Chat: u.orderKey()}
	s.mu.Lock()
	rule := s.Match(call)
	s.mu.Unlock()
	status, wait, err := s.postUpdate(h, u)
	if err == nil && rule != nil && rule.Action == fault.CutAfter {
		status, err = 0, errors.New("Webhook connection closed") //nolint:staticcheck // Telegram's own text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := Delivery{At: call.At, UpdateID: u.UpdateID, Status: status}
	if err != nil {
		d.Failed = err.Error()
	}
	s.deliveries = append(s.deliveries, d)
	if h.ctx.Err() != nil {
		return // the webhook was removed during this attempt
	}
	h.busy--
	i := slices.IndexFunc(s.updates.pending, func(p pendingUpdate) bool { return p.update == u })
	switch {
	case i < 0:
	case err == nil:
		s.updates.pending = slices.Delete(s.updates.pending, i, i+1)
	default:
		h.failed, h.failedAt = d.Failed, time.Now()
		p := &s.updates.pending[i]
		if wait == 0 {
			wait = min(firstRedelivery<<min(p.failures, 10), maxRedelivery)
		}
		p.busy, p.failures, p.due = false, p.failures+1, time.Now().Add(wait)
	}
	h.signal()
}

// signal makes runDeliveries look for deliverable updates again.
func (h *webhook) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// postUpdate posts an update to the bot's webhook. If the delivery fails, wait is the time that the bot's response
// requests before the next attempt.
func (s *Server) postUpdate(h *webhook, u *wireUpdate) (status int, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(h.ctx, webhookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(rig.Encode(u)))
	if err != nil {
		return 0, 0, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", h.secret)
	}
	resp, err := s.bot.Do(req)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return 0, 0, errors.New("Read timeout expired") //nolint:staticcheck // Telegram's own text
	case err != nil:
		return 0, 0, errors.New("Connection refused") //nolint:staticcheck // Telegram's own text
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // ignore errors, because only the status matters
	_ = resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // 0 if the header is not a number
		wait = min(time.Duration(max(seconds, 0))*time.Second, maxRetryAfter)
		return resp.StatusCode, wait, fmt.Errorf("Wrong response from the webhook: %s", resp.Status) //nolint:staticcheck // the same
	}
	return resp.StatusCode, 0, nil
}

// dialLocal connects only to this machine, so that a stand-in never sends requests to other machines.
func dialLocal(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || !isLocal(host) {
		return nil, errors.New("the stand-in delivers on this machine only")
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}
