package chat

import (
	"sync/atomic"
	"time"
)

// BeatEvery is how often a loop that waits for something turns at least.
const BeatEvery = 30 * time.Second

// Heartbeat is when a loop last turned. The zero value is ready for use, by several goroutines.
type Heartbeat struct{ at atomic.Int64 }

// Beat says that the loop turns.
func (h *Heartbeat) Beat() { h.at.Store(time.Now().UnixNano()) }

// Last returns when that was; long ago when it never was.
func (h *Heartbeat) Last() time.Time { return time.Unix(0, h.at.Load()) }
