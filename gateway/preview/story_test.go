package preview

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway/budget"
	"telex/internal/chat"
)

// budgetAdapter implements Budget with a *budget.Budget.
type budgetAdapter struct{ *budget.Budget }

func (p budgetAdapter) Request(c chat.Call) Ticket { return p.Budget.Request(c) }

func (p budgetAdapter) Block(c chat.Call, s chat.Scope, ops chat.Op, d time.Duration) {
	p.Budget.Block(c, s, ops, d)
}

// story is one reply in a test.
type story struct {
	*person
	t      *testing.T
	slot   *Slot
	cancel context.CancelFunc
	ended  chan struct{}
	out    Outcome
}

// streamed returns the configuration that most stories use.
func streamed() Config { return Config{Enabled: true, MinTokens: 3, Cursor: " ▌"} }

// endpoint returns an endpoint with all interfaces of the platform.
func (p *person) endpoint() Endpoint {
	return Endpoint{Sender: p, Editor: p, Deleter: p, Typer: p, Budget: budgetAdapter{budget.New()}}
}

// begin starts a reply in virtual time.
func begin(t *testing.T, p *person, c Config) *story {
	t.Helper()
	return beginAt(t, p, p.endpoint(), c, "key")
}

func beginAt(t *testing.T, p *person, e Endpoint, c Config, key string) *story {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &story{person: p, t: t, slot: NewSlot(), cancel: cancel, ended: make(chan struct{})}
	r := New(Options{
		Endpoint: e, Config: c, To: chat.Target{Chat: "a"}, ReplyTo: "asked", Key: key,
		Slot: s.slot, Log: slog.New(slog.DiscardHandler),
	})
	go func() {
		defer close(s.ended)
		s.out = r.Run(ctx)
	}()
	synctest.Wait()
	return s
}

// says appends the model's text, with each word as one token, and then waits.
func (s *story) says(text string, wait time.Duration) {
	s.slot.Append(text, len(strings.Fields(text)))
	s.waits(wait)
}

func (s *story) waits(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// The method ends makes the reply end with e, and waits for the outcome.
func (s *story) ends(e Ending) Outcome {
	s.slot.Finish(e)
	<-s.ended
	s.cancel()
	for _, w := range slices.Concat(s.wrong, s.repeats()) {
		s.t.Error(w)
	}
	return s.out
}

// delivers makes the reply end with e, and checks that exactly the texts in want are visible.
func (s *story) delivers(e Ending, want ...string) {
	s.t.Helper()
	if o := s.ends(e); !o.Delivered || o.Err != nil {
		s.t.Errorf("outcome %+v, want it delivered", o)
	}
	equal(s.t, "person sees", s.sees(), want)
}

// equal fails the test with both lists, one element per line, if they differ.
func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s\n got:\n\t%s\nwant:\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// bubble runs a test in virtual time, in parallel with others.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// counter is a log handler that counts warnings and errors.
type counter struct{ n *int }

func (c counter) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (c counter) WithAttrs([]slog.Attr) slog.Handler           { return c }
func (c counter) WithGroup(string) slog.Handler                { return c }
func (c counter) Handle(context.Context, slog.Record) error {
	*c.n++
	return nil
}
