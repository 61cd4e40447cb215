package preview

import (
	"sync/atomic"
	"time"
)

// Pulse remembers when a platform last let a call of an endpoint succeed. A reply that fails reads from it whether the
// endpoint as a whole fails, which may last for hours, or only this reply. The zero value knows of no success.
type Pulse struct {
	last atomic.Pointer[time.Time]
}

// Beat notes that a call succeeded now.
func (p *Pulse) Beat() {
	now := time.Now()
	p.last.Store(&now)
}

// Last returns when a call last succeeded; the zero time when none did.
func (p *Pulse) Last() time.Time {
	if t := p.last.Load(); t != nil {
		return *t
	}
	return time.Time{}
}
