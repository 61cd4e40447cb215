package store_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"telex/internal/chat"
	"telex/internal/store"
)

// Once data has been erased, the store's files must not contain it any more, even while the store is open.
func TestErasedDataIsOverwritten(t *testing.T) {
	t.Parallel()
	const secret = "blue-stone-under-the-key"
	for name, forget := range map[string]func(context.Context, *store.Store, chat.Conversation) error{
		"Forget": func(ctx context.Context, s *store.Store, c chat.Conversation) error { return s.Forget(ctx, c) },
		"Undo": func(ctx context.Context, s *store.Store, c chat.Conversation) error {
			_, err := s.Undo(ctx, c, chat.Turn{})
			return err
		},
		"Erase": func(ctx context.Context, s *store.Store, c chat.Conversation) error {
			_, err := s.Erase(ctx, c, "u")
			return err
		},
		"DeletePerson": func(ctx context.Context, s *store.Store, _ chat.Conversation) error {
			_, err := s.DeletePerson(ctx, ada())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s, _ := newFixture(t)
			c := private("1")
			long := secret + string(bytes.Repeat([]byte(" and more"), 2000)) // fills several pages
			f.run("0", c, "u", "")
			f.must(f.Note(t.Context(), "0", step(chat.StepAnswered, "call", long)))
			f.must(f.End(t.Context(), "0", chat.Growth{}))
			f.ask("1", c, "u", growth(long, secret))
			if n := holding(t, s, secret); n == 0 {
				t.Fatal("the secret is in no file before: this test looks in the wrong place")
			}
			f.must(forget(t.Context(), s, c))
			if n := holding(t, s, secret); n > 0 {
				t.Errorf("%d files still hold it", n)
			}
		})
	}
}

// A person's data is erased while a turn of this person runs. After the turn has ended, the store's files must contain
// none of the turn's data either.
func TestErasedDataOfARunningTurnIsOverwritten(t *testing.T) {
	t.Parallel()
	const secret = "blue-stone-under-the-key"
	for name, forget := range map[string]func(context.Context, *store.Store, chat.Conversation) error{
		"Forget": func(ctx context.Context, s *store.Store, c chat.Conversation) error { return s.Forget(ctx, c) },
		"Erase": func(ctx context.Context, s *store.Store, c chat.Conversation) error {
			_, err := s.Erase(ctx, c, "u")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s, _ := newFixture(t)
			c := private("1")
			f.run("1", c, "u", "")
			f.must(f.Note(t.Context(), "1", step(chat.StepAnswered, "call", secret+string(bytes.Repeat([]byte(" and more"), 2000)))))
			f.must(forget(t.Context(), s, c))
			if n := holding(t, s, secret); n == 0 {
				t.Fatal("the turn runs, and the secret is in no file: this test looks in the wrong place")
			}
			f.must(f.End(t.Context(), "1", chat.Growth{}))
			if n := holding(t, s, secret); n > 0 {
				t.Errorf("%d files still hold it", n)
			}
		})
	}
}

// Once facts have been deleted, the store's files must not contain them any more.
func TestDeletedFactsAreOverwritten(t *testing.T) {
	t.Parallel()
	const secret = "blue-stone-under-the-key"
	for name, forget := range map[string]func(context.Context, *store.Store) error{
		"ForgetFact": func(ctx context.Context, s *store.Store) error {
			_, err := s.ForgetFact(ctx, ada(), "2")
			return err
		},
		"ForgetFacts": func(ctx context.Context, s *store.Store) error {
			_, err := s.ForgetFacts(ctx, ada())
			return err
		},
		"DeletePerson": func(ctx context.Context, s *store.Store) error {
			_, err := s.DeletePerson(ctx, ada())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s, _ := newFixture(t)
			for _, text := range []string{"harmless", secret, "harmless too"} {
				_, err := f.Remember(t.Context(), ada(), text, 10)
				f.must(err)
			}
			if n := holding(t, s, secret); n == 0 {
				t.Fatal("the secret is in no file before: this test looks in the wrong place")
			}
			f.must(forget(t.Context(), s))
			if n := holding(t, s, secret); n > 0 {
				t.Errorf("%d files still hold it", n)
			}
		})
	}
}

// holding returns how many of the store's files contain a text.
func holding(t *testing.T, s *store.Store, text string) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(store.Path(s)), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			n++
		}
	}
	return n
}
