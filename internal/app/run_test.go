package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

var errUnreadable = errors.New("the store can't be read")

// unreadable is a store that fails when the daemon starts and reads the unfinished turns.
type unreadable struct{ *memory.Store }

// Unfinished implements gateway.Store.
func (unreadable) Unfinished(context.Context) ([]chat.Turn, error) { return nil, errUnreadable }

// The daemon can't start. Run must return the reason at once; otherwise the process would continue without doing
// anything.
func TestStartThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		g, err := gateway.New(gateway.Options{Store: unreadable{memory.New()}, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		closed := false
		a := &App{gateway: g, log: log, sweep: func(context.Context) {}}
		a.down.log = log
		a.parts.Store(&parts{answerer: &answerer{}})
		a.down.add("store", func() error { closed = true; return nil })
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		began := time.Now()
		if err := a.Run(ctx); !errors.Is(err, errUnreadable) {
			t.Errorf("Run = %v, want %v", err, errUnreadable)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("Run returned after %v, want at once", took)
		}
		if !closed {
			t.Error("the store was left open")
		}
	})
}
