package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"telex/agent/tool"
	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

func TestFactsAreThoseOfTheStore(t *testing.T) {
	t.Parallel()
	ctx, kept := t.Context(), memory.New()
	f := facts{store: kept, log: slog.New(slog.DiscardHandler), checkLease: holds}
	ada := chat.Person{Endpoint: "telegram", User: "1"}
	added, err := f.Add(ctx, ada.String(), "likes tides")
	if err != nil || added.ID == "" || added.Text != "likes tides" || time.Since(added.At) > time.Minute {
		t.Fatalf("got %+v, %v", added, err)
	}
	if known, err := kept.Facts(ctx, ada); err != nil || len(known) != 1 || known[0] != chat.Fact(added.Fact) {
		t.Errorf("the store has %+v, %v", known, err)
	}
	if known, err := f.Facts(ctx, ada.String()); err != nil || len(known) != 1 || known[0] != added.Fact {
		t.Errorf("got %+v, %v", known, err)
	}
	if again, err := f.Add(ctx, ada.String(), "likes tides"); err != nil || !again.Known || again.Fact != added.Fact {
		t.Errorf("the same once more: got %+v, %v", again, err)
	}
	bob := chat.Person{Endpoint: "telegram", User: "3"}
	for i := range tool.MaxFacts + 1 {
		if got, err := f.Add(ctx, bob.String(), fmt.Sprint("fact ", i)); err != nil || got.Full != (i == tool.MaxFacts) {
			t.Errorf("fact %d: got %+v, %v", i, got, err)
		}
	}
	if was, err := f.Remove(ctx, "telegram:user:2", added.ID); was || err != nil {
		t.Errorf("somebody else's: got %v, %v", was, err)
	}
	if was, err := f.Remove(ctx, ada.String(), added.ID); !was || err != nil {
		t.Errorf("got %v, %v", was, err)
	}
	for _, nobody := range []string{"", "telegram", "telegram:chat:1"} {
		if _, err := f.Facts(ctx, nobody); err == nil {
			t.Errorf("%q was read", nobody)
		}
		if _, err := f.Add(ctx, nobody, "x"); err == nil {
			t.Errorf("%q was told", nobody)
		}
		if _, err := f.Remove(ctx, nobody, "1"); err == nil {
			t.Errorf("%q was forgotten", nobody)
		}
	}
}

// broken is a store whose calls always fail, with an error that contains the name of the store's file.
type broken struct{ gateway.Store }

var errBroken = errors.New("/var/lib/telex/telex.db: damaged")

func (broken) Facts(context.Context, chat.Person) ([]chat.Fact, error) { return nil, errBroken }

func (broken) Remember(context.Context, chat.Person, string, int) (chat.Remembered, error) {
	return chat.Remembered{}, errBroken
}

func (broken) ForgetFact(context.Context, chat.Person, string) (bool, error) { return false, errBroken }

// holds is a CheckLease function for a replica that still has its lease.
func holds(error) bool { return false }

// The store fails. If the store fails, the log must contain the reason, for the operator. The error for the model must not
// contain the reason, because the model's provider must not see it.
func TestFactsThatFail(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f := facts{store: broken{}, log: slog.New(slog.NewTextHandler(&log, nil)), checkLease: holds}
	const who = "telegram:user:1"
	calls := func(ctx context.Context) []error {
		_, e1 := f.Facts(ctx, who)
		_, e2 := f.Add(ctx, who, "x")
		_, e3 := f.Remove(ctx, who, "1")
		return []error{e1, e2, e3}
	}
	for _, err := range calls(t.Context()) {
		if !errors.Is(err, errFacts) || strings.Contains(err.Error(), "telex.db") {
			t.Errorf("the model is told %v", err)
		}
	}
	if n := strings.Count(log.String(), "telex.db"); n != 3 {
		t.Errorf("the log has\n%s", &log)
	}
	log.Reset()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, err := range calls(stopped) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if log.Len() > 0 {
		t.Errorf("a turn that was stopped is in the log: %s", &log)
	}
}
