package slack

// Paused is a call that a fault holds.
type Paused struct {
	ID    int    `json:"id"`
	Stage string `json:"stage"` // before, after or answered.
	Call  Call   `json:"call"`
}

type hold struct {
	Paused
	resume chan bool // capacity 1: whether the call goes on.
}

// hold keeps a call until Resume, Drop, Restart or Close; false when it does not go on.
func (s *Server) hold(call *Call, r *faultRule, stage string, cut <-chan struct{}) bool {
	s.mu.Lock()
	s.faults.nextID++
	h := &hold{Paused: Paused{ID: s.faults.nextID, Stage: stage, Call: *call}, resume: make(chan bool, 1)}
	if r.Do == nil {
		s.faults.paused = append(s.faults.paused, h)
		s.publish(Event{Kind: "paused", Channel: call.Channel, Paused: &h.Paused})
	}
	s.mu.Unlock()
	if r.Do != nil {
		r.Do(h.Call)
		return true
	}
	select {
	case on := <-h.resume:
		return on
	case <-cut:
	case <-s.closed:
	}
	s.unhold(h)
	return false
}

func (s *Server) unhold(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.faults.paused {
		if other == h {
			s.faults.paused = append(s.faults.paused[:i], s.faults.paused[i+1:]...)
			return
		}
	}
}

// Paused returns the calls that faults hold.
func (s *Server) Paused() []Paused {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Paused, 0, len(s.faults.paused))
	for _, h := range s.faults.paused {
		list = append(list, h.Paused)
	}
	return list
}

// Resume lets a held call go on; 0 means all of them. It returns how many.
func (s *Server) Resume(id int) int { return s.release(id, true) }

// Drop ends a held call where it is, as if its connection had died there: one that is
// held before its effect has none. 0 means all of them. It returns how many.
func (s *Server) Drop(id int) int { return s.release(id, false) }

func (s *Server) release(id int, on bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, n := s.faults.paused[:0], 0
	for _, h := range s.faults.paused {
		if id == 0 || h.ID == id {
			h.resume <- on
			n++
			continue
		}
		kept = append(kept, h)
	}
	s.faults.paused = kept
	return n
}
