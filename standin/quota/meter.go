package quota

import "time"

// Meter says how long until one more call fits.
type Meter interface {
	Wait(now time.Time) time.Duration
	Take(now time.Time)
}

// bucket is a token bucket, kept as the time at which it is full again.
type bucket struct {
	interval time.Duration
	burst    int
	jitter   time.Duration
	full     time.Time
}

// NewBucket is a token bucket, nil when perSecond is not positive. A call may come too early by jitter.
func NewBucket(perSecond float64, burst int, jitter time.Duration) Meter {
	if perSecond <= 0 {
		return nil
	}
	return &bucket{interval: time.Duration(float64(time.Second) / perSecond), burst: max(1, burst), jitter: max(0, jitter)}
}

func (b *bucket) Wait(now time.Time) time.Duration {
	earliest := b.full.Add(-time.Duration(b.burst-1) * b.interval)
	if d := earliest.Sub(now); d > b.jitter {
		return d
	}
	return 0
}

func (b *bucket) Take(now time.Time) {
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.interval)
}

// window allows size calls in any span of length period.
type window struct {
	size   int
	period time.Duration
	jitter time.Duration
	times  []time.Time // at most size, oldest first.
}

// NewWindow is a sliding window that takes size calls in any period, nil when size is not positive. A call may come
// too early by jitter.
func NewWindow(size int, period, jitter time.Duration) Meter {
	if size <= 0 {
		return nil
	}
	return &window{size: size, period: period, jitter: max(0, jitter)}
}

func (w *window) Wait(now time.Time) time.Duration {
	if len(w.times) < w.size {
		return 0
	}
	if d := w.times[0].Add(w.period).Sub(now); d > w.jitter {
		return d
	}
	return 0
}

func (w *window) Take(now time.Time) {
	if len(w.times) >= w.size {
		w.times = append(w.times[:0], w.times[len(w.times)-w.size+1:]...)
	}
	w.times = append(w.times, now)
}
