package chat

import (
	"sync/atomic"
	"time"
)

// BeatEvery is the longest time between two beats of a healthy loop.
const BeatEvery = 30 * time.Second

// Heartbeat stores when a loop last ran. The zero value is ready for use, by several goroutines.
type Heartbeat struct{ at atomic.Int64 }

// Beat records that the loop runs.
func (h *Heartbeat) Beat() { h.at.Store(time.Now().UnixNano()) }

// Last returns the time of the last beat; 1970 before the first.
func (h *Heartbeat) Last() time.Time { return time.Unix(0, h.at.Load()) }
