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

// Kinds of deliveries to the app. The field Method of a Fault selects deliveries by their kind.
const (
	kindEvent   = "event"
	kindCommand = "command"
	kindAction  = "action"
)

// ackTimeout is how long the app may take to acknowledge a delivery. Source:
// https://docs.slack.dev/apis/events-api/#responding
const ackTimeout = 3 * time.Second

// retryAfter returns the wait before each repeated delivery of an event: none before the first repetition, then one
// minute, then five minutes. Source: https://docs.slack.dev/apis/events-api/#retries
func retryAfter() []time.Duration { return []time.Duration{0, time.Minute, 5 * time.Minute} }

// AllEvents returns the names of the events to which an app can subscribe in this stand-in.
func AllEvents() []string {
	return []string{
		"app_mention", "message.channels", "message.groups", "message.im", "message.mpim",
		"assistant_thread_started", "assistant_thread_context_changed", "app_home_opened", "agent_session_stopped",
		"member_joined_channel",
		"channel_archive", "channel_unarchive",
	}
}

// Delivery records that the server delivered an event, a command or a button press to the app, and the result.
type Delivery struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"` // event, command or action
	Type    string    `json:"type"` // the event's type, the command, or the action_id
	Subtype string    `json:"subtype,omitempty"`
	EventID string    `json:"event_id,omitempty"`
	Channel string    `json:"channel,omitempty"`
	// TS is the ts of the message that the delivery concerns.
	TS       string    `json:"ts,omitempty"`
	Attempts []Attempt `json:"attempts"`
	// Acked is when the app acknowledged the delivery, or zero.
	Acked time.Time `json:"acked,omitzero"`
	// Lost means that the delivery failed and the server makes no further attempt.
	Lost bool `json:"lost,omitempty"`
}

// Attempt is one attempt to deliver an event, a command or a button press to the app.
type Attempt struct {
	At time.Time `json:"at"`
	// Via is "socket" or "http", or "" if the app had no open socket.
	Via      string `json:"via,omitempty"`
	Envelope string `json:"envelope_id,omitempty"`
	Socket   int    `json:"socket,omitempty"` // the socket's number, from 1
	// Retry is the number of earlier attempts. Reason is why the previous attempt failed. The app receives both Retry and
	// Reason.
	Retry  int    `json:"retry,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Failed is why the attempt failed.
	Failed string `json:"failed,omitempty"`
}

func (d *Delivery) clone() Delivery {
	c := *d
	c.Attempts = slices.Clone(d.Attempts)
	return c
}

// Deliveries returns a copy of all deliveries, including failed ones.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Delivery, len(s.deliveries))
	for i, d := range s.deliveries {
		list[i] = d.clone()
	}
	return list
}

// pendingDelivery is a delivery that is still in progress.
type pendingDelivery struct {
	*Delivery
	envelope string // the type of the delivery's envelopes in Socket Mode
	payload  object
	// answerable means that the app's acknowledgement may contain an answer to the person.
	answerable bool
	// done is called once at the end of the delivery, with s.mu held. The arguments of done are the content of the
	// acknowledgement, or the reason why the app sent none. done may be nil.
	done func(answer json.RawMessage, failed string)
}

// outcome is the result of one attempt to deliver.
type outcome struct {
	acked  bool
	answer json.RawMessage
	failed string
	stop   bool // no further attempt follows, because the app refused further attempts or the server is closed
}

// deliverEvent delivers an event of a channel, if the bot is in the channel and the app is subscribed to the event.
func (s *Server) deliverEvent(c *channel, name string, event object) {
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
	s.startDelivery(&pendingDelivery{
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

// verificationToken is a token in each request to the app. Slack used such tokens to prove the sender of a request
// before it signed requests.
const verificationToken = "standin-verification-token"

// startDelivery starts a delivery. The caller holds s.mu. In Socket Mode, startDelivery queues the first envelope for a
// socket and then returns, so that envelopes keep the order of events.
func (s *Server) startDelivery(p *pendingDelivery) {
	if s.Host.Ended() {
		return
	}
	p.At = time.Now()
	s.deliveries = append(s.deliveries, p.Delivery)
	s.stats.Pending++
	rule := s.Match(p.call())
	var o *envelope
	if s.requestURL == "" && rule == nil {
		o = s.queueEnvelope(p, 0, "")
	}
	ctx := s.background
	s.Host.Go(func() { s.deliver(ctx, p, o, rule) })
}

// call returns a Call that describes the delivery, so that faults can select the delivery.
func (p *pendingDelivery) call() *Call {
	return &Call{
		Call:    rig.Call{At: time.Now(), Method: p.Kind},
		Channel: p.Channel, TS: p.TS, Params: map[string]string{"text": string(rig.Encode(p.payload))}, delivery: true,
	}
}

// deliver makes attempts until the app acknowledges one, or the last attempt has failed. o is the envelope of the first
// attempt, or nil if that envelope was not queued yet.
func (s *Server) deliver(ctx context.Context, p *pendingDelivery, o *envelope, rule *Fault) {
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

// attempt makes one attempt to deliver p to the app. rule is the fault that hits the attempt, or nil.
func (s *Server) attempt(ctx context.Context, p *pendingDelivery, retry int, reason string, o *envelope, rule *Fault) outcome {
	if rule != nil {
		switch rule.Action {
		case fault.Latency:
			if !wait(ctx, rule.Delay) {
				return outcome{failed: "closed", stop: true}
			}
		case ActDrop:
			s.Locked(func() { s.recordAttempt(p, Attempt{Retry: retry, Reason: reason, Failed: "dropped"}) })
			return outcome{failed: "timeout", stop: !wait(ctx, ackTimeout)}
		}
	}
	s.mu.Lock()
	target := s.requestURL
	over := ctx.Err() != nil // read with s.mu held, so that no envelope is queued after Reset
	if o == nil && target == "" && !over {
		o = s.queueEnvelope(p, retry, reason)
	}
	s.mu.Unlock()
	switch {
	case over:
		return outcome{failed: "closed", stop: true}
	case o != nil:
		return s.waitForAck(ctx, p, o)
	case target != "":
		return s.push(ctx, p, target, retry, reason, rule)
	}
	return outcome{failed: "connection_failed"}
}

// recordAttempt records an attempt to deliver p. The caller holds s.mu.
func (s *Server) recordAttempt(p *pendingDelivery, a Attempt) {
	a.At = time.Now()
	p.Attempts = append(p.Attempts, a)
	s.stats.Deliveries++
	if a.Retry > 0 {
		s.stats.Redelivered++
	}
}

// recordFailure records why the last attempt failed.
func (s *Server) recordFailure(p *pendingDelivery, why string) outcome {
	s.Locked(func() { p.Attempts[len(p.Attempts)-1].Failed = why })
	return outcome{failed: why}
}
