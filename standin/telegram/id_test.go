package telegram

import (
	"testing"
	"testing/synctest"
	"time"
)

// With GrowingIDs, the stand-in must not use an id again after a restart or a Reset. If the stand-in used an id again,
// a bot that keeps running would mistake new messages for known ones.
func TestGrowingIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)))
		var before [3]int64 // the newest ids: of an update, in a private chat, in a supergroup
		check := func(when string, s *Server) {
			t.Helper()
			var newest [3]int64
			for i := range 3 {
				private, group := s.Say(Incoming{Text: "a"}), s.Say(Incoming{Chat: supergroupIDs - 5, Text: "/b"})
				s.mu.Lock()
				update := s.updates.pending[len(s.updates.pending)-1].update.UpdateID
				s.mu.Unlock()
				newest = [3]int64{update, int64(private), int64(group)}
				for j, id := range newest {
					if i == 0 && id <= before[j] || id >= 1<<31 {
						t.Errorf("%s: id %d after %d, want a higher one of 31 bits", when, id, before[j])
					}
				}
			}
			before = newest
		}
		for range 2 {
			s := New(Options{GrowingIDs: true})
			check("a new server", s)
			s.Reset()
			check("at once after a reset", s)
			time.Sleep(10 * time.Second)
			s.Reset()
			check("later after a reset", s)
			_ = s.Close()
			time.Sleep(10 * time.Second)
		}
		time.Sleep(15 * 365 * 24 * time.Hour)
		s := New(Options{GrowingIDs: true})
		check("in years", s)
		_ = s.Close()
	})
}
