package discord

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Actions of faults.
const (
	// ActLatency makes the call slower by Delay before it takes effect.
	ActLatency = "latency"
	// ActRateLimit answers 429 with RetryAfter and closes the call's bucket (or
	// everything, when Scope is "global") until that is over.
	ActRateLimit = "rate_limit"
	// ActStatus answers with Status: as HTML from 500 on, else as an API error
	// with Description. With AfterEffect the call takes effect first.
	ActStatus = "status"
	// ActCutBefore drops the connection, and the call has no effect.
	ActCutBefore = "cut_before"
	// ActCutAfter drops the connection after the call took effect.
	ActCutAfter = "cut_after"
	// ActHang never answers: the call has no effect and the connection stays
	// open until the client, Restart or Close ends it.
	ActHang = "hang"
	// ActDeleteFirst lets the person delete the addressed message just before.
	ActDeleteFirst = "delete_first"
	// ActNotFound answers as if the addressed message, or the channel, did not exist.
	ActNotFound = "not_found"
	// ActMalformed answers half of the JSON after the call took effect.
	ActMalformed = "malformed"
	// ActCutMiddle breaks a download off after half of the content.
	ActCutMiddle = "cut_middle"
	// ActPauseBefore, ActPauseAfter and ActPauseAnswered hold the call before it
	// takes effect, after that, or once the client has the whole answer: the
	// moments at which a test kills the client. They end with Resume or Drop, or when
	// Do returns.
	ActPauseBefore   = "pause_before"
	ActPauseAfter    = "pause_after"
	ActPauseAnswered = "pause_answered"
)

// Fault is a rule: which calls it hits, and what happens to them. Of several
// rules that match a call, the first one added wins; all of them count it.
type Fault struct {
	// Method and Channel choose calls; zero matches all. Several methods are separated by "|". The method
	// "gateway" is a connection to the gateway, "attachment" the download of a file.
	Method  string `json:"method"`
	Channel string `json:"channel"`
	// Contains chooses calls whose body contains it, as JSON.
	Contains string `json:"contains"`
	// Nth hits only the n-th chosen call (from 1), Every each n-th one.
	Nth   int `json:"nth"`
	Every int `json:"every"`
	// Times is how often the rule hits; 0 is without end.
	Times int `json:"times"`
	// For is how long the rule holds from now on, 0 without end; in JSON it is for_ms.
	For   time.Duration `json:"-"`
	ForMS int           `json:"for_ms"`

	Action      string `json:"action"`
	Status      int    `json:"status"`
	Description string `json:"description"`
	// Code is that of the error in the answer.
	Code       int     `json:"code"`
	RetryAfter float64 `json:"retry_after"` // seconds; 1 when 0.
	// Scope of a rate limit: user, shared or global; user when "".
	Scope string `json:"scope"`
	// Delay is the latency; in JSON it is delay_ms.
	Delay       time.Duration `json:"-"`
	DelayMS     int           `json:"delay_ms"`
	AfterEffect bool          `json:"after_effect"`
	// Do, if set, is called at the moment of a pause instead of waiting for
	// Resume, and ends the pause when it returns. It may call the server, but
	// for Close, which waits for it.
	Do func(Call) `json:"-"`
}

// Paused is a call that a fault holds.
type Paused struct {
	ID    int    `json:"id"`
	Stage string `json:"stage"` // before, after or answered.
	Call  Call   `json:"call"`
}

type faultRule struct {
	Fault
	id    int
	until time.Time // zero: without end.
	alone bool      // the rules after it don't count what it hits.
	seen  int       // matching calls.
	hits  int
}

// faults is guarded by Server.mu.
type faults struct {
	next   int
	rules  []*faultRule
	nextID int
	paused []*hold
}

type hold struct {
	Paused
	resume chan bool // capacity 1: whether the call goes on.
}

func validAction(action string) bool {
	switch action {
	case ActLatency, ActRateLimit, ActStatus, ActCutBefore, ActCutAfter, ActHang, ActDeleteFirst, ActNotFound,
		ActMalformed, ActCutMiddle, ActPauseBefore, ActPauseAfter, ActPauseAnswered:
		return true
	}
	return false
}

// check tells what is wrong with a rule.
func (f Fault) check() error {
	switch {
	case !validAction(f.Action):
		return fmt.Errorf("unknown fault action %q", f.Action)
	case f.Nth < 0 || f.Every < 0 || f.Times < 0 || f.RetryAfter < 0 || f.DelayMS < 0 || f.For < 0 || f.ForMS < 0:
		return fmt.Errorf("fault %s: negative number", f.Action)
	case f.Scope != "" && f.Scope != scopeUser && f.Scope != scopeShared && f.Scope != scopeGlobal:
		return fmt.Errorf("fault %s: unknown scope %q", f.Action, f.Scope)
	case f.Action == ActStatus && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("fault status: %d is no error status", f.Status)
	}
	return nil
}

// Fault adds a rule and returns its id. It panics on a rule that makes no sense.
func (s *Server) Fault(f Fault) int {
	if err := f.check(); err != nil {
		panic("discord stand-in: " + err.Error())
	}
	if f.Delay == 0 {
		f.Delay = time.Duration(f.DelayMS) * time.Millisecond
	}
	r := &faultRule{Fault: f}
	if r.For = orElse(f.For, time.Duration(f.ForMS)*time.Millisecond); r.For > 0 {
		r.until = time.Now().Add(r.For)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.next++
	r.id = s.faults.next
	s.faults.rules = append(s.faults.rules, r)
	return r.id
}

// ClearFaults removes all rules, ends an outage, and resumes what is held.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	s.faults.rules, s.refuseUntil = nil, time.Time{}
	s.mu.Unlock()
	s.Resume(0)
}

// match counts the call in every rule that chooses it and returns the first
// rule that hits.
func (f *faults) match(call *Call) *faultRule {
	var hit *faultRule
	for _, r := range f.rules {
		if !r.chooses(call) {
			continue
		}
		r.seen++
		switch {
		case hit != nil,
			r.Nth > 0 && r.seen != r.Nth,
			r.Every > 0 && r.seen%r.Every != 0,
			r.Times > 0 && r.hits >= r.Times:
		default:
			r.hits++
			hit = r
			call.Fault = r.Action
			if r.alone {
				return hit
			}
		}
	}
	return hit
}

func (r *faultRule) chooses(call *Call) bool {
	if !r.until.IsZero() && !call.At.Before(r.until) {
		return false
	}
	if r.Channel != "" && r.Channel != call.Channel {
		return false
	}
	if r.Contains != "" && !strings.Contains(string(call.Body), r.Contains) {
		return false
	}
	if r.Method == "" {
		return true
	}
	for name := range strings.SplitSeq(r.Method, "|") {
		if strings.EqualFold(strings.TrimSpace(name), call.Method) {
			return true
		}
	}
	return false
}

// before does what a fault does ahead of the effect; done means that a is the
// answer and there will be no effect.
func (s *Server) before(ctx context.Context, req *request, r *faultRule, cut <-chan struct{}) (a answer, done bool) {
	if r == nil {
		return answer{}, false
	}
	switch r.Action {
	case ActLatency:
		if !s.pause(r.Delay, cut) {
			return answer{status: statusGone}, true
		}
	case ActRateLimit:
		return s.forceTooMany(req, r), true
	case ActStatus:
		if !r.AfterEffect {
			return r.statusAnswer(), true
		}
	case ActCutBefore:
		return answer{status: statusGone}, true
	case ActHang:
		select {
		case <-ctx.Done():
		case <-cut:
		case <-s.closed:
		}
		return answer{status: statusGone}, true
	case ActDeleteFirst:
		s.mark(func() {
			if c := s.channels[req.call.Channel]; c != nil {
				if m := c.alive(req.call.Message); m != nil {
					s.remove(c, m, time.Now(), "person")
				}
			}
		})
	case ActNotFound:
		return missing(req.call).answer(), true
	case ActPauseBefore:
		if !s.hold(req.call, r, "before", cut) {
			return answer{status: statusGone}, true
		}
	}
	return answer{}, false
}

// missing is the answer to a call whose target does not exist.
func missing(call *Call) *apiError {
	if call.Message != "" {
		return unknownMessage()
	}
	return notFound(codeUnknownChannel, "Channel")
}

// after does what a fault does between effect and answer.
func (s *Server) after(call *Call, r *faultRule, a answer, cut <-chan struct{}) answer {
	if r == nil {
		return a
	}
	switch r.Action {
	case ActStatus:
		return r.statusAnswer()
	case ActCutAfter:
		return answer{status: statusGone}
	case ActMalformed:
		a.body = a.body[:len(a.body)/2]
	case ActCutMiddle:
		a.cutMiddle = true
	case ActPauseAfter:
		if !s.hold(call, r, "after", cut) {
			return answer{status: statusGone}
		}
	}
	return a
}

func (r *faultRule) statusAnswer() answer {
	if r.Status >= http.StatusInternalServerError && r.Description == "" {
		return htmlAnswer(r.Status)
	}
	message := r.Description
	if message == "" {
		message = http.StatusText(r.Status)
	}
	return fail(r.Status, r.Code, message).answer()
}

// forceTooMany answers 429 and closes the call's bucket, or everything. A bucket that is closed already says so.
func (s *Server) forceTooMany(req *request, r *faultRule) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.now = time.Now()
	s.findBucket(req)
	kind, sc := orElse(r.Scope, scopeUser), req.bucket
	if kind == scopeGlobal {
		sc = s.limiter.scope(bucketGlobal, "")
	}
	wait := time.Duration(orElse(r.RetryAfter, 1) * float64(time.Second))
	if sc == nil {
		s.stats.Forced++
		return tooMany(wait, kind).answer()
	}
	if left := sc.blocked.Sub(req.now); left > s.limiter.published.Jitter {
		s.violate(req.now, BlockedCall, req.call, fmt.Sprintf("%s is closed for another %v", sc.name, left))
		return tooMany(left, sc.blockedScope).answer()
	}
	s.stats.Forced++
	aerr := s.block(req.now, sc, wait, kind)
	req.call.Description = aerr.message
	a := aerr.answer()
	if kind != scopeGlobal {
		sc.headers(req.now, a.header)
	}
	return a
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
