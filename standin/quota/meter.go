package quota

import "time"

// Meter measures how long a client must wait before its next call. A nil Meter allows every call.
type Meter interface {
	Wait(now time.Time) time.Duration
	Take(now time.Time)
}

// bucket is a token bucket. A bucket stores only the time at which it will be full again.
type bucket struct {
	interval time.Duration
	burst    int
	full     time.Time
}

// NewBucket returns a token bucket that gains perSecond tokens per second and holds at most burst tokens, or nil if
// perSecond is not positive.
func NewBucket(perSecond float64, burst int) Meter {
	if perSecond <= 0 {
		return nil
	}
	return &bucket{interval: time.Duration(float64(time.Second) / perSecond), burst: max(1, burst)}
}

func (b *bucket) Wait(now time.Time) time.Duration {
	earliest := b.full.Add(-time.Duration(b.burst-1) * b.interval)
	return max(0, earliest.Sub(now))
}

func (b *bucket) Take(now time.Time) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.interval)
}

// window allows at most size calls in any span of length period.
type window struct {
	size   int
	period time.Duration
	times  []time.Time // times of the last calls, at most size, oldest first
}

// NewWindow returns a sliding window that allows at most size calls in any span of length period. NewWindow returns nil
// if size is not positive.
func NewWindow(size int, period time.Duration) Meter {
	if size <= 0 {
		return nil
	}
	return &window{size: size, period: period}
}

func (w *window) Wait(now time.Time) time.Duration {
	if len(w.times) < w.size {
		return 0
	}
	return max(0, w.times[0].Add(w.period).Sub(now))
}

func (w *window) Take(now time.Time) {
	if len(w.times) >= w.size {
		w.times = append(w.times[:0], w.times[len(w.times)-w.size+1:]...)
	}
	w.times = append(w.times, now)
}

// Fixed allows at most Size calls within a Period that begins with its first call.
type Fixed struct {
	Size   int
	Period time.Duration

	ends time.Time
	used int
}

// NewFixed returns a fixed window, or nil if size is not positive.
func NewFixed(size int, period time.Duration) Meter {
	if size <= 0 {
		return nil
	}
	return &Fixed{Size: size, Period: period}
}

// Wait returns how long the client must wait before its next call.
func (w *Fixed) Wait(now time.Time) time.Duration { return w.WaitFor(now, 1) }

// WaitFor returns how long the client must wait before it can make this number of calls.
func (w *Fixed) WaitFor(now time.Time, calls int) time.Duration {
	if w.used+calls <= w.Size {
		return 0
	}
	return max(0, w.ends.Sub(now))
}

// Take counts a call. If the current period is over or has no calls left, the call begins a new period.
func (w *Fixed) Take(now time.Time) {
	if !w.ends.After(now) || w.used >= w.Size {
		w.ends, w.used = now.Add(w.Period), 0
	}
	w.used++
}

// Left returns the number of calls that the current period still allows, and the time until the period ends. The time
// is 0 if there is no current period.
func (w *Fixed) Left(now time.Time) (calls int, ends time.Duration) {
	if !w.ends.After(now) {
		return w.Size, 0
	}
	return max(0, w.Size-w.used), w.ends.Sub(now)
}
