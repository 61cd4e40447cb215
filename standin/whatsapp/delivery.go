package whatsapp

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"telex/standin/fault"
	"telex/standin/rig"
)

// retryDuration is how long WhatsApp tries to deliver a webhook. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/overview
const retryDuration = 7 * 24 * time.Hour

// backoff returns the wait before the server sends a webhook again. About these waits, WhatsApp's documentation says
// only "immediately, then with decreasing frequency"; the numbers are assumed.
func backoff(retry int) time.Duration {
	waits := []time.Duration{
		0, time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute,
		time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	}
	if retry < len(waits) {
		return waits[retry]
	}
	return 24 * time.Hour
}

// Delivery records a webhook, and the results of the requests with which the server delivered it.
type Delivery struct {
	At time.Time `json:"at"`
	// Kind is "message" if the webhook contains any message, and "status" if it contains only statuses.
	Kind string `json:"kind"`
	// Users and Messages are the ids of the people and the messages that the webhook concerns.
	Users    []string `json:"users"`
	Messages []string `json:"messages"`
	// Payload is the body of the requests that deliver the webhook.
	Payload  json.RawMessage `json:"payload"`
	Attempts []Attempt       `json:"attempts"`
	// Acked is when the app accepted the webhook with status 200, or zero.
	Acked time.Time `json:"acked,omitzero"`
	// Lost means that the app did not accept the webhook, and the server makes no further attempt.
	Lost bool `json:"lost,omitempty"`
}

// Attempt is one request that delivers a webhook.
type Attempt struct {
	At time.Time `json:"at"`
	// Retry is the number of earlier attempts.
	Retry  int `json:"retry"`
	Status int `json:"status,omitempty"` // the HTTP status of the response
	// Failed is why the attempt failed.
	Failed string `json:"failed,omitempty"`
}

func (d *Delivery) clone() Delivery {
	c := *d
	c.Attempts = slices.Clone(d.Attempts)
	return c
}

// Deliveries returns a copy of the records of all webhooks.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Delivery, len(s.deliveries))
	for i, d := range s.deliveries {
		list[i] = d.clone()
	}
	return list
}

// pendingDelivery delivers one webhook to the app.
type pendingDelivery struct {
	*Delivery
	target string
	// Each channel in before is closed after the first attempt to deliver an earlier webhook about the same people.
	// The delivery waits for all of these channels, so that webhooks arrive in order.
	before []<-chan struct{}
	// tried must be called after the first attempt to deliver the webhook. After this call, the next webhook about the
	// same people no longer waits.
	tried func()
}

// dispatchWebhook starts the delivery of a webhook. The caller holds s.mu.
func (s *Server) dispatchWebhook(batch []*webhookItem) {
	d := &Delivery{At: time.Now(), Kind: kindStatus, Payload: rig.Encode(s.payload(batch))}
	for _, n := range batch {
		if n.kind == kindMessage {
			d.Kind = kindMessage
		}
		if !slices.Contains(d.Users, n.user) {
			d.Users = append(d.Users, n.user)
		}
		d.Messages = append(d.Messages, n.message)
	}
	s.deliveries = append(s.deliveries, d)
	if s.callback == "" {
		d.Lost = true
		s.stats.Lost++
		return
	}
	s.stats.Pending++
	tried := make(chan struct{})
	c := &pendingDelivery{Delivery: d, target: s.callback, tried: sync.OnceFunc(func() { close(tried) })}
	for _, user := range d.Users {
		if earlier := s.lastByUser[user]; earlier != nil {
			c.before = append(c.before, earlier)
		}
		s.lastByUser[user] = tried
	}
	ctx, rule := s.background, s.Match(d.call())
	s.Host.Go(func() {
		defer c.tried()
		s.deliver(ctx, c, rule)
	})
}

// Redeliver makes the server repeat all failed deliveries at once. Redeliver returns the number of webhooks that the
// app has not accepted yet.
func (s *Server) Redeliver() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.retry)
	s.retry = make(chan struct{})
	return s.stats.Pending
}

// call returns a Call that describes the webhook, so that faults can select the webhook.
func (d *Delivery) call() *Call {
	return &Call{Call: rig.Call{At: time.Now(), Method: d.Kind}, User: d.Users[0], Text: string(d.Payload), webhook: true}
}

// deliver makes attempts until the app responds with status 200, or retryDuration is over.
func (s *Server) deliver(ctx context.Context, c *pendingDelivery, rule *Fault) {
	if !c.waitForTurn(ctx, rule) {
		return
	}
	acked := false
	for retry := 0; ; retry++ {
		var now <-chan struct{}
		s.Locked(func() { now = s.retry })
		acked = s.attempt(ctx, c, retry, rule)
		c.tried()
		if acked && rule != nil && rule.Action == ActDuplicate && wait(ctx, fault.Lasts(rule.Delay, rule.DelayMS)) {
			s.attempt(ctx, c, retry+1, nil)
		}
		if acked || time.Since(c.At) > retryDuration || !waitOr(ctx, backoff(retry), now) {
			break
		}
		s.Locked(func() { rule = s.Match(c.call()) })
	}
	s.Locked(func() {
		if ctx.Err() != nil {
			return
		}
		s.stats.Pending--
		if acked {
			c.Acked = time.Now()
		} else {
			c.Lost = true
			s.stats.Lost++
		}
		s.Publish("delivery", Event{User: c.Users[0], Delivery: c.Delivery})
	})
}

// waitForTurn waits until the server has made the first attempt for each earlier webhook about the same people. If a
// fault with ActReorder hits the webhook, waitForTurn waits only for the fault's delay.
func (c *pendingDelivery) waitForTurn(ctx context.Context, rule *Fault) bool {
	if rule != nil && rule.Action == ActReorder {
		c.tried()
		return wait(ctx, max(fault.Lasts(rule.Delay, rule.DelayMS), time.Second))
	}
	for _, earlier := range c.before {
		select {
		case <-earlier:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// attempt makes one request that delivers the webhook, and reports whether the app accepted it.
func (s *Server) attempt(ctx context.Context, c *pendingDelivery, retry int, rule *Fault) bool {
	if rule != nil && rule.Action == fault.Latency {
		wait(ctx, fault.Lasts(rule.Delay, rule.DelayMS))
	}
	over := false
	s.Locked(func() {
		if over = ctx.Err() != nil; over { // read with s.mu held, so that no attempt is made after Reset
			return
		}
		c.Attempts = append(c.Attempts, Attempt{At: time.Now(), Retry: retry})
		s.stats.Deliveries++
		if retry > 0 {
			s.stats.Redelivered++
		}
	})
	if over {
		return false
	}
	status, failed := 0, "dropped"
	if rule == nil || rule.Action != ActDrop {
		status, failed = s.post(ctx, c.target, c.Payload, rule)
	}
	s.Locked(func() {
		last := &c.Attempts[len(c.Attempts)-1]
		last.Status, last.Failed = status, failed
	})
	return failed == ""
}
