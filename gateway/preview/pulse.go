package preview

import (
	"sync/atomic"
	"time"
)

// Pulse records when a call of an endpoint last succeeded. A reply whose calls fail uses Pulse to distinguish an outage
// of the platform, which may last for hours, from failures of this reply only. The zero value means that no call has
// succeeded yet.
type Pulse struct {
	last atomic.Pointer[time.Time]
}

// Beat records that a call succeeded now.
func (p *Pulse) Beat() {
	now := time.Now()
	p.last.Store(&now)
}

// Last returns the time of the last successful call; the zero time if there was none.
func (p *Pulse) Last() time.Time {
	if t := p.last.Load(); t != nil {
		return *t
	}
	return time.Time{}
}
