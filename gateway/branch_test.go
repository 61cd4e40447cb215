package gateway_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"telex/internal/chat"
)

// branch is one replica's connection to the platform that all replicas share.
type branch struct {
	*platform
	one  bool // only one replica may receive
	owns bool // only the receiving replica can answer

	mu     sync.Mutex
	accept func(context.Context, chat.Inbound) error // nil: the replica does not receive
	from   chat.Resume
	left   int // number of other receiving replicas when Run ended
	called []time.Time
	broken error         // the error of all calls; nil: they succeed
	news   chan struct{} // closed when the field broken changes
}

// fails makes all further calls of this replica to the platform fail with the error in the parameter why. If the
// parameter why is nil, the calls succeed again.
func (b *branch) fails(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = why
	if b.news != nil {
		close(b.news)
		b.news = nil
	}
}

func (b *branch) trouble() (news <-chan struct{}, broken error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.news == nil {
		b.news = make(chan struct{})
	}
	return b.news, b.broken
}

func (b *branch) Capabilities() chat.Capabilities {
	c := b.platform.Capabilities()
	c.OneReceiver, c.ReceiverAnswers = b.one, b.owns
	return c
}

func (b *branch) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	news, broken := b.trouble()
	if broken != nil {
		return broken
	}
	b.mu.Lock()
	b.accept, b.from = accept, from
	b.mu.Unlock()
	defer func() {
		left, _ := from.Fellows()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.accept, b.left = nil, left
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-news:
		_, broken = b.trouble()
		return broken
	}
}

func (b *branch) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	b.calls()
	if _, broken := b.trouble(); broken != nil {
		return chat.Receipt{}, broken
	}
	return b.platform.Send(ctx, to, m)
}

func (b *branch) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	b.calls()
	if _, broken := b.trouble(); broken != nil {
		return chat.Receipt{}, broken
	}
	return b.platform.Edit(ctx, ref, m)
}

func (b *branch) calls() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.called = append(b.called, time.Now())
}

// last returns the time of the replica's last call to the platform.
func (b *branch) last() (at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.called); n > 0 {
		at = b.called[n-1]
	}
	return at
}

func (b *branch) receives() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accept != nil
}

// say lets this replica receive a person's message.
func (b *branch) say(t *testing.T, in chat.Inbound) {
	t.Helper()
	b.mu.Lock()
	accept := b.accept
	b.mu.Unlock()
	if accept == nil {
		t.Fatal("this replica does not receive")
	}
	b.platform.mu.Lock()
	b.said++
	if in.ID == "" {
		in.ID = chat.MessageID(fmt.Sprint("m", b.said))
	}
	b.platform.mu.Unlock()
	if err := accept(t.Context(), in); err != nil {
		t.Fatalf("accept: %v", err)
	}
}
