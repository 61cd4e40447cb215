package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"telex/standin/fault"
	"telex/standin/rig"
)

// Kinds of what is delivered to the app, as faults choose them.
const (
	kindEvent   = "event"
	kindCommand = "command"
	kindAction  = "action"
)

// ackTime is how long the app may take to acknowledge.
// Source: https://docs.slack.dev/apis/events-api/#responding
const ackTime = 3 * time.Second

// retryAfter are the waits before an event is delivered again: at once, after a minute,
// after five. Source: https://docs.slack.dev/apis/events-api/#retries
func retryAfter() []time.Duration { return []time.Duration{0, time.Minute, 5 * time.Minute} }

// AllEvents are the events that an app can subscribe to here.
func AllEvents() []string {
	return []string{
		"app_mention", "message.channels", "message.groups", "message.im", "message.mpim",
		"assistant_thread_started", "assistant_thread_context_changed", "app_home_opened", "agent_session_stopped",
		"member_joined_channel",
		"channel_archive", "channel_unarchive",
	}
}

// Delivery is something that the app is told, and how that went.
type Delivery struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"` // event, command or action.
	Type    string    `json:"type"` // the event's, the command, or the action_id.
	Subtype string    `json:"subtype,omitempty"`
	EventID string    `json:"event_id,omitempty"`
	Channel string    `json:"channel,omitempty"`
	// TS is the message that it is about.
	TS       string    `json:"ts,omitempty"`
	Attempts []Attempt `json:"attempts"`
	// Acked is when the app acknowledged, zero before.
	Acked time.Time `json:"acked,omitzero"`
	// Lost tells that no more attempts will be made.
	Lost bool `json:"lost,omitempty"`
}

// Attempt is one try to deliver.
type Attempt struct {
	At time.Time `json:"at"`
	// Via is "socket" or "http", or "" when there was no socket.
	Via      string `json:"via,omitempty"`
	Envelope string `json:"envelope_id,omitempty"`
	Socket   int    `json:"socket,omitempty"` // its number, from 1.
	// Retry and Reason are what the app is told of earlier attempts.
	Retry  int    `json:"retry,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Failed is why it did not succeed.
	Failed string `json:"failed,omitempty"`
}

func (d *Delivery) clone() Delivery {
	c := *d
	c.Attempts = slices.Clone(d.Attempts)
	return c
}

// Deliveries returns everything that the app was told or should have been. It is a copy.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Delivery, len(s.deliveries))
	for i, d := range s.deliveries {
		list[i] = d.clone()
	}
	return list
}

// parcel is a delivery under way.
type parcel struct {
	*Delivery
	envelope string // its type in Socket Mode.
	payload  object
	// answerable tells that an acknowledgement may carry an answer.
	answerable bool
	// done is called with s.mu held, once: with what the acknowledgement carried, or with
	// why there was none. It may be nil.
	done func(answer json.RawMessage, failed string)
}

// outcome is how an attempt ended.
type outcome struct {
	acked  bool
	answer json.RawMessage
	failed string
	stop   bool // the app, or the end of the server, wants no further attempt.
}

// tell delivers an event of a channel when the app is there and subscribed to it.
func (s *Server) tell(c *channel, name string, event object) {
	subscription := name
	if name == "message" {
		subscription = "message." + c.info.channelType()
		if c.info.Kind == KindPublic || c.info.Kind == KindPrivate {
			subscription += "s"
		}
	}
	if s.revoked || c.info.BotOut || !slices.Contains(s.opts.Subscriptions, subscription) {
		return
	}
	id := s.nextID("Ev")
	text := func(name string) string { v, _ := event[name].(string); return v }
	s.send(&parcel{
		Delivery: &Delivery{
			Kind: kindEvent, Type: name, Subtype: text("subtype"), EventID: id, Channel: c.info.ID,
			TS: cmp.Or(text("deleted_ts"), text("ts")),
		},
		envelope: "events_api",
		payload: object{
			"token": verificationToken, "team_id": TeamID, "api_app_id": AppID, "event": event, "type": "event_callback",
			"event_id": id, "event_time": time.Now().Unix(), "is_ext_shared_channel": false,
			"event_context": "4-" + id,
			"authorizations": []object{{
				"enterprise_id": nil, "team_id": TeamID, "user_id": BotUser, "is_bot": true, "is_enterprise_install": false,
			}},
		},
	})
}

// verificationToken is the old way to know that a request is the platform's.
const verificationToken = "standin-verification-token"

// send begins a delivery. The caller holds s.mu. In Socket Mode the first envelope is in its
// socket's queue when send returns, so that envelopes keep the order of what happened.
func (s *Server) send(p *parcel) {
	if s.Host.Ended() {
		return
	}
	p.At = time.Now()
	s.deliveries = append(s.deliveries, p.Delivery)
	s.stats.Pending++
	rule := s.Match(p.call())
	var o *offer
	if s.requestURL == "" && rule == nil {
		o = s.offer(p, 0, "")
	}
	ctx := s.era
	s.Host.Go(func() { s.deliver(ctx, p, o, rule) })
}

// call is what faults choose a delivery by.
func (p *parcel) call() *Call {
	return &Call{
		Call:    rig.Call{At: time.Now(), Method: p.Kind},
		Channel: p.Channel, TS: p.TS, Params: map[string]string{"text": string(rig.Encode(p.payload))}, delivery: true,
	}
}

// deliver makes attempts until one is acknowledged or there are no more. o is the first
// one when that was made already.
func (s *Server) deliver(ctx context.Context, p *parcel, o *offer, rule *Fault) {
	var out outcome
	waits := retryAfter()
	if p.Kind != kindEvent {
		waits = nil
	}
	for retry := 0; ; retry++ {
		out = s.attempt(ctx, p, retry, out.failed, o, rule)
		if out.acked && rule != nil && rule.Action == ActDuplicate && ctx.Err() == nil {
			s.attempt(ctx, p, retry+1, "timeout", nil, nil)
		}
		if out.acked || out.stop || retry >= len(waits) || !wait(ctx, waits[retry]) {
			break
		}
		o = nil
		s.Locked(func() { rule = s.Match(p.call()) })
	}
	s.Locked(func() {
		if ctx.Err() != nil {
			return
		}
		s.stats.Pending--
		if out.acked {
			p.Acked = time.Now()
		} else {
			p.Lost = true
			s.stats.Lost++
		}
		if p.done != nil {
			p.done(out.answer, out.failed)
		}
		s.Publish("delivery", Event{Channel: p.Channel, Delivery: p.Delivery})
	})
}

// attempt delivers once, bent by a fault.
func (s *Server) attempt(ctx context.Context, p *parcel, retry int, reason string, o *offer, rule *Fault) outcome {
	if rule != nil {
		switch rule.Action {
		case fault.Latency:
			if !wait(ctx, rule.Delay) {
				return outcome{failed: "closed", stop: true}
			}
		case ActDrop:
			s.Locked(func() { s.note(p, Attempt{Retry: retry, Reason: reason, Failed: "dropped"}) })
			return outcome{failed: "timeout", stop: !wait(ctx, ackTime)}
		}
	}
	s.mu.Lock()
	target := s.requestURL
	over := ctx.Err() != nil // under the lock, so that nothing outlives Reset
	if o == nil && target == "" && !over {
		o = s.offer(p, retry, reason)
	}
	s.mu.Unlock()
	switch {
	case over:
		return outcome{failed: "closed", stop: true}
	case o != nil:
		return s.await(ctx, p, o)
	case target != "":
		return s.push(ctx, p, target, retry, reason, rule)
	}
	return outcome{failed: "connection_failed"}
}

// note records an attempt. The caller holds s.mu.
func (s *Server) note(p *parcel, a Attempt) {
	a.At = time.Now()
	p.Attempts = append(p.Attempts, a)
	s.stats.Deliveries++
	if a.Retry > 0 {
		s.stats.Redelivered++
	}
}

// failed records why the last attempt failed.
func (s *Server) failed(p *parcel, why string) outcome {
	s.Locked(func() { p.Attempts[len(p.Attempts)-1].Failed = why })
	return outcome{failed: why}
}
