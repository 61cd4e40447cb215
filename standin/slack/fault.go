package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"telex/standin/fault"
)

// Actions of faults.
const (
	// ActLatency makes the call slower by Delay before it takes effect.
	ActLatency = fault.Latency
	// ActRateLimit answers 429 with RetryAfter and closes the method's scope until
	// that is over.
	ActRateLimit = fault.RateLimit
	// ActStatus answers with Status as HTML, as what stands in front of the platform
	// does. With AfterEffect the call takes effect first.
	ActStatus = fault.Status
	// ActError answers ok=false with Error. With AfterEffect the call takes effect first.
	ActError = "error"
	// ActCutBefore drops the connection, and the call has no effect.
	ActCutBefore = fault.CutBefore
	// ActCutAfter drops the connection after the call took effect.
	ActCutAfter = fault.CutAfter
	// ActHang never answers: the call has no effect and the connection stays
	// open until the client, Restart or Close ends it.
	ActHang = fault.Hang
	// ActDeleteFirst lets the person delete the addressed message just before.
	ActDeleteFirst = "delete_first"
	// ActMalformed answers half of the JSON after the call took effect.
	ActMalformed = "malformed"
	// ActCutMiddle breaks a download off after half of the content.
	ActCutMiddle = fault.CutMiddle
	// ActPauseBefore, ActPauseAfter and ActPauseAnswered hold the call before it
	// takes effect, after that, or once the client has the whole answer: the
	// moments at which a test kills the client. They end with Resume or Drop, or when
	// Do returns.
	ActPauseBefore   = fault.PauseBefore
	ActPauseAfter    = "pause_after"
	ActPauseAnswered = "pause_answered"
)

// Actions of faults that hit what is delivered to the app. Their Method is event,
// command or action, or "event|command|action" for all; ActLatency may be used too.
const (
	// ActDrop loses the delivery on its way, so that it is made again.
	ActDrop = "drop"
	// ActDuplicate delivers once more although the app acknowledged.
	ActDuplicate = "duplicate"
	// ActBadSignature signs a request to the app with another secret.
	ActBadSignature = "bad_signature"
	// ActStale signs a request to the app with a time of ten minutes ago.
	ActStale = "stale"
)

// Fault is a rule: which calls it hits, and what happens to them. Of several
// rules that match a call, the first one added wins; all of them count it.
type Fault struct {
	// Method and Channel choose calls; zero matches all calls, but no deliveries.
	// Several methods are separated by "|". Downloads have the method "file", uploads
	// "upload", response URLs "respond", the opening of a socket "socket".
	Method  string `json:"method"`
	Channel string `json:"channel"`
	// Contains chooses calls with this in text, markdown_text, blocks or chunks.
	Contains string `json:"contains"`
	// Nth hits only the n-th chosen call (from 1), Every each n-th one.
	Nth   int `json:"nth"`
	Every int `json:"every"`
	// Times is how often the rule hits; 0 is without end.
	Times int `json:"times"`
	// For is how long the rule holds from now on, 0 without end; in JSON it is for_ms.
	For   time.Duration `json:"-"`
	ForMS int           `json:"for_ms"`

	Action     string `json:"action"`
	Status     int    `json:"status"`
	Error      string `json:"error"`
	RetryAfter int    `json:"retry_after"` // seconds; 1 when 0.
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
type Paused = fault.Paused[Call]

func callAction(action string) bool {
	switch action {
	case ActLatency, ActRateLimit, ActStatus, ActError, ActCutBefore, ActCutAfter, ActHang, ActDeleteFirst,
		ActMalformed, ActCutMiddle, ActPauseBefore, ActPauseAfter, ActPauseAnswered:
		return true
	}
	return false
}

func deliveryAction(action string) bool {
	switch action {
	case ActLatency, ActDrop, ActDuplicate, ActBadSignature, ActStale:
		return true
	}
	return false
}

// check tells what is wrong with a rule.
func (f Fault) check() error {
	allowed := callAction(f.Action)
	if f.ofDeliveries() {
		allowed = deliveryAction(f.Action)
	}
	switch {
	case !allowed:
		return fmt.Errorf("fault: no action %q for method %q", f.Action, f.Method)
	case f.Nth < 0 || f.Every < 0 || f.Times < 0 || f.RetryAfter < 0 || f.DelayMS < 0 || f.For < 0 || f.ForMS < 0:
		return fmt.Errorf("fault %s: negative number", f.Action)
	case f.Action == ActStatus && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("fault status: %d is no error status", f.Status)
	case f.Action == ActCutMiddle && !strings.EqualFold(f.Method, downloadMethod):
		return errors.New("fault cut_middle: only downloads have a middle")
	case f.Action == ActError && f.Error == "":
		return errors.New("fault error: which one?")
	}
	return nil
}

// ofDeliveries tells whether the rule is about what is delivered to the app.
func (f Fault) ofDeliveries() bool {
	for name := range strings.SplitSeq(f.Method, "|") {
		switch strings.TrimSpace(name) {
		case kindEvent, kindCommand, kindAction:
			return true
		}
	}
	return false
}

// Fault adds a rule and returns its id. It panics on a rule that makes no sense.
func (s *Server) Fault(f Fault) int {
	if err := f.check(); err != nil {
		panic("slack stand-in: " + err.Error())
	}
	f.Delay = fault.Lasts(f.Delay, f.DelayMS)
	return s.faults.Add(f, fault.When{Nth: f.Nth, Every: f.Every, Times: f.Times, For: fault.Lasts(f.For, f.ForMS)})
}

// ClearFaults removes all rules, ends an outage, and resumes what is held.
func (s *Server) ClearFaults() {
	s.faults.Clear()
	s.host.Refuse(time.Time{})
	s.Resume(0)
}

// match counts the call in every rule that chooses it and returns the first
// rule that hits.
func (s *Server) match(call *Call, delivery bool) *Fault {
	hit := s.faults.Match(call.At, func(f Fault) bool { return f.ofDeliveries() == delivery && f.chooses(call) })
	if hit != nil {
		call.Fault = hit.Action
	}
	return hit
}

func (f *Fault) chooses(call *Call) bool {
	return (f.Channel == "" || f.Channel == call.Channel) &&
		(f.Contains == "" || call.contains(f.Contains)) &&
		fault.Named(f.Method, call.Method)
}

func (c *Call) contains(text string) bool {
	for _, name := range []string{"text", "markdown_text", "blocks", "chunks"} {
		if strings.Contains(c.Params[name], text) {
			return true
		}
	}
	return false
}

// before does what a fault does ahead of the effect; done means that a is the
// answer and there will be no effect.
func (s *Server) before(ctx context.Context, call *Call, r *Fault, cut <-chan struct{}) (a answer, done bool) {
	if r == nil {
		return answer{}, false
	}
	switch r.Action {
	case ActRateLimit:
		return s.forceTooMany(call, r).answer(), true
	case ActStatus:
		if !r.AfterEffect {
			return htmlAnswer(r.Status), true
		}
	case ActError:
		if !r.AfterEffect {
			return s.errorAnswer(call, r), true
		}
	case ActDeleteFirst:
		s.mark(func() { //nolint:contextcheck // deliveries outlive what caused them
			if c := s.channels[call.Channel]; c != nil {
				if m := c.alive(call.TS); m != nil {
					s.remove(c, m, "person")
				}
			}
		})
	default:
		hold := func() bool { return s.hold(call, r, fault.Before, cut) }
		return answer{status: statusGone}, !fault.Step{Action: r.Action, Delay: r.Delay, Cut: cut, Hold: hold}.GoesOn(ctx)
	}
	return answer{}, false
}

// after does what a fault does between effect and answer.
func (s *Server) after(call *Call, r *Fault, a answer, cut <-chan struct{}) answer {
	if r == nil {
		return a
	}
	switch r.Action {
	case ActStatus:
		return htmlAnswer(r.Status)
	case ActError:
		return s.errorAnswer(call, r)
	case ActCutAfter:
		return answer{status: statusGone}
	case ActMalformed:
		a.body = a.body[:len(a.body)/2]
	case ActCutMiddle:
		a.sent = len(a.body) / 2
		a.broken = true
	case ActPauseAfter:
		if !s.hold(call, r, fault.After, cut) {
			return answer{status: statusGone}
		}
	}
	return a
}

// answered runs once the client has the answer.
func (s *Server) answered(call *Call, r *Fault, cut <-chan struct{}) {
	if r != nil && r.Action == ActPauseAnswered {
		s.hold(call, r, fault.Answered, cut)
	}
}

func (s *Server) errorAnswer(call *Call, r *Fault) answer {
	s.mark(func() { call.Error = r.Error })
	return fail(r.Error).answer()
}

func (s *Server) forceTooMany(call *Call, r *Fault) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	sc := s.limiter.method(call.Method)
	if call.Method == methodPost && call.Channel != "" {
		channel := call.Channel
		if s.isPerson(channel) {
			channel = imOf(channel)
		}
		sc = s.limiter.post(channel)
	}
	if aerr := s.checkBlocked(now, sc, call); aerr != nil {
		return aerr
	}
	s.stats.Forced++
	call.Error = "ratelimited"
	return s.block(now, sc, max(1, r.RetryAfter))
}

// hold keeps a call until Resume, Drop, Restart or Close; false when it does not go on.
func (s *Server) hold(call *Call, r *Fault, stage string, cut <-chan struct{}) bool {
	var held Call
	s.mark(func() { held = *call })
	if r.Do != nil {
		r.Do(held)
		return true
	}
	return s.holds.Hold(held, stage, cut, func(p *Paused) {
		s.mark(func() { s.publish(Event{Kind: "paused", Channel: held.Channel, Paused: p}) })
	})
}

// Paused returns the calls that faults hold.
func (s *Server) Paused() []Paused { return s.holds.List() }

// Resume lets a held call go on; 0 means all of them. It returns how many.
func (s *Server) Resume(id int) int { return s.holds.Release(id, true) }

// Drop ends a held call where it is, as if its connection had died there: one that is
// held before its effect has none. 0 means all of them. It returns how many.
func (s *Server) Drop(id int) int { return s.holds.Release(id, false) }
