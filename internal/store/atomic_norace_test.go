//go:build !race

package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"telex/internal/chat"
	"telex/internal/store"
)

// dump returns as text all data that a store's methods can read.
func dump(f *fixture, s *store.Store) string {
	f.Helper()
	ctx := f.Context()
	pending, err := f.Pending(ctx)
	f.must(err)
	turns, err := f.Unfinished(ctx)
	f.must(err)
	blocks, err := f.Blocks(ctx, "tg")
	f.must(err)
	cursor, err := f.Resume(ctx, "tg")
	f.must(err)
	rep, err := s.Check(ctx)
	f.must(err)
	text := fmt.Sprintf("%+v\n%+v\n%+v\n%+v\n%+v\n", pending, turns, blocks, cursor, rep)
	for _, c := range []chat.ChatID{"0", "1", "2"} {
		session, entries, err := s.Transcript(ctx, private(c))
		f.must(err)
		used, err := f.Used(ctx, chat.UsageOf{Conversation: private(c)})
		f.must(err)
		consented, err := f.Consented(ctx, private(c), "u", "buy")
		f.must(err)
		text += fmt.Sprintf("%s: %+v %+v %+v %v\n", c, session, entries, used, consented)
	}
	requests, err := f.PairingRequests(ctx)
	f.must(err)
	admitted, err := f.Admitted(ctx)
	f.must(err)
	theirs, err := f.Used(ctx, chat.UsageOf{Person: ada()})
	f.must(err)
	text += fmt.Sprintf("%+v\n%+v\n%+v\n", requests, admitted, theirs)
	for _, p := range []chat.Person{ada(), eve()} {
		facts, err := f.Facts(ctx, p)
		f.must(err)
		text += fmt.Sprintf("%s: %+v\n", p, facts)
	}
	return text
}

// TestAllOrNothing makes each call on a store that lacks one table, each time another table. If the call fails, it must
// not have changed anything.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "telex.db")
	s := mustOpen(t, path)
	f := &fixture{T: t, Store: s}
	defer f.close()
	seed(f, s)
	before := dump(f, s)
	f.must(s.Backup(t.Context(), path+".seed"))
	template, err := os.ReadFile(path + ".seed")
	f.must(err)
	rename := func(from, to string) {
		t.Helper()
		if _, err := store.Writer(s).ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
			t.Fatal(err)
		}
	}
	failed := map[string]int{}
	for name, call := range calls(s) {
		for _, table := range []string{
			"conversation", "endpoint", "inbox", "entry", "turn", "part", "block", "moved",
			"session", "usage", "knocking", "admitted", "step", "consent", "fact", "fact_number",
		} {
			rename(table, "away")
			err := call(t.Context())
			rename("away", table)
			if err == nil {
				// The call has succeeded, so it does not need the missing table. Create the store again, to undo the changes of the
				// call.
				f.close()
				write(t, path, template)
				*s = *mustOpen(t, path)
				continue
			}
			failed[name]++
			if after := dump(f, s); after != before {
				t.Errorf("%s without table %s: got\n%s\nwant\n%s", name, table, after, before)
			}
		}
		if failed[name] == 0 {
			t.Errorf("%s never failed", name)
		}
	}
}
