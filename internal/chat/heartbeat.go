package chat

import (
	"sync/atomic"
	"time"
)

// BeatEvery is the interval at which a receive loop that waits for events calls Beat. telex assumes that a loop hangs only
// after a longer time without a call of Beat. Each adapter chooses this time, and returns it from the method Pulse.
const BeatEvery = 30 * time.Second

// Heartbeat stores when a loop last called Beat. The zero value of Heartbeat is ready for use. Several goroutines may
// use a Heartbeat at the same time.
type Heartbeat struct{ at atomic.Int64 }

// Beat records that the loop is running now.
func (h *Heartbeat) Beat() { h.at.Store(time.Now().UnixNano()) }

// Last returns the time of the last call of Beat, or the beginning of 1970 if there was none.
func (h *Heartbeat) Last() time.Time { return time.Unix(0, h.at.Load()) }
