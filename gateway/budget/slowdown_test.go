package budget

import (
	"testing"
	"time"
)

func TestSlowdown(t *testing.T) {
	t.Parallel()
	const count, blocked = 20, 5 * time.Second
	type step struct {
		what     string
		after    time.Duration // time since the end of the previous block
		accepted int           // number of accepted calls in the window at the refusal
		calm     bool          // the platform refuses nothing in this step
		repeated bool          // the refusal comes during the previous block
		level    int           // the expected level: how many calls per window are still allowed
		hold     time.Duration
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"one refusal passes in a minute", []step{
			{what: "refused", accepted: 2, level: 10, hold: firstHold},
			{what: "held", after: firstHold - 1, calm: true, level: 10, hold: firstHold},
			{what: "half way back", after: firstHold + rampUp/2, calm: true, level: 15, hold: firstHold},
			{what: "back", after: firstHold + rampUp, calm: true, level: 20, hold: firstHold},
			{what: "as declared from then on", after: 5 * time.Minute, calm: true, level: 20, hold: firstHold},
			{what: "another one much later, elsewhere", after: 10 * time.Minute, accepted: 1, level: 10, hold: firstHold},
		}},
		{"a hidden half is found, and tried ever less often", []step{
			{what: "refused", accepted: 10, level: 10, hold: firstHold},
			{what: "refused on the way back", after: firstHold + rampUp/10, accepted: 11, level: 10, hold: 2 * time.Minute},
			{what: "left alone", after: 2*time.Minute - 1, calm: true, level: 10, hold: 2 * time.Minute},
			{what: "tried", after: 2*time.Minute + rampUp/10, accepted: 11, level: 10, hold: 8 * time.Minute},
			{what: "tried", after: 8*time.Minute + rampUp/10, accepted: 11, level: 10, hold: 32 * time.Minute},
			{what: "tried", after: 32*time.Minute + rampUp/10, accepted: 11, level: 10, hold: maxHold},
			{what: "tried", after: maxHold + rampUp/10, accepted: 11, level: 10, hold: maxHold},
			{what: "the limit is back", after: maxHold + rampUp, calm: true, level: 20, hold: maxHold},
			{what: "refused elsewhere", after: 80 * time.Minute, accepted: 19, level: 19, hold: firstHold},
		}},
		{"near the limit it leaves what was accepted", []step{
			{what: "refused", accepted: 18, level: 18, hold: firstHold},
		}},
		{"many at once are one refusal and show what was accepted", []step{
			{what: "first", accepted: 19, level: 19, hold: firstHold},
			{what: "second", accepted: 18, repeated: true, level: 18, hold: firstHold},
			{what: "third", accepted: 17, repeated: true, level: 17, hold: firstHold},
		}},
		{"lower and lower, but not to nothing, and not for long", []step{
			{accepted: 0, level: 10, hold: firstHold},
			{after: time.Second, accepted: 0, level: 5, hold: firstHold},
			{after: time.Second, accepted: 0, level: 2, hold: firstHold},
			{after: time.Second, accepted: 0, level: 2, hold: firstHold},
			{what: "back", after: firstHold + rampUp, calm: true, level: 20, hold: firstHold},
		}},
		{"finals that are refused above what is left lower nothing", []step{
			{accepted: 10, level: 10, hold: firstHold},
			{after: time.Second, accepted: 14, level: 10, hold: firstHold},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var s slowdown
			until := time.Now()
			for i, st := range c.steps {
				now := until.Add(st.after)
				if st.repeated {
					now = until.Add(-blocked / 2)
				}
				if !st.calm {
					until = now.Add(blocked)
					s.refuse(st.accepted, count, until, now)
					now = until
				}
				if got := s.capacity(count, now); got != st.level || s.hold != st.hold {
					t.Fatalf("step %d (%s): %d calls are left, held for %v; want %d, %v", i, st.what, got, s.hold, st.level, st.hold)
				}
			}
		})
	}
}
