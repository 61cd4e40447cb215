package quota_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"telex/standin/quota"
)

// TestWindow makes calls at random times. No span of a minute may contain more accepted calls than the limit. The meter
// must accept a call that the client makes after the wait that the meter requested.
func TestWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 20).Draw(t, "size")
		w := quota.NewWindow(size, time.Minute)
		now := time.Unix(1_700_000_000, 0)
		var taken []time.Time
		for _, gap := range rapid.SliceOfN(rapid.IntRange(0, 20_000), 1, 100).Draw(t, "gaps") {
			now = now.Add(time.Duration(gap) * time.Millisecond)
			if left := w.Wait(now); left > 0 {
				if w.Wait(now.Add(left-1)) == 0 || w.Wait(now.Add(left)) != 0 {
					t.Fatalf("at %v: told to wait %v, which is not exact", now, left)
				}
				continue
			}
			w.Take(now)
			taken = append(taken, now)
		}
		for i := range taken {
			if j := i + size; j < len(taken) && taken[j].Sub(taken[i]) < time.Minute {
				t.Fatalf("%d calls within %v", size+1, taken[j].Sub(taken[i]))
			}
		}
	})
}

// TestBucket makes calls at random times. In any period, the bucket must accept at most as many calls as the burst
// allows, plus one call per second.
func TestBucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		burst := rapid.IntRange(1, 5).Draw(t, "burst")
		b := quota.NewBucket(1, burst)
		now := time.Unix(1_700_000_000, 0)
		var taken []time.Time
		for _, gap := range rapid.SliceOfN(rapid.IntRange(0, 3_000), 1, 100).Draw(t, "gaps") {
			now = now.Add(time.Duration(gap) * time.Millisecond)
			if b.Wait(now) == 0 {
				b.Take(now)
				taken = append(taken, now)
			}
		}
		for i := range taken {
			for j := i; j < len(taken); j++ {
				if most := burst + int(taken[j].Sub(taken[i])/time.Second); j-i+1 > most {
					t.Fatalf("%d calls within %v, want at most %d", j-i+1, taken[j].Sub(taken[i]), most)
				}
			}
		}
	})
}

func TestUnlimitedMeter(t *testing.T) {
	t.Parallel()
	if w := quota.NewWindow(-1, time.Minute); w != nil {
		t.Errorf("a window for no calls: got %v, want none", w)
	}
	if b := quota.NewBucket(0, 3); b != nil {
		t.Errorf("a bucket that never fills: got %v, want none", b)
	}
}
