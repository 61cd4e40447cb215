package gateway_test

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/store/memory"
)

// A turn's id is a primary key in the store, and a part of every idempotency key. With 32 bits, two ids could be equal
// within the week for which the store keeps ids. People see only the first digits of an id, which are enough to find
// the turn in the log.
func TestIDsOfTurnsHave64BitsAndPeopleReadTheirBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		store := memory.New()
		h := open(t, func(o *gateway.Options) {
			o.Store, o.Log = store, slog.New(slog.NewTextHandler(&log, nil))
		})
		h.answers["hi"] = "some words came"
		h.script.stop["hi"] = agent.StopSilence
		h.say(t, ask("hi"))
		later(10 * time.Millisecond)
		turns, err := store.Unfinished(t.Context())
		if err != nil || len(turns) != 1 {
			t.Fatalf("unfinished turns: got %v and %v, want one", turns, err)
		}
		id := turns[0].ID
		if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(id) {
			t.Errorf("the turn's ID is %q, want 16 hexadecimal digits", id)
		}
		later(5 * time.Second)
		read := regexp.MustCompile(`\(error ([0-9a-f]+)\)`).FindStringSubmatch(h.sees()[0])
		if len(read) != 2 || len(read[1]) != 8 || !strings.HasPrefix(id, read[1]) {
			t.Errorf("the person reads %q, want the first 8 digits of %s", h.sees()[0], id)
		}
		if !strings.Contains(log.String(), "turn="+id) {
			t.Errorf("the log does not name turn %s:\n%s", id, &log)
		}
	})
}

// Older versions of telex created ids of 8 digits. A turn with such a short id must continue in the same message.
func TestTurnWithAnOldIDContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("a"))
		later(400 * time.Millisecond)
		l.kill()
		turns, _ := l.store.Unfinished(t.Context())
		if len(turns) != 1 || len(turns[0].Parts) != 1 {
			t.Fatalf("the killed process left %+v, want one turn with one part", turns)
		}
		rec := turns[0]
		if err := l.store.Release(t.Context(), rec.ID); err != nil {
			t.Fatal(err)
		}
		rec.ID, rec.Parts[0].Key = "0a1b2c3d", "0a1b2c3d.0"
		if err := l.store.Begin(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		if err := l.store.Record(t.Context(), rec.ID, rec.Parts[0]); err != nil {
			t.Fatal(err)
		}
		l.begin(t, nil)
		later(10 * time.Second)
		equal(t, "messages", l.sees(), []string{long})
	})
}
