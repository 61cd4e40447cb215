package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
)

// calls returns all calls that change a store. If the function seed has filled the store, each of these calls changes
// something.
func calls(s *store.Store) map[string]func(context.Context) error {
	c := private("1")
	return map[string]func(context.Context) error{
		"Accept": func(ctx context.Context) error {
			in := message(c, "new")
			in.Resume = "later"
			_, err := s.Accept(ctx, c, in)
			return err
		},
		"Drop":  func(ctx context.Context) error { return s.Drop(ctx, c, "3", "4") },
		"Begin": func(ctx context.Context) error { return s.Begin(ctx, turnOf("next", c, "3", "4")) },
		"Rerun": func(ctx context.Context) error { return s.Begin(ctx, turnOf("t", c)) },
		"Decide": func(ctx context.Context) error {
			return s.Decide(ctx, "t", chat.Decision{Ending: []byte("x"), Growth: everything()})
		},
		"End":     func(ctx context.Context) error { return s.End(ctx, "t", everything()) },
		"Release": func(ctx context.Context) error { return s.Release(ctx, "t") },
		"Record":  func(ctx context.Context) error { return s.Record(ctx, "t", chat.Part{State: chat.PartGone}) },
		"Join":    func(ctx context.Context) error { return s.Join(ctx, "t", "3", "4") },
		"Note": func(ctx context.Context) error {
			return s.Note(ctx, "t", step(chat.StepSaid, "", "x"), step(chat.StepBegun, "1", "y"))
		},
		"Consent": func(ctx context.Context) error { return s.Consent(ctx, private("3"), "u", "buy") },
		"Remember": func(ctx context.Context) error {
			_, err := s.Remember(ctx, ada(), "new", 10)
			return err
		},
		"ForgetFact": func(ctx context.Context) error {
			_, err := s.ForgetFact(ctx, ada(), "1")
			return err
		},
		"ForgetFacts": func(ctx context.Context) error {
			_, err := s.ForgetFacts(ctx, ada())
			return err
		},
		"Choose": func(ctx context.Context) error { return s.Choose(ctx, c, "other") },
		"Undo": func(ctx context.Context) error {
			_, err := s.Undo(ctx, c, chat.Turn{})
			return err
		},
		"Erase": func(ctx context.Context) error {
			_, err := s.Erase(ctx, c, "u")
			return err
		},
		"DeletePerson": func(ctx context.Context) error {
			_, err := s.DeletePerson(ctx, ada())
			return err
		},
		"SavePairingRequest": func(ctx context.Context) error {
			return s.SavePairingRequest(ctx, chat.PairingRequest{Person: ada(), Code: "new"})
		},
		"Admit": func(ctx context.Context) error { return s.Admit(ctx, chat.Admission{Person: ada()}) },
		"Revoke": func(ctx context.Context) error {
			_, err := s.Revoke(ctx, eve())
			return err
		},
		"Forget": func(ctx context.Context) error { return s.Forget(ctx, c) },
		"SaveBlock": func(ctx context.Context) error {
			return s.SaveBlock(ctx, "tg", chat.Block{Scope: chat.ScopeChat, Chat: "1", Until: time.Now()})
		},
		"Move":     func(ctx context.Context) error { return s.Move(ctx, "tg", "1", "2") },
		"MoveBack": func(ctx context.Context) error { return s.Move(ctx, "tg", "1", "0") },
		"Sweep": func(ctx context.Context) error {
			_, err := s.Sweep(ctx, time.Now().Add(1000*time.Hour), time.Hour)
			return err
		},
	}
}

// everything returns a chat.Growth with every kind of data that a turn can add to the store. Before a test stores this
// chat.Growth, the store must contain the data of the function seed.
func everything() chat.Growth {
	g := growth("q", "a")
	g.Usage = []chat.Usage{{Model: "m", Prompt: 1, Calls: 1}, {Model: "n", Completion: 2, Calls: 1, Estimated: true}}
	g.Compaction = &chat.Compaction{Summary: "sum", Upto: 1}
	return g
}

// seed stores data that the calls returned by the function calls can change.
func seed(f *fixture, s *store.Store) {
	f.Helper()
	ctx := f.Context()
	f.must(f.Move(ctx, "tg", "0", "1"))
	for _, c := range []chat.Conversation{private("1"), private("2")} {
		f.must(store.Append(ctx, s, c, "said"))
		f.accept(c, "1", "2", "3", "4")
	}
	f.begin("used", private("1"), "1")
	f.must(f.End(ctx, "used", everything()))
	f.must(f.Choose(ctx, private("2"), "m"))
	f.must(f.SavePairingRequest(ctx, chat.PairingRequest{Person: ada(), Code: "old"}))
	f.must(f.Admit(ctx, chat.Admission{Person: eve(), By: "operator"}))
	turn := turnOf("t", private("1"), "2")
	turn.User, turn.Replaces = "u", "used"
	f.must(f.Begin(ctx, turn))
	f.must(f.Record(ctx, "t", chat.Part{State: chat.PartStands, Text: "text"}))
	f.must(f.SaveBlock(ctx, "tg", chat.Block{Scope: chat.ScopeChat, Chat: "1", Until: time.Now().Add(time.Hour)}))
	f.must(f.Note(ctx, "t", step(chat.StepSaid, "", "noted"), step(chat.StepBegun, "1", "")))
	for _, c := range []chat.Conversation{private("1"), private("2")} {
		f.must(f.Consent(ctx, c, "u", "buy"))
	}
	for _, p := range []chat.Person{ada(), eve()} {
		_, err := f.Remember(ctx, p, "a fact", 10)
		f.must(err)
	}
}

// After a store was closed with Close, all calls must fail, but must not panic.
func TestClosed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	s := mustOpen(t, path)
	seed(&fixture{T: t, Store: s}, s)
	mustClose(t, s)
	for name, call := range calls(s) {
		if err := call(t.Context()); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	_, e1 := s.Pending(t.Context())
	_, e2 := s.Unfinished(t.Context())
	_, e3 := s.Check(t.Context())
	if e1 == nil || e2 == nil || e3 == nil || s.Backup(t.Context(), path+".backup") == nil {
		t.Errorf("got %v, %v, %v: want errors", e1, e2, e3)
	}
}

// A file is damaged while the store is open. Check must report the damage, and a call that reads a damaged page must
// fail.
func TestDamageWhileOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	filled(t, path)
	s := mustOpen(t, path)
	if err := os.Truncate(path, 3*4096); err != nil {
		t.Fatal(err)
	}
	rep, err := s.Check(t.Context())
	if err != nil || len(rep.Problems) == 0 {
		t.Errorf("got %+v, %v, want problems", rep, err)
	}
	_, err = s.Sweep(t.Context(), time.Now().Add(1000*time.Hour), time.Hour)
	if !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v, want %v", err, store.ErrCorrupt)
	}
	_ = s.Close() // ignore the error: closing a damaged file may fail
}
