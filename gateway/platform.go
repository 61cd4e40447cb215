package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"telex/gateway/budget"
	"telex/gateway/preview"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// Platform is the interface that every adapter implements. Capabilities lists its optional abilities. For these,
// the adapter implements optional interfaces of this package and of package preview.
type Platform interface {
	preview.Sender
	// Capabilities always returns the same value.
	Capabilities() chat.Capabilities
	// Run receives messages until ctx ends, starting after the last accepted one. accept returns nil once the
	// message is stored or permanently refused; only then may Run acknowledge it to the platform. An invalid
	// update must not block the next one. Run returns ctx's error if ctx ended, and a *chat.SendError if the
	// connection failed; the caller then runs it again.
	Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error
}

// Fetcher is an adapter that can fetch attachments.
type Fetcher interface {
	// Fetch returns the content of an attachment, at most limit bytes. If the content is longer, the error wraps
	// chat.ErrTooLarge, and Fetch never holds more than limit bytes. Other errors are a *chat.SendError: Gone if
	// the platform no longer has the attachment. Fetch blocks until all content is there or ctx ends.
	Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error)
}

// ThreadReader is an adapter that can read what was written in a thread before the bot was asked there.
type ThreadReader interface {
	// ReadThread returns messages of the thread to.Thread that are older than the message with the id before, oldest
	// first. They are the thread's first message and the newest of the others. The argument most limits their
	// number. Errors are a *chat.SendError. ReadThread blocks until the platform has answered or ctx ends.
	ReadThread(ctx context.Context, to chat.Target, before chat.MessageID, most int) ([]chat.Quote, error)
}

// Named is an adapter that knows what people call the bot.
type Named interface {
	// Name returns the bot's name on the platform; "" while it is unknown. It does not block.
	Name() string
}

// Pane is an adapter whose platform has a pane for conversations with the bot. Errors are a *chat.SendError.
type Pane interface {
	// Suggest shows questions that people can ask by pressing them. They replace earlier suggestions. heading is shown
	// above them; if it is empty, the platform shows its own. At most MaxPrompts are shown.
	Suggest(ctx context.Context, to chat.Target, heading string, prompts []chat.Prompt) error
	// NameThread gives a thread a name, by which people find it again. A long name is cut.
	NameThread(ctx context.Context, to chat.Target, name string) error
}

// Idler is an adapter whose typing indicator may stay after an answer.
type Idler interface {
	// Idle removes the typing indicator. It can be repeated. Errors are a *chat.SendError.
	Idle(ctx context.Context, to chat.Target) error
}

// Menu is an adapter whose platform shows a menu of commands.
type Menu interface {
	// SetCommands replaces the platform's commands by these; admin commands are shown to admins only. It changes
	// nothing if the menu is already up to date.
	SetCommands(ctx context.Context, commands []chat.CommandSpec, admins []chat.UserID) error
}

// Concluder is an adapter that wants to know when messages have been answered.
type Concluder interface {
	// Concluded reports that the answer to these messages is complete. failed reports that there is no answer or
	// only a part of it. All calls to the platform for this answer have returned before. Concluded must not block.
	// If the platform delivers an answered message again, Concluded is called again.
	Concluded(to chat.Target, messages []chat.MessageID, failed bool)
}

// Adopter is an adapter that keeps data about a message until the message is answered. Another replica or an earlier
// process may have received the message.
type Adopter interface {
	// Adopt is called with a message that this process answers, before any call for the answer. It returns the message
	// with the adapter's additions. It can be repeated. It does not block.
	Adopt(chat.Inbound) chat.Inbound
}

// StandbyWorker is an adapter with work to do while another replica receives.
type StandbyWorker interface {
	// StandBy does this work until ctx ends. It also asks the platform regularly whether the bot's credentials are
	// valid, and calls works each time they are. If it can't ask, it returns a *chat.SendError, and the caller calls
	// it again. Run is not called meanwhile.
	StandBy(ctx context.Context, works func()) error
}

// Screener is a Platform that must answer some messages before accept returns: Discord waits only 3 s for the
// first answer to a command.
type Screener interface {
	// Screen is called once, before Run.
	Screen(chat.Screen)
}

// Pulse is an adapter that reports whether its receive loop is still running.
type Pulse interface {
	// Pulse returns the time of the loop's last iteration, and the maximum duration of one iteration, whether
	// the network answers or fails.
	Pulse() (last time.Time, limit time.Duration)
}

// Learner is an adapter whose Find must know which messages exist, also those that other replicas sent or received.
type Learner interface {
	// Learn is called before a search with messages that exist. It may get the same message many times. It does not
	// block.
	Learn(known []chat.MessageRef)
	// Forget is called, between two searches, when this process has lost its lease. The process may have sent
	// messages whose ids it did not store. Their turns are continued as after a crash, so a search must find these
	// messages, unless Learn names them. It does not block.
	Forget()
}

// Blocks stores rate limit blocks of platforms.
type Blocks interface {
	SaveBlock(ctx context.Context, e chat.EndpointID, b chat.Block) error
	Blocks(ctx context.Context, e chat.EndpointID) ([]chat.Block, error)
}

// Endpoint is one configured bot account.
type Endpoint struct {
	ID        chat.EndpointID
	Platform  Platform
	Network   string // the platform's name for people and models to read, such as "Telegram"
	Streaming preview.Config
	// LinkPreviews lets the platform show previews of URLs that the asker typed, and of no others.
	LinkPreviews bool
	StopButton   Button
	Observer     Observer // nil: nobody
}

// endpoint is the part of an endpoint that lasts while the process runs, through reloads.
type endpoint struct {
	ID       chat.EndpointID
	now      atomic.Pointer[account]
	vital    vital
	budget   *budget.Budget
	pulse    *preview.Pulse
	restored queue.Pacer   // limits how many conversations resume at the same time
	nameless atomic.Bool   // the platform returned a message without an id once: nothing can be edited there
	dead     atomic.Bool   // the platform refuses its credentials: it has stopped permanently
	away     atomic.Bool   // receiving failed, so another replica receives; this one has not recovered yet
	menuNews chan struct{} // capacity 1: the menu may have changed
	stop     func()        // ends receiving or standing by, and returns once that has ended; nil: the endpoint does neither; guarded by Gateway.reloading
	standsBy bool          // another replica receives; guarded like stop
}

// account is an Endpoint with its optional interfaces resolved. It never changes: a reload replaces it.
type account struct {
	Endpoint
	out       preview.Endpoint
	fetcher   Fetcher      // nil: attachments can't be read
	threads   ThreadReader // nil: threads can't be read
	menu      Menu         // nil: no command menu
	concluder Concluder    // nil: the adapter need not know when messages are answered
	pulse     Pulse        // nil: it reports no pulse
	marker    Marker       // nil: it can't show that a message waits
	pane      Pane         // nil: it has no pane
	idler     Idler        // nil: its typing indicator vanishes by itself
	buttons   bool         // the platform can show buttons
	works     *works       // whether the adapter works
}

// account returns the endpoint's account at this moment.
func (e *endpoint) account() *account { return e.now.Load() }

// works reports through a channel that an adapter works, which means that it has received for a while.
type works struct {
	once sync.Once
	yes  chan struct{} // closed by mark
}

func (w *works) mark() { w.once.Do(func() { close(w.yes) }) }

// streaming returns the streaming configuration, restricted to what the platform supports.
func (e *endpoint) streaming() preview.Config {
	now := e.account()
	c := now.Streaming
	previews := now.out.Editor != nil || now.out.Drafter != nil || now.out.Streamer != nil
	c.Enabled = c.Enabled && previews && !e.nameless.Load()
	return c
}

// storedBudget is the endpoint's budget as used by replies. It stores blocks, so that they survive a restart.
type storedBudget struct {
	*budget.Budget
	save func(chat.Block)
}

// Request implements preview.Budget.
func (p storedBudget) Request(c chat.Call) preview.Ticket { return p.Budget.Request(c) }

// Block implements preview.Budget.
func (p storedBudget) Block(c chat.Call, s chat.Scope, ops chat.Op, d time.Duration) {
	p.save(p.Budget.Block(c, s, ops, d))
}

// newEndpoint returns the lasting part of an endpoint, without an account.
func newEndpoint(id chat.EndpointID) *endpoint {
	return &endpoint{ID: id, budget: budget.New(), pulse: new(preview.Pulse), menuNews: make(chan struct{}, 1)}
}

// resolve resolves the optional interfaces of the endpoint's platform. It fails if they don't match the capabilities.
func (g *Gateway) resolve(of *endpoint, e Endpoint) (*account, error) {
	p := e.Platform
	r := &account{Endpoint: e, buttons: p.Capabilities().Buttons, works: &works{yes: make(chan struct{})}}
	before := of.account()
	known := before != nil && before.Platform == p
	if known {
		r.works = before.works
	}
	out := preview.Endpoint{Sender: p, Pulse: of.pulse, Budget: storedBudget{of.budget, func(b chat.Block) {
		if err := g.store.blocks.SaveBlock(g.deliveries, e.ID, b); err != nil {
			g.Log.Error("block was not stored", slog.String("endpoint", string(e.ID)), slog.Any("error", err))
		}
	}}, Current: func() preview.Endpoint { return of.account().out }}
	if e.Observer != nil {
		out.Observer = e.Observer
	}
	if g.shared != nil {
		out.MayCall = g.mayCall
	}
	out.Editor, _ = p.(preview.Editor)
	out.Deleter, _ = p.(preview.Deleter)
	out.Typer, _ = p.(preview.Typer)
	out.Filer, _ = p.(preview.Filer)
	out.Drafter, _ = p.(preview.Drafter)
	out.Streamer, _ = p.(preview.Streamer)
	out.Finder = g.finder(e.ID, p)
	r.fetcher, _ = p.(Fetcher)
	r.threads, _ = p.(ThreadReader)
	r.menu, _ = p.(Menu)
	r.concluder, _ = p.(Concluder)
	if s, ok := p.(Screener); ok && !known {
		s.Screen(chat.Screen{
			Refusal:  func(in chat.Inbound) string { return g.refusal(e.ID, in) },
			Unstored: func() string { return g.texts()[TextUnstored] }, Commands: g.menu,
		})
	}
	r.pulse, _ = p.(Pulse)
	r.marker, _ = p.(Marker)
	r.pane, _ = p.(Pane)
	r.idler, _ = p.(Idler)
	for _, c := range []struct {
		name     string
		promised bool
		kept     bool
	}{
		{"Edit", p.Capabilities().Edit, out.Editor != nil},
		{"Delete", p.Capabilities().Delete, out.Deleter != nil},
		{"Typing", p.Capabilities().Typing, out.Typer != nil},
		{"File", p.Capabilities().File, out.Filer != nil},
		{"Draft", p.Capabilities().Draft, out.Drafter != nil},
		{"Stream", p.Capabilities().Stream, out.Streamer != nil},
		{"Find", p.Capabilities().Find, out.Finder != nil},
		{"Fetch", p.Capabilities().Fetch, r.fetcher != nil},
		{"Thread", p.Capabilities().Thread, r.threads != nil},
		{"Menu", p.Capabilities().Menu, r.menu != nil},
		{"Concludes", p.Capabilities().Concludes, r.concluder != nil},
		{"Pane", p.Capabilities().Pane, r.pane != nil},
	} {
		if c.promised != c.kept {
			return nil, fmt.Errorf("endpoint %s: capability %s is %t but its interface is implemented: %t",
				e.ID, c.name, c.promised, c.kept)
		}
	}
	r.out = out
	return r, nil
}
