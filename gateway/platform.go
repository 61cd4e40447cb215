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

// Platform is what an adapter must be. What else it can do it says in Capabilities and
// implements as the optional interfaces of package preview.
type Platform interface {
	preview.Sender
	// Capabilities is static.
	Capabilities() chat.Capabilities
	// Run receives until ctx ends, beginning after the message that was last accepted.
	// accept returns nil once the message is taken (or refused for good); only then may Run
	// acknowledge it upstream. One bad update never blocks the next. Run returns ctx's error
	// when ctx ended and a *chat.SendError when the network did; the caller runs it again.
	Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error
}

// Fetcher is an adapter that fetches what is attached to messages.
type Fetcher interface {
	// Fetch returns the content of an attachment, at most limit bytes; beyond that the error wraps
	// chat.ErrTooLarge, and no more than limit was ever held. Other errors are a *chat.SendError:
	// Gone when the platform has it no more. Blocks until everything is there or ctx ends.
	Fetch(ctx context.Context, a chat.Attachment, limit int64) ([]byte, error)
}

// Menu is an adapter whose platform offers commands to people by itself.
type Menu interface {
	// SetCommands makes the platform offer these commands, those for admins to the admins alone, and
	// no others. It changes nothing where they are offered already.
	SetCommands(ctx context.Context, commands []chat.CommandSpec, admins []chat.UserID) error
}

// Concluder is an adapter that wants to know when messages have been answered.
type Concluder interface {
	// Concluded says that nothing more follows in answer to these messages of a place. failed: what they got is no
	// answer, or not all of it. All calls for the answer have returned before. It must not block. A message that comes
	// once more after its end is concluded once more.
	Concluded(to chat.Target, messages []chat.MessageID, failed bool)
}

// Screener is a Platform that must answer some messages before accept returns: Discord waits 3 s for the first answer to a
// command.
type Screener interface {
	// Screen is called once, before Run.
	Screen(chat.Screen)
}

// Pulse is an adapter whose Run reports that its receive loop still turns.
type Pulse interface {
	// Pulse returns when the loop last turned, and how long one turn may take at most while the network answers, or fails.
	Pulse() (last time.Time, limit time.Duration)
}

// Blocks keeps which calls a platform does not allow for a while.
type Blocks interface {
	SaveBlock(ctx context.Context, e chat.EndpointID, b chat.Block) error
	Blocks(ctx context.Context, e chat.EndpointID) ([]chat.Block, error)
}

// Endpoint is one configured bot account.
type Endpoint struct {
	ID        chat.EndpointID
	Platform  Platform
	Streaming preview.Config
	// LinkPreviews lets the platform show previews of addresses that the asker typed. It shows no others.
	LinkPreviews bool
	StopButton   Button
}

// endpoint is an Endpoint with its optional abilities resolved.
type endpoint struct {
	Endpoint
	out      preview.Endpoint
	fetcher  Fetcher   // nil: attachments can't be read there
	menu     Menu      // nil: it has none
	told     Concluder // nil: it does not want to know
	pulse    Pulse     // nil: it has no loop that could hang
	vital    vital
	buttons  bool // it can show them
	purse    *budget.Budget
	restored queue.Pacer   // of what an earlier process left
	nameless atomic.Bool   // it returned no message id once: nothing can be edited there
	dead     atomic.Bool   // it receives nothing any more
	works    chan struct{} // closed by markWorks
	mark     sync.Once
}

// markWorks says that the endpoint has received for a while.
func (e *endpoint) markWorks() { e.mark.Do(func() { close(e.works) }) }

// streaming returns how replies stream here, as far as the platform can do what is wanted.
func (e *endpoint) streaming() preview.Config {
	c := e.Streaming
	previews := e.out.Editor != nil || e.out.Drafter != nil || e.out.Streamer != nil
	c.Enabled = c.Enabled && previews && !e.nameless.Load()
	return c
}

// purse is an endpoint's budget as replies see it. Blocks outlast the process.
type purse struct {
	*budget.Budget
	save func(chat.Block)
}

// Request implements preview.Budget.
func (p purse) Request(c chat.Call) preview.Ticket { return p.Budget.Request(c) }

// Block implements preview.Budget.
func (p purse) Block(c chat.Call, s chat.Scope, ops chat.Op, d time.Duration) {
	p.save(p.Budget.Block(c, s, ops, d))
}

// resolve checks once that p keeps what its capabilities promise.
func (g *Gateway) resolve(e Endpoint) (*endpoint, error) {
	p := e.Platform
	r := &endpoint{Endpoint: e, buttons: p.Capabilities().Buttons, purse: budget.New(), works: make(chan struct{})}
	out := preview.Endpoint{Sender: p, Pulse: new(preview.Pulse), Budget: purse{r.purse, func(b chat.Block) {
		if err := g.store.blocks.SaveBlock(g.deliveries, e.ID, b); err != nil {
			g.Log.Error("block was not stored", slog.String("endpoint", string(e.ID)), slog.Any("error", err))
		}
	}}}
	out.Editor, _ = p.(preview.Editor)
	out.Deleter, _ = p.(preview.Deleter)
	out.Typer, _ = p.(preview.Typer)
	out.Filer, _ = p.(preview.Filer)
	out.Drafter, _ = p.(preview.Drafter)
	out.Streamer, _ = p.(preview.Streamer)
	out.Finder, _ = p.(preview.Finder)
	r.fetcher, _ = p.(Fetcher)
	r.menu, _ = p.(Menu)
	r.told, _ = p.(Concluder)
	if s, ok := p.(Screener); ok {
		s.Screen(chat.Screen{Refusal: func(in chat.Inbound) string { return g.refusal(e.ID, in) }, Unstored: g.Texts[TextUnstored]})
	}
	r.pulse, _ = p.(Pulse)
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
		{"Menu", p.Capabilities().Menu, r.menu != nil},
		{"Concludes", p.Capabilities().Concludes, r.told != nil},
	} {
		if c.promised != c.kept {
			return nil, fmt.Errorf("endpoint %s: capability %s is %t but its interface is implemented: %t",
				e.ID, c.name, c.promised, c.kept)
		}
	}
	r.out = out
	return r, nil
}
