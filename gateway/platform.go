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

// Platform is the interface that every adapter implements. The method Capabilities lists the optional abilities of the
// adapter. For each of these abilities, the adapter implements an optional interface of this package or of package preview.
type Platform interface {
	preview.Sender
	// Capabilities always returns the same value.
	Capabilities() chat.Capabilities
	// Run receives messages until ctx ends, and passes each message to the parameter accept. The first message is the one after
	// the position in the parameter from. accept returns nil when the message is stored or permanently refused. Run may
	// acknowledge a message to the platform only after accept has returned nil. If an update is invalid, Run must continue with
	// the next update. Run returns ctx's error if ctx has ended. If the connection failed, Run returns a *chat.SendError, and
	// the caller calls Run again.
	Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error
}

// Fetcher is an adapter that can fetch attachments.
type Fetcher interface {
	// Fetch returns the content of an attachment, at most limit bytes. If the content is longer than limit, Fetch
	// returns an error that wraps chat.ErrTooLarge. Fetch never holds more than limit bytes in memory. Other errors
	// of Fetch are a *chat.SendError; its Kind is Gone if the platform no longer has the attachment. Fetch blocks
	// until it has read all content or ctx ends.
	Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error)
}

// ThreadReader is an adapter that can read the messages that people wrote in a thread before they asked the bot there.
type ThreadReader interface {
	// ReadThread returns messages of the thread to.Thread that are older than the message whose id is in the parameter before,
	// oldest first. If the thread has more such messages than the parameter most says, ReadThread returns its first message and
	// the newest other messages. ReadThread returns its errors as a *chat.SendError. ReadThread blocks until the platform has
	// answered or ctx ends.
	ReadThread(ctx context.Context, to chat.Target, before chat.MessageID, most int) ([]chat.Quote, error)
}

// Named is an adapter that can return the bot's name on the platform.
type Named interface {
	// Name returns the bot's name on the platform, or "" while the adapter has not learned the name yet. Name does not block.
	Name() string
}

// Pane is an adapter whose platform has a pane for conversations with the bot. The methods of Pane return their
// errors as a *chat.SendError.
type Pane interface {
	// Suggest shows suggested questions. A person asks a suggested question by pressing the question's label. The new suggested
	// questions replace the earlier ones. The platform shows the parameter heading above the questions, or its own heading if
	// the parameter is empty. Suggest shows at most MaxPrompts questions.
	Suggest(ctx context.Context, to chat.Target, heading string, prompts []chat.Prompt) error
	// NameThread gives a thread a name, by which people find the thread again. NameThread shortens a name that is too
	// long for the platform.
	NameThread(ctx context.Context, to chat.Target, name string) error
}

// Idler is an adapter whose platform may still show the typing indicator after an answer.
type Idler interface {
	// Idle removes the typing indicator. A second call of Idle has no effect. Idle returns its errors as a *chat.SendError.
	Idle(ctx context.Context, to chat.Target) error
}

// Menu is an adapter whose platform shows a menu of commands.
type Menu interface {
	// SetCommands replaces the commands in the platform's menu. If the platform can show a menu to some people only, only
	// the admins see the commands for admins. If the menu is already up to date, SetCommands does not change it.
	SetCommands(ctx context.Context, commands []chat.CommandSpec, admins []chat.UserID) error
}

// Concluder is an adapter that must be told when messages have been answered.
type Concluder interface {
	// The gateway calls Concluded when it has answered messages. The parameter failed is true if people got no answer, or only a
	// part of the answer. The gateway calls Concluded only after all calls to the platform for the answer have returned.
	// Concluded must not block. If the platform delivers an answered message again, the gateway calls Concluded again.
	Concluded(to chat.Target, messages []chat.MessageID, failed bool)
}

// Adopter is an adapter that keeps data about a message until the message is answered. The adapter may not have seen a
// message, because another replica or an earlier process received the message.
type Adopter interface {
	// The gateway calls Adopt with a message that this process is about to answer, before it makes any call to the
	// platform for the answer. Adopt returns the message with the adapter's additions. The gateway may call Adopt
	// again with the same message. Adopt does not block.
	Adopt(chat.Inbound) chat.Inbound
}

// StandbyWorker is an adapter that has work to do while another replica receives the endpoint's messages.
type StandbyWorker interface {
	// StandBy does the adapter's work until ctx ends. StandBy also asks the platform regularly whether the bot's credentials are
	// valid, and calls the parameter works each time the credentials are valid. If the platform can't be asked, StandBy returns
	// a *chat.SendError, and the caller calls StandBy again. While StandBy runs, the gateway does not call Run.
	StandBy(ctx context.Context, works func()) error
}

// Screener is a Platform that must answer some messages before accept returns. Discord, for example, waits only 3 s
// for the first answer to a command, and storing the message may take longer.
type Screener interface {
	// The gateway calls Screen once, before Run. With the Screen, the adapter can answer a message before the message is stored.
	Screen(chat.Screen)
}

// Pulse is an adapter that reports whether its receive loop is still running.
type Pulse interface {
	// Pulse returns the time of the receive loop's last iteration, and the maximum duration of one iteration. The
	// maximum duration of an iteration must hold even if the network fails.
	Pulse() (last time.Time, limit time.Duration)
}

// Learner is an adapter whose method Find needs the ids of existing messages, including messages that other replicas
// sent or received.
type Learner interface {
	// Before a search, the gateway calls Learn with messages that are known to exist. Several calls of Learn may contain
	// the same message. Learn does not block.
	Learn(known []chat.MessageRef)
	// The gateway calls Forget, between two searches, when this process has lost its lease. A process that has lost its lease
	// may have sent messages whose ids it could not store. The next owner of the chat continues the turns of such messages as
	// after a crash, so a search must be able to find the messages. Forget makes the adapter forget the messages that Learn has
	// not named. Forget does not block.
	Forget()
}

// Blocks stores rate-limit blocks: the times in which a platform refuses calls.
type Blocks interface {
	SaveBlock(ctx context.Context, e chat.EndpointID, b chat.Block) error
	Blocks(ctx context.Context, e chat.EndpointID) ([]chat.Block, error)
}

// Endpoint is one configured bot account.
type Endpoint struct {
	ID        chat.EndpointID
	Platform  Platform
	Network   string // name of the platform that people and models read, such as "Telegram"
	Streaming preview.Config
	// LinkPreviews lets the platform show previews of URLs that the asker typed. The gateway asks the platform not to
	// show previews of other URLs.
	LinkPreviews bool
	StopButton   Button
	Observer     Observer // nil: nobody observes the endpoint
}

// endpoint is the part of an endpoint that a reload does not replace.
type endpoint struct {
	ID       chat.EndpointID
	now      atomic.Pointer[account]
	vital    vital
	budget   *budget.Budget
	pulse    *preview.Pulse
	restored queue.Pacer   // limits how many conversations resume at the same time after a restart
	nameless atomic.Bool   // the platform has returned a message without an id, so messages can't be edited there
	dead     atomic.Bool   // the platform refuses the credentials, so the endpoint has stopped until a reload
	away     atomic.Bool   // this replica lets another replica receive, because receiving failed in this replica
	menuNews chan struct{} // capacity 1: signals that the menu may have changed
	stop     func()        // ends receiving or standing by and waits for the end; nil: neither runs; guarded by Gateway.reloading
	standsBy bool          // the endpoint stands by, because another replica receives; guarded by Gateway.reloading
}

// account is an Endpoint with its optional interfaces resolved. An account never changes; a reload replaces it by a
// new account.
type account struct {
	Endpoint
	out       preview.Endpoint
	fetcher   Fetcher      // nil: attachments can't be read
	threads   ThreadReader // nil: threads can't be read
	menu      Menu         // nil: no command menu
	concluder Concluder    // nil: the adapter need not be told when messages are answered
	pulse     Pulse        // nil: the adapter has no pulse
	marker    Marker       // nil: the platform can't show that a message waits
	pane      Pane         // nil: the platform has no pane
	idler     Idler        // nil: the platform removes the typing indicator itself
	buttons   bool         // the platform can show buttons
	works     *works       // says whether the adapter works
}

// account returns the endpoint's account at this moment.
func (e *endpoint) account() *account { return e.now.Load() }

// The type works has a channel that is closed once an adapter works, which means that the adapter has been connected for a
// while.
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

// storedBudget is the endpoint's budget for replies. storedBudget stores each rate-limit block, so that the next
// process respects the block too.
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

// newEndpoint returns an endpoint without an account.
func newEndpoint(id chat.EndpointID) *endpoint {
	return &endpoint{ID: id, budget: budget.New(), pulse: new(preview.Pulse), menuNews: make(chan struct{}, 1)}
}

// resolve resolves the optional interfaces of the endpoint's platform. resolve fails if the platform's interfaces
// don't match its capabilities.
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
			g.Log.Error("end of a rate limit's wait was not stored", slog.String("endpoint", string(e.ID)), slog.Any("error", err))
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
