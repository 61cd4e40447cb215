package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"

	"telex/gateway"
	"telex/internal/chat"
)

// ledger is the store of one process. After a case has killed the process, the ledger refuses all writes, as if the
// process no longer existed.
type ledger struct {
	gateway.Store
	mu       sync.Mutex
	dead     bool
	accepted []chat.Inbound // the messages that the store accepted as new
}

var errDead = errors.New("the process was killed")

func (l *ledger) alive(f func() error) error {
	l.mu.Lock()
	dead := l.dead
	l.mu.Unlock()
	if dead {
		return errDead
	}
	return f()
}

// Accept implements gateway.Store.
func (l *ledger) Accept(ctx context.Context, c chat.Conversation, in chat.Inbound) (fresh bool, err error) {
	err = l.alive(func() error {
		fresh, err = l.Store.Accept(ctx, c, in)
		return err
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if fresh {
		l.accepted = append(l.accepted, in)
	}
	return fresh, err
}

// Drop implements gateway.Store.
func (l *ledger) Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	return l.alive(func() error { return l.Store.Drop(ctx, c, ids...) })
}

// Revise implements gateway.Store.
func (l *ledger) Revise(ctx context.Context, c chat.Conversation, in chat.Inbound) error {
	return l.alive(func() error { return l.Store.Revise(ctx, c, in) })
}

// Begin implements gateway.Store.
func (l *ledger) Begin(ctx context.Context, t chat.Turn) error {
	return l.alive(func() error { return l.Store.Begin(ctx, t) })
}

// Decide implements gateway.Store.
func (l *ledger) Decide(ctx context.Context, turn string, d chat.Decision) error {
	return l.alive(func() error { return l.Store.Decide(ctx, turn, d) })
}

// Cut implements gateway.Store.
func (l *ledger) Cut(ctx context.Context, turn string, ending []byte) error {
	return l.alive(func() error { return l.Store.Cut(ctx, turn, ending) })
}

// End implements gateway.Store.
func (l *ledger) End(ctx context.Context, turn string, g chat.Growth) error {
	return l.alive(func() error { return l.Store.End(ctx, turn, g) })
}

// Release implements gateway.Store.
func (l *ledger) Release(ctx context.Context, turn string, used ...chat.Usage) error {
	return l.alive(func() error { return l.Store.Release(ctx, turn, used...) })
}

// Note implements gateway.Store.
func (l *ledger) Note(ctx context.Context, turn string, steps ...chat.Step) error {
	return l.alive(func() error { return l.Store.Note(ctx, turn, steps...) })
}

// Record implements gateway.Store.
func (l *ledger) Record(ctx context.Context, turn string, parts ...chat.Part) error {
	return l.alive(func() error { return l.Store.Record(ctx, turn, parts...) })
}

// SaveBlock implements gateway.Store.
func (l *ledger) SaveBlock(ctx context.Context, e chat.EndpointID, b chat.Block) error {
	return l.alive(func() error { return l.Store.SaveBlock(ctx, e, b) })
}

// acceptedMessages returns the messages that the store accepted as new.
func (l *ledger) acceptedMessages() []chat.Inbound {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.accepted)
}
