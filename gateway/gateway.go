package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"telex/agent"
	"telex/gateway/access"
	"telex/gateway/attachment"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// Runner runs turns; *agent.Agent implements it. Run must return soon after ctx has ended.
type Runner interface {
	Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error)
}

// Busy configures what happens to a message that arrives while a turn runs.
type Busy uint8

// These constants are the values of the type Busy.
const (
	Interrupt Busy = iota // interrupt the turn and answer the message next; in groups, only the asker's messages interrupt
	Queue                 // queue the message
	Steer                 // pass the message to the running turn; in groups, only the asker's messages
)

// OnEdit configures what happens if the asker edits a question while the bot answers it.
type OnEdit uint8

// These constants are the values of the type OnEdit.
const (
	IgnoreEdit OnEdit = iota
	Restart           // the answer starts over in the same message
)

// Model is a model that people may choose.
type Model struct {
	Name   string
	Window int // size of the context window in tokens; 0: unknown
}

// Override changes settings for some conversations.
type Override struct {
	Match  access.Rule
	Model  string   // empty: unchanged
	System string   // empty: unchanged
	Tools  []string // names of tools, or prefixes of names followed by "*"; nil: unchanged
}

// Options configure a Gateway.
type Options struct {
	Endpoints []Endpoint
	Runner    Runner
	Store     Store
	Access    access.Rules
	Limits    access.Limits
	Texts     Texts // nil: DefaultTexts
	Busy      Busy
	MaxQueued int                    // maximum number of queued messages per conversation
	MaxAge    time.Duration          // a message that has waited longer gets a note instead of an answer
	Models    []Model                // the Runner's models, in the same order
	Overrides []Override             // if several overrides match, later ones take precedence
	Hear      attachment.Transcriber // nil: voice messages can't be read
	Reader    *attachment.Reader     // reads attachments; nil: the gateway makes its own
	// ApprovalTimeout is how long a tool call waits for a person; 0 means DefaultApprovalTimeout.
	ApprovalTimeout time.Duration
	Context         bool          // tell the model in which chat it answers, the date, and who wrote each message in a group
	FollowThreads   bool          // answer messages without a mention in threads where the bot has already answered
	OnEdit          OnEdit        // what happens if the asker edits a question while the bot answers it
	ShowReasoning   bool          // show the model's thoughts above an unfinished answer
	Remembers       bool          // models have the memory tool, so there is a /memory command
	Grace           time.Duration // maximum time for Run to stop
	Replicas        Replicas      // the Store, if several processes share it; nil: they don't. A reload does not change it
	Self            chat.Replica  // Name and Version of this process, for people to read
	Log             *slog.Logger
}

// DefaultApprovalTimeout is how long a tool call waits for a person by default.
const DefaultApprovalTimeout = 5 * time.Minute

// A Gateway receives messages from its endpoints, lets the agent answer them, and shows the answers.
type Gateway struct {
	Log       *slog.Logger
	store     stores
	shared    Replicas // nil: no other process uses the store
	options   atomic.Pointer[configured]
	policy    *access.Policy
	meter     *access.Meter
	reader    *attachment.Reader
	refused   *access.Throttle // limits notices to people with access, by person and reason
	strangers *access.Throttle // limits log entries about people without access; separate, because such people could fill refused
	coded     *access.Throttle // people who recently got a pairing code; two replicas may both handle a person's request
	expected  *access.Throttle // people in groups whose message was split by the app, so that the rest of it is expected

	mu      sync.Mutex
	actors  map[chat.Conversation]*actor
	undone  map[chat.Conversation][]string // turns whose replies are not delivered; the chat's next message causes a new attempt
	stopped chan struct{}                  // closed once no new turn may begin; replaced only while no actor runs
	running sync.WaitGroup                 // counts the running actors

	reloading sync.Mutex                    // held while options change, and while endpoints start or stop receiving
	known     map[chat.EndpointID]*endpoint // every endpoint that was configured since the start
	receivers sync.WaitGroup
	receiving context.Context //nolint:containedctx // context of Run; nil before Run

	// Two contexts last longer than Run's ctx. At a shutdown, the context in the field turns ends when the time for running
	// turns is over. The context in the field deliveries ends after the whole grace period.
	turns, deliveries context.Context //nolint:containedctx // the gateway ends these contexts; no caller does
	endTurns, endAll  context.CancelCauseFunc
	edits             *edits

	// The gateway uses the following fields only if several processes share the store.
	member                atomic.Pointer[member] // nil before the first registration
	leaseErr              atomic.Pointer[error]  // why the last registration or renewal of the lease failed; nil: it succeeded
	lostLeases, forwarded atomic.Int64           // see ReplicaState
}

// errShutdown is the cause of contexts that end because the daemon is stopping.
var errShutdown = errors.New("the daemon is stopping")

// configured contains the gateway's current options and endpoints. A configured value never changes; a reload
// replaces it by a new value.
type configured struct {
	Options
	endpoints map[chat.EndpointID]*endpoint
}

// current returns the current options and endpoints. Code that needs several options, such as a model and its Runner, must
// read all of them from the result of one call of the method current. If a reload happened between two calls of the method
// current, the two results could contain options that do not fit together.
func (g *Gateway) current() *configured { return g.options.Load() }

// texts returns the fixed texts that people see, from the newest configuration.
func (g *Gateway) texts() Texts { return g.current().Texts }

// New checks the options and returns a gateway that is not running yet.
func New(o Options) (*Gateway, error) {
	g := &Gateway{
		Log: o.Log, store: newStores(o.Store), shared: o.Replicas, stopped: make(chan struct{}), actors: make(map[chat.Conversation]*actor), undone: make(map[chat.Conversation][]string),
		policy: access.NewPolicy(o.Access, o.Store, o.Log), meter: access.NewMeter(o.Limits, o.Access, o.Store, counter(o.Replicas)),
		reader: cmp.Or(o.Reader, attachment.NewReader()), refused: access.NewThrottle(time.Minute),
		strangers: access.NewThrottle(time.Minute), coded: access.NewThrottle(time.Minute), expected: access.NewThrottle(queue.PieceWindow), known: make(map[chat.EndpointID]*endpoint),
	}
	next, err := g.prepare(o)
	if err != nil {
		return nil, err
	}
	g.apply(next)
	return g, nil
}

// counter returns the counter that counts people's turns over all replicas. If the store is not shared, the function counter
// returns nil.
func counter(r Replicas) access.Counter {
	if r == nil {
		return nil
	}
	return r
}

// queueRules returns the rules for queued messages. A question merged from several messages must fit the smallest
// context window of all models, because a model can't answer a longer question.
func (g *Gateway) queueRules() queue.Rules {
	now := g.current()
	r := queue.Rules{Max: now.MaxQueued, Merge: now.Busy == Interrupt, MaxMerge: maxText, Alone: asksAgain}
	for _, m := range now.Models {
		if m.Window > 0 {
			r.MaxMerge = min(r.MaxMerge, m.Window) // a token has several bytes, so a question of this size uses less than half of the window
		}
	}
	return r
}

// drainShare divides the grace period of a shutdown into two parts. In the first sixth of the grace period, running
// turns may finish. In the other five sixths, the gateway makes replies final. The comment of the method turnGrace
// explains an exception.
const drainShare = 6

// lastWait is how long calls may take to return after their context has ended.
const lastWait = 2 * time.Second

// Run receives and answers messages until ctx ends, and then shuts down cleanly: it accepts no new messages, gives running
// turns some time to finish, interrupts the others, and makes every reply final, all within the grace period. Run calls the
// parameter ready once every endpoint has begun to connect. An endpoint that can't connect tries again, unless the platform
// refuses its credentials several times.
//
// If several processes share the store and this process loses its lease, Run drops the state of all conversations, as
// if the process had died. After a lost lease, Run registers the process again.
func (g *Gateway) Run(ctx context.Context, ready func()) error {
	for {
		err := g.live(ctx, ready)
		if errors.Is(err, chat.ErrLost) {
			g.lostLeases.Add(1)
		}
		switch {
		case !errors.Is(err, chat.ErrLost):
			return err
		case ctx.Err() != nil:
			return nil // other replicas take over all work
		}
		g.forgetAll()
		ready = func() {}
	}
}

// forgetAll drops the state of all conversations in this process, and what adapters have learned about messages.
func (g *Gateway) forgetAll() {
	for _, e := range g.current().endpoints {
		if l, ok := e.account().Platform.(Learner); ok {
			l.Forget()
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.actors, g.undone, g.stopped = make(map[chat.Conversation]*actor), make(map[chat.Conversation][]string), make(chan struct{})
}

// live runs the gateway until ctx ends or this process loses its lease.
func (g *Gateway) live(ctx context.Context, ready func()) error {
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
	if g.shared != nil {
		return g.liveShared(ctx, ready)
	}
	if err := g.takeUp(ctx); err != nil || ctx.Err() != nil {
		if ctx.Err() != nil { // the process was stopped before it began any work, so the next process does the work
			err = nil
		}
		return errors.Join(err, g.drain()) // all actors must end before Run returns
	}
	g.receiveUntil(ctx, ready)
	if errors.Is(context.Cause(ctx), chat.ErrLost) { // another replica answers from now on
		_, ended := g.stop()
		return g.abort(ended)
	}
	return g.drain()
}

// receiveUntil receives messages until ctx ends, and returns once all endpoints have stopped receiving. receiveUntil calls
// the parameter ready once every endpoint has begun to connect.
func (g *Gateway) receiveUntil(ctx context.Context, ready func()) {
	g.reloading.Lock()
	g.receiving = ctx
	g.startReceiving() //nolint:contextcheck // startReceiving uses the context g.receiving
	g.reloading.Unlock()
	ready()
	<-ctx.Done()
	g.reloading.Lock() // wait for a running reload, and let no other reload begin
	g.stopReceiving(func(*endpoint) bool { return true })
	g.reloading.Unlock()
	g.receivers.Wait()
}

// receiveMore starts receiving for endpoints that may receive now. If receiveUntil is not running, receiveMore does nothing.
func (g *Gateway) receiveMore() {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	if g.receiving != nil && g.receiving.Err() == nil {
		g.startReceiving()
	}
}

// drain shuts the gateway down. drain waits until all actors have ended, or until the grace period is over.
func (g *Gateway) drain() error {
	busy, ended := g.stop()
	g.Log.Info("stopping", slog.Int("conversations_under_way", busy))
	grace := g.current().Grace
	soft := time.AfterFunc(g.turnGrace(grace), func() { g.endTurns(errShutdown) })
	hard := time.AfterFunc(grace, func() { g.endAll(errShutdown) })
	defer soft.Stop()
	defer hard.Stop()
	select {
	case <-ended:
	case <-time.After(grace + lastWait):
	case <-g.lost():
		return g.abort(ended)
	}
	if g.deliveries.Err() != nil {
		return fmt.Errorf("stop: replies were not made final within %v", grace)
	}
	return nil
}

// turnGrace returns the part of the grace period in which running turns may finish: one sixth, or five sixths if
// another replica answers new messages meanwhile. The other replica would have to run an unfinished turn again, and
// people would not see the reply grow for a while.
func (g *Gateway) turnGrace(grace time.Duration) time.Duration {
	if g.handsOver() {
		return grace - grace/drainShare
	}
	return grace / drainShare
}

// handsOver reports whether another replica continues the work of this process when this process stops.
func (g *Gateway) handsOver() bool {
	m := g.member.Load()
	return m != nil && m.hasSuccessor()
}

// close keeps new turns from beginning, wakes all actors, and returns the number of actors.
func (g *Gateway) close() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isStopping() {
		close(g.stopped)
	}
	for _, a := range g.actors {
		a.poke()
	}
	return len(g.actors)
}

// The method stop does what the method close does, and also returns a channel that is closed when all actors have ended.
func (g *Gateway) stop() (busy int, ended <-chan struct{}) {
	busy = g.close()
	all := make(chan struct{})
	go func() {
		g.running.Wait()
		close(all)
	}()
	return busy, all
}

// Policy returns the access policy.
func (g *Gateway) Policy() *access.Policy { return g.policy }

// isStopping reports whether new turns must not begin.
func (g *Gateway) isStopping() bool {
	select {
	case <-g.stopped:
		return true
	default:
		return false
	}
}
