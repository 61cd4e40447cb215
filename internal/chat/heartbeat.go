package chat

import (
	"sync/atomic"
	"time"
)

// BeatEvery is the longest time that may pass between two calls of Beat by a loop. If a loop takes longer than BeatEvery, telex
// assumes that the loop hangs.
const BeatEvery = 30 * time.Second

// Heartbeat stores when a loop last called Beat. The zero value of Heartbeat is ready for use. Several goroutines may
// use a Heartbeat at the same time.
type Heartbeat struct{ at atomic.Int64 }

// Beat records that the loop is running now.
func (h *Heartbeat) Beat() { h.at.Store(time.Now().UnixNano()) }

// Last returns the time of the last call of Beat, or the beginning of 1970 if there was none.
func (h *Heartbeat) Last() time.Time { return time.Unix(0, h.at.Load()) }
