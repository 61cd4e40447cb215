package chat

import (
	"sync/atomic"
	"time"
)

// BeatEvery is the maximum time between two calls of Beat by a loop that does not hang.
const BeatEvery = 30 * time.Second

// Heartbeat stores when a loop last ran. The zero value of Heartbeat is ready for use. Several goroutines may use a
// Heartbeat at the same time.
type Heartbeat struct{ at atomic.Int64 }

// Beat records that the loop runs.
func (h *Heartbeat) Beat() { h.at.Store(time.Now().UnixNano()) }

// Last returns the time of the last beat, or the beginning of 1970 if there was none.
func (h *Heartbeat) Last() time.Time { return time.Unix(0, h.at.Load()) }
