package slack

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestWindow: whatever the times of the calls, no minute holds more than the limit, and
// what waits as long as it was told fits.
func TestWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &window{size: rapid.IntRange(1, 20).Draw(t, "size")}
		now := time.Unix(1_700_000_000, 0)
		var taken []time.Time
		for _, gap := range rapid.SliceOfN(rapid.IntRange(0, 20_000), 1, 100).Draw(t, "gaps") {
			now = now.Add(time.Duration(gap) * time.Millisecond)
			if left := w.wait(now); left > 0 {
				if w.wait(now.Add(left-1)) == 0 || w.wait(now.Add(left)) != 0 {
					t.Fatalf("at %v: told to wait %v, which is not exact", now, left)
				}
				continue
			}
			w.take(now)
			taken = append(taken, now)
		}
		for i := range taken {
			if j := i + w.size; j < len(taken) && taken[j].Sub(taken[i]) < time.Minute {
				t.Fatalf("%d calls within %v", w.size+1, taken[j].Sub(taken[i]))
			}
		}
	})
}

// TestBucket: over any time no more than the burst and one per interval.
func TestBucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := &bucket{interval: time.Second, burst: rapid.IntRange(1, 5).Draw(t, "burst")}
		now := time.Unix(1_700_000_000, 0)
		var taken []time.Time
		for _, gap := range rapid.SliceOfN(rapid.IntRange(0, 3_000), 1, 100).Draw(t, "gaps") {
			now = now.Add(time.Duration(gap) * time.Millisecond)
			if b.wait(now) == 0 {
				b.take(now)
				taken = append(taken, now)
			}
		}
		for i := range taken {
			for j := i; j < len(taken); j++ {
				if most := b.burst + int(taken[j].Sub(taken[i])/b.interval); j-i+1 > most {
					t.Fatalf("%d calls within %v, want at most %d", j-i+1, taken[j].Sub(taken[i]), most)
				}
			}
		}
	})
}
