package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// beating is a platform whose receive loop reports every 30 seconds that it works, until it hangs.
type beating struct {
	*platform
	hung atomic.Bool
	last atomic.Int64
	away bool // every call of Run fails
}

func (b *beating) Run(ctx context.Context, _ chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	if b.away {
		return &chat.SendError{Kind: chat.Temporary, Err: errors.New("connection refused")}
	}
	b.mu.Lock()
	b.accept = accept
	b.mu.Unlock()
	for ctx.Err() == nil {
		if !b.hung.Load() {
			b.last.Store(time.Now().UnixNano())
		}
		select {
		case <-time.After(30 * time.Second):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// Pulse implements gateway.Pulse.
func (b *beating) Pulse() (time.Time, time.Duration) {
	return time.Unix(0, b.last.Load()), 2 * time.Minute
}

// stuckStore is a store that hangs.
type stuckStore struct {
	*memory.Store
	accept, begin chan struct{} // nil: the call does not hang
}

func (s *stuckStore) Accept(ctx context.Context, c chat.Conversation, m chat.Inbound) (bool, error) {
	if s.accept != nil {
		<-s.accept
	}
	return s.Store.Accept(ctx, c, m)
}

func (s *stuckStore) Begin(ctx context.Context, t chat.Turn) error {
	if s.begin != nil {
		<-s.begin
	}
	return s.Store.Begin(ctx, t)
}

// living runs a gateway until the test ends.
func living(t *testing.T, p *beating, s *stuckStore) *gateway.Gateway {
	t.Helper()
	s.Store = memory.New()
	p.platform = newPlatform()
	g, err := gateway.New(gateway.Options{
		Endpoints: []gateway.Endpoint{{ID: "tg", Platform: p}}, Store: s, Access: access.Rules{Open: true},
		Runner: &script{}, MaxQueued: 3, MaxAge: time.Hour, Grace: time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = g.Run(ctx, func() {})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	synctest.Wait()
	return g
}

func wantAlive(t *testing.T, g *gateway.Gateway, hangs string) {
	t.Helper()
	synctest.Wait()
	err := g.Alive()
	if hangs == "" && err != nil || hangs != "" && (err == nil || !strings.Contains(err.Error(), hangs)) {
		t.Errorf("Alive = %v, want %q", err, hangs)
	}
}

// Alive must report a receive loop that does not return from a call. Alive must not report a receive loop that gets no
// message for a day.
func TestHungReceiverIsNotAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &beating{}
		g := living(t, p, &stuckStore{})
		wantAlive(t, g, "")
		later(24 * time.Hour)
		wantAlive(t, g, "")
		p.hung.Store(true)
		later(time.Minute)
		wantAlive(t, g, "")
		later(2 * time.Minute)
		wantAlive(t, g, "endpoint tg: its receive loop has stood still for")
		p.hung.Store(false)
		later(time.Minute)
		wantAlive(t, g, "")
	})
}

// During an outage of the platform, the endpoint tries again and again to connect. Alive must not report an endpoint
// that tries to connect during an outage.
func TestOutageIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := living(t, &beating{away: true}, &stuckStore{})
		for range 100 {
			later(47 * time.Second)
			wantAlive(t, g, "")
		}
	})
}

// Alive must report an endpoint whose message the store does not accept in time.
func TestHungAcceptIsNotAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := &beating{}, &stuckStore{accept: make(chan struct{})}
		g := living(t, p, s)
		go func() { _ = p.accept(t.Context(), ask("hi")) }()
		later(time.Minute)
		wantAlive(t, g, "")
		later(2 * time.Minute)
		wantAlive(t, g, "endpoint tg: a message has not been stored for")
		close(s.accept)
		wantAlive(t, g, "")
	})
}

// Alive must report an actor that does not read its messages for a long time. Alive must not report an actor whose turn
// takes a long time.
func TestHungConversationIsNotAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := &beating{}, &stuckStore{begin: make(chan struct{})}
		g := living(t, p, s)
		for _, id := range []chat.MessageID{"1", "2"} {
			in := ask("hi")
			in.ID = id
			if err := p.accept(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			later(time.Second)
		}
		later(4 * time.Minute)
		wantAlive(t, g, "")
		later(2 * time.Minute)
		wantAlive(t, g, "has not looked at a message for")
		close(s.begin)
		later(time.Second)
		wantAlive(t, g, "")
	})
}
