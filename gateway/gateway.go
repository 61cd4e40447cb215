package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"telex/agent"
	"telex/gateway/access"
	"telex/gateway/attachment"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// Runner runs one turn; *agent.Agent is one. It must return soon after ctx ended.
type Runner interface {
	Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error)
}

// Busy says what a message does that arrives while a turn runs.
type Busy uint8

// The busy modes.
const (
	Interrupt Busy = iota // it ends the turn and is answered next; in groups only the asker's does
	Queue                 // it waits
	Steer                 // it is put to the running turn before its next model call, or waits; in groups only the asker's
)

// Model is what people may choose from.
type Model struct {
	Name   string
	Window int // tokens; 0: unknown
}

// Override is what holds for some conversations instead of what holds for all.
type Override struct {
	Match  access.Rule
	Model  string   // empty: as without
	System string   // empty: as without
	Tools  []string // names, or their beginnings with "*"; nil: as without
}

// Options are what a Gateway is made of.
type Options struct {
	Endpoints []Endpoint
	Runner    Runner
	Store     Store
	Access    access.Rules
	Limits    access.Limits
	Texts     Texts // DefaultTexts when nil
	Busy      Busy
	MaxQueued int                    // messages of one conversation that may wait
	MaxAge    time.Duration          // what was written or accepted longer ago is answered with a note
	Models    []Model                // the Runner's, in its order
	Overrides []Override             // of those that match, later ones are stronger
	Hear      attachment.Transcriber // nil: nothing that was spoken can be read
	// ApprovalTimeout is how long a tool call waits for a person; 0: DefaultApprovalTimeout.
	ApprovalTimeout time.Duration
	ShowReasoning   bool          // what a model thinks is quoted above its answer until that is whole
	Remembers       bool          // models have a tool that keeps facts: people have a command for it
	Grace           time.Duration // how long Run may take to stop
	Log             *slog.Logger
}

// DefaultApprovalTimeout is how long a tool call waits for a person where nothing else is said.
const DefaultApprovalTimeout = 5 * time.Minute

// Gateway connects endpoints with the agent.
type Gateway struct {
	Options
	store     stores
	endpoints map[chat.EndpointID]*endpoint
	policy    *access.Policy
	meter     *access.Meter
	reader    *attachment.Reader
	refused   *access.Throttle // notices to people who are let in, by person and reason
	strangers *access.Throttle // log entries about people who are not; apart, so that a crowd of them silences no notice
	expected  *access.Throttle // who has sent a piece of something in a group, of which more follows

	mu       sync.Mutex
	actors   map[chat.Conversation]*actor
	undone   map[chat.Conversation][]string // turns whose replies are not as they must be, for the next message of the chat
	stopping bool
	running  sync.WaitGroup // actors

	// The two lifetimes that outlive Run's ctx: turns are cancelled when they had their time
	// to finish, deliveries when the grace is over.
	turns, deliveries context.Context //nolint:containedctx // the gateway owns these lifetimes; they are no caller's
	endTurns, endAll  context.CancelCauseFunc
	edits             *edits
}

// errShutdown is why turns end when the daemon does.
var errShutdown = errors.New("the daemon is stopping")

// New checks the options and returns a gateway that does nothing yet.
func New(o Options) (*Gateway, error) {
	if o.Texts == nil {
		o.Texts = DefaultTexts()
	}
	o.ApprovalTimeout = cmp.Or(o.ApprovalTimeout, DefaultApprovalTimeout)
	g := &Gateway{
		Options: o, store: newStores(o.Store), endpoints: make(map[chat.EndpointID]*endpoint), actors: make(map[chat.Conversation]*actor), undone: make(map[chat.Conversation][]string),
		policy: access.NewPolicy(o.Access, o.Store, o.Log), meter: access.NewMeter(o.Limits, o.Access, o.Store),
		reader: attachment.NewReader(o.Hear), refused: access.NewThrottle(time.Minute),
		strangers: access.NewThrottle(time.Minute), expected: access.NewThrottle(queue.PieceWindow),
	}
	g.Store = nil // each user has its part
	for _, e := range o.Endpoints {
		r, err := g.resolve(e)
		if err != nil {
			return nil, err
		}
		if g.endpoints[e.ID] != nil {
			return nil, fmt.Errorf("endpoint %s is configured twice", e.ID)
		}
		g.endpoints[e.ID] = r
	}
	return g, nil
}

// queueRules are the rules for the messages of one conversation that wait. A question that several messages become must
// fit the smallest window: what does not would be answered by nobody.
func (g *Gateway) queueRules() queue.Rules {
	r := queue.Rules{Max: g.MaxQueued, Merge: g.Busy == Interrupt, MaxMerge: mostText, Alone: asksAgain}
	for _, m := range g.Models {
		if m.Window > 0 {
			r.MaxMerge = min(r.MaxMerge, m.Window) // a token has several bytes, and half of the window is for the rest
		}
	}
	return r
}

// drainShare is the part of the grace in which running turns may still end by themselves; the
// rest is for making what was shown final.
const drainShare = 6

// lastWait is how long calls that were told to end may take to do so.
const lastWait = 2 * time.Second

// Run receives and answers until ctx ends, and then stops in good order: no new message is
// taken, running turns get a moment to end by themselves and are then interrupted, and every
// reply is made final, all within the grace. ready is called once every endpoint has begun to
// connect.
func (g *Gateway) Run(ctx context.Context, ready func()) error {
	lasting := context.WithoutCancel(ctx)
	g.turns, g.endTurns = context.WithCancelCause(lasting)
	g.deliveries, g.endAll = context.WithCancelCause(lasting)
	defer g.endAll(nil)
	defer g.endTurns(nil)
	g.edits = newEdits(lasting, g.store.deliveries, g.Log)
	defer func() {
		ending, cancel := context.WithTimeout(lasting, lastWait)
		defer cancel()
		g.edits.close(ending)
	}()

	switch err := g.takeUp(ctx); {
	case ctx.Err() != nil: // stopped before anything began: what was left waits for the next process
		return nil
	case err != nil:
		return err
	}
	var receivers sync.WaitGroup
	for _, e := range g.endpoints {
		receivers.Go(func() { g.supervise(ctx, e) })
		if e.menu != nil {
			receivers.Go(func() { g.offer(ctx, e) })
		}
	}
	ready()
	receivers.Wait()
	<-ctx.Done() // endpoints that were refused for good end before
	return g.drain()
}

// drain ends the actors.
func (g *Gateway) drain() error {
	g.mu.Lock()
	g.stopping = true
	for _, a := range g.actors {
		a.poke()
	}
	busy := len(g.actors)
	g.mu.Unlock()
	g.Log.Info("stopping", slog.Int("conversations_under_way", busy))
	ended := make(chan struct{})
	go func() {
		g.running.Wait()
		close(ended)
	}()
	soft := time.AfterFunc(g.Grace/drainShare, func() { g.endTurns(errShutdown) })
	hard := time.AfterFunc(g.Grace, func() { g.endAll(errShutdown) })
	defer soft.Stop()
	defer hard.Stop()
	select {
	case <-ended:
	case <-time.After(g.Grace + lastWait):
	}
	if g.deliveries.Err() != nil {
		return fmt.Errorf("stop: replies were not made final within %v", g.Grace)
	}
	return nil
}

// Policy returns who may talk to the bot.
func (g *Gateway) Policy() *access.Policy { return g.policy }

// wake gives something to a conversation's actor, which is started when there is none. While
// the gateway is stopping nobody is woken, which wake tells: what was stored is taken up by the
// next process.
func (g *Gateway) wake(c chat.Conversation, give func(*actor)) bool {
	e := g.endpoints[c.Endpoint]
	if e == nil {
		g.Log.Warn("conversation of an endpoint that does not run in this process", slog.String("conversation", c.String()))
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return false
	}
	a := g.actors[c]
	if a == nil {
		a = newActor(g, e, c)
		g.actors[c] = a
		defer g.running.Go(a.run) // once it was given something
	}
	give(a)
	if a.given.IsZero() {
		a.given = time.Now()
	}
	a.poke()
	return true
}

// take moves everything out of the actor's inbox.
func (g *Gateway) take(a *actor) ([]queue.Message, []func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	in, orders := a.inbox, a.orders
	a.inbox, a.orders, a.given = nil, nil, time.Time{}
	return in, orders
}

// retire forgets an actor that has nothing to do. It reports false when a message arrived in
// the meantime, so that none is ever stranded between the two.
func (g *Gateway) retire(a *actor) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(a.inbox)+len(a.orders) > 0 {
		return false
	}
	for _, c := range append(a.aliases, a.conversation) {
		delete(g.actors, c)
	}
	return true
}

// isStopping reports whether new turns must not begin.
func (g *Gateway) isStopping() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopping
}
