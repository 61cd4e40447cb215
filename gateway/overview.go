package gateway

import (
	"cmp"
	"slices"
	"time"

	"telex/gateway/budget"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// An Observer counts, for metrics, what happens at one endpoint. Several goroutines call the methods of an Observer,
// and no method may block.
type Observer interface {
	preview.Observer
	// The gateway calls Resumed when it continues a reply that an earlier process began.
	Resumed()
}

// Overview describes what the gateway does at one moment.
type Overview struct {
	Endpoints     []EndpointState     // sorted by name
	Conversations []ConversationState // conversations with work to do, sorted by the time at which their replies began
	Replica       *ReplicaState       // nil: no other process uses the store
}

// Reception is the state of an endpoint's connection to its platform.
type Reception string

// These constants are the values of the type Reception.
const (
	Starting  Reception = "starting"  // the endpoint has not tried to connect yet
	Connected Reception = "connected" // the endpoint has been connected for a while
	Retrying  Reception = "retrying"  // the endpoint is connecting, or waits before it tries again
	Standby   Reception = "standby"   // another replica receives, or this replica has no lease
	Stopped   Reception = "stopped"   // the platform refuses the credentials, so the endpoint does not try again
)

// EndpointState is the state of one endpoint that Overview reports.
type EndpointState struct {
	ID      chat.EndpointID
	Network string
	State   Reception
	Since   time.Time // when the state began; with Retrying: when the endpoint tries again; zero: unknown
	Err     error     // why the endpoint retries, has stopped, or lets another replica receive; nil: none of these
	Budget  budget.Standing
}

// ConversationState is the state of one conversation that Overview reports.
type ConversationState struct {
	Conversation chat.Conversation
	Queued       int // messages that wait for their turn
	Parked       int // replies that are delivered in the background
	Reply        *ReplyState
}

// ReplyState is the state of a reply that grows or is being delivered.
type ReplyState struct {
	Turn    string // id of the turn; the error line in the chat contains it
	Began   time.Time
	Text    string // what the model wrote so far, or the final
	Shown   int    // number of bytes of Text that people see
	Ending  bool   // the text is complete
	Waits   Wait
	Blocked time.Time // with WaitLimit: until when the platform refuses calls; zero or past: it refuses none
}

// Wait says what a reply waits for.
type Wait string

// These constants are the values of the type Wait.
const (
	WaitNothing  Wait = ""
	WaitModel    Wait = "model"    // the reply waits for the model's first token
	WaitApproval Wait = "approval" // the reply waits for a person's decision about a tool call
	WaitLimit    Wait = "limit"    // the reply waits for the platform's rate limits
	WaitTrouble  Wait = "trouble"  // the reply waits for the platform, because it can't be shown at the moment
)

// resumed tells the endpoint's Observer that this process continues a reply that an earlier process began.
func (e *endpoint) resumed() {
	if o := e.account().Observer; o != nil {
		o.Resumed()
	}
}

// glimpse is the part of an actor's state that Overview shows.
type glimpse struct {
	turn           *turn
	queued, parked int
}

// publish updates the glimpse that Overview reads.
func (a *actor) publish() {
	now := glimpse{turn: a.turn, queued: len(a.left) + a.queue.Len(), parked: len(a.parked)}
	if seen := a.seen.Load(); seen == nil || *seen != now {
		a.seen.Store(&now)
	}
}

// Overview describes what the gateway does now. Overview does not make any conversation wait.
func (g *Gateway) Overview() Overview {
	o := Overview{Replica: g.replica()}
	for _, e := range g.current().endpoints {
		s := EndpointState{ID: e.ID, Network: e.account().Network, Budget: e.budget.Standing()}
		if s.State, s.Since, s.Err = e.reception(time.Now()); s.State != Stopped && (!g.mayCall() || !g.mayReceive(e)) {
			s.State, s.Since, s.Err = Standby, time.Time{}, nil
			if e.away.Load() {
				s.Err = e.vital.failure()
			}
		}
		o.Endpoints = append(o.Endpoints, s)
	}
	slices.SortFunc(o.Endpoints, func(x, y EndpointState) int { return cmp.Compare(x.ID, y.ID) })
	for _, a := range g.active() {
		s := ConversationState{Conversation: a.conversation}
		if seen := a.seen.Load(); seen != nil {
			s.Queued, s.Parked = seen.queued, seen.parked
			if seen.turn != nil {
				s.Reply = seen.turn.state(a.endpoint)
			}
		}
		o.Conversations = append(o.Conversations, s)
	}
	began := func(s ConversationState) time.Time {
		if s.Reply == nil {
			return time.Now()
		}
		return s.Reply.Began
	}
	slices.SortFunc(o.Conversations, func(x, y ConversationState) int {
		return cmp.Or(began(x).Compare(began(y)), cmp.Compare(x.Conversation.String(), y.Conversation.String()))
	})
	return o
}

// active returns all actors, each of them once, even if the actor's conversation has several ids.
func (g *Gateway) active() (list []*actor) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c, a := range g.actors {
		if c == a.conversation { // if the two ids differ, c is an alias
			list = append(list, a)
		}
	}
	return list
}

// reception returns the state of the endpoint's connection to its platform, with the time for EndpointState.Since and
// the last error.
func (e *endpoint) reception(now time.Time) (Reception, time.Time, error) {
	v := &e.vital
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case e.dead.Load():
		return Stopped, time.Time{}, v.failed
	case v.since.IsZero():
		return Starting, time.Time{}, nil
	case v.running && now.Sub(v.since) >= connected:
		return Connected, v.since, nil
	default:
		return Retrying, v.since, v.failed
	}
}

// state returns the state of the turn's reply for Overview.
func (t *turn) state(e *endpoint) *ReplyState {
	text := t.slot.Text()
	s := &ReplyState{Turn: t.id, Began: t.began, Text: text, Shown: len(t.slot.Shown())}
	ending := t.slot.Ending()
	if s.Ending = ending.Text != "" || ending.Keep; ending.Text != "" {
		s.Text = ending.Text
	}
	held := t.slot.Waiting()
	switch {
	case t.approvals.Waiting():
		s.Waits = WaitApproval
	case t.delivery.trouble.Load():
		s.Waits = WaitTrouble
	case !held.Since.IsZero():
		s.Waits, s.Blocked = WaitLimit, e.budget.BlockedUntil(held.Call)
	case !s.Ending && text == "":
		s.Waits = WaitModel
	}
	return s
}
