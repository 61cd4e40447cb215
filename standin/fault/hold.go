package fault

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Stages at which a call is held.
const (
	Before   = "before"   // before its effect
	After    = "after"    // after the call took effect, before the answer
	Answered = "answered" // after the client has the whole answer
)

// Paused is a call that a fault holds.
type Paused[C any] struct {
	ID    int    `json:"id"`
	Stage string `json:"stage"` // The stage at which the call is held: before, after or answered.
	Call  C      `json:"call"`
}

// Holds contains the calls that faults hold. The zero value contains no calls. Holds is safe for concurrent use.
type Holds[C any] struct {
	mu   sync.Mutex
	next int
	held []*hold[C]
	more chan struct{} // closed when a call is held; nil if no goroutine waits for this
}

type hold[C any] struct {
	Paused[C]
	resume chan bool // receives true if the call continues, and false if it ends; capacity 1
}

// Hold holds a call until Release is called or cut is closed. Hold returns false if the call must not continue. Hold
// calls the function tell as soon as List returns the call.
func (s *Holds[C]) Hold(call C, stage string, cut <-chan struct{}, tell func(*Paused[C])) bool {
	h := s.add(call, stage)
	tell(&h.Paused)
	select {
	case on := <-h.resume:
		return on
	case <-cut:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = slices.DeleteFunc(s.held, func(other *hold[C]) bool { return other == h })
	return false
}

func (s *Holds[C]) add(call C, stage string) *hold[C] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	h := &hold[C]{Paused: Paused[C]{ID: s.next, Stage: stage, Call: call}, resume: make(chan bool, 1)}
	s.held = append(s.held, h)
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
	return h
}

// List returns the held calls.
func (s *Holds[C]) List() []Paused[C] {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Paused[C], 0, len(s.held))
	for _, h := range s.held {
		list = append(list, h.Paused)
	}
	return list
}

// Wait waits until a call is held, and returns the held calls. If no call is held, Wait returns when the maximum
// duration has passed, ctx ends or cut is closed.
func (s *Holds[C]) Wait(ctx context.Context, most time.Duration, cut <-chan struct{}) []Paused[C] {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-s.some():
	case <-timer.C:
	case <-ctx.Done():
	case <-cut:
	}
	return s.List()
}

// some returns a channel that is closed when a call is held.
func (s *Holds[C]) some() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) > 0 {
		now := make(chan struct{})
		close(now)
		return now
	}
	if s.more == nil {
		s.more = make(chan struct{})
	}
	return s.more
}

// Release continues a held call, or ends it if on is false. id 0 means all held calls. Release returns the number of
// calls that it released.
func (s *Holds[C]) Release(id int, on bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.held)
	s.held = slices.DeleteFunc(s.held, func(h *hold[C]) bool {
		if id != 0 && h.ID != id {
			return false
		}
		h.resume <- on
		return true
	})
	return n - len(s.held)
}

// Reset forgets the held calls. The caller of Reset must cut the connections of these calls. After Reset, the ids of
// held calls begin again at 1.
func (s *Holds[C]) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.next = nil, 0
}
