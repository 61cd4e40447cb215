package slack

import (
	"errors"
	"strings"
	"time"

	"telex/standin/fault"
	"telex/standin/rig"
)

// Actions of faults; the package fault says what those do that other platforms have too.
const (
	ActLatency = fault.Latency
	// ActRateLimit closes the method's scope.
	ActRateLimit = fault.RateLimit
	// ActStatus answers as HTML, as what stands in front of the platform does.
	ActStatus = fault.Status
	// ActError answers ok=false with Error.
	ActError         = fault.Error
	ActCutBefore     = fault.CutBefore
	ActCutAfter      = fault.CutAfter
	ActCutMiddle     = fault.CutMiddle
	ActHang          = fault.Hang
	ActDeleteFirst   = fault.DeleteFirst
	ActMalformed     = fault.Malformed
	ActPauseBefore   = fault.PauseBefore
	ActPauseAfter    = fault.PauseAfter
	ActPauseAnswered = fault.PauseAnswered
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

// Kinds of outages; the package fault says what they are.
const (
	OutageRefuse = fault.OutageRefuse
	OutageCut    = fault.OutageCut
	OutageError  = fault.OutageError
	OutageHang   = fault.OutageHang
)

// Outage is a time in which the API does nothing.
type Outage = fault.Outage

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

// rule is the fault in the words of all platforms.
func (f *Fault) rule() fault.Rule[Call] {
	return fault.Rule[Call]{
		When:   fault.When{Nth: f.Nth, Every: f.Every, Times: f.Times, For: fault.Lasts(f.For, f.ForMS)},
		Action: f.Action, Status: f.Status, RetryAfter: float64(f.RetryAfter), Delay: fault.Lasts(f.Delay, f.DelayMS),
		AfterEffect: f.AfterEffect, Do: f.Do,
	}
}

// check tells what is wrong with a fault.
func (f *Fault) check() error {
	switch {
	case f.ofDeliveries():
		return f.rule().Check(ActLatency, ActDrop, ActDuplicate, ActBadSignature, ActStale)
	case f.Action == ActCutMiddle && !strings.EqualFold(f.Method, downloadMethod):
		return errors.New("fault cut_middle: only downloads have a middle")
	case f.Action == ActError && f.Error == "":
		return errors.New("fault error: which one?")
	}
	return f.rule().Check(ActLatency, ActRateLimit, ActStatus, ActError, ActCutBefore, ActCutAfter, ActHang, ActDeleteFirst,
		ActMalformed, ActCutMiddle, ActPauseBefore, ActPauseAfter, ActPauseAnswered)
}

// ofDeliveries tells whether the rule is about what is delivered to the app.
func (f *Fault) ofDeliveries() bool {
	for name := range strings.SplitSeq(f.Method, "|") {
		switch strings.TrimSpace(name) {
		case kindEvent, kindCommand, kindAction:
			return true
		}
	}
	return false
}

func (f *Fault) chooses(call *Call) bool {
	return f.ofDeliveries() == call.delivery && (f.Channel == "" || f.Channel == call.Channel) &&
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

// act does what a fault does in place of a call's effect, or after it.
func (s *Server) act(f *Fault, call *Call) (rig.Answer, bool) {
	switch f.Action {
	case ActRateLimit:
		return s.forceTooMany(call, f).answer(), true
	case ActStatus:
		return rig.HTML(f.Status, ""), true
	case ActError:
		s.Locked(func() { call.Error = f.Error })
		return fail(f.Error).answer(), true
	case ActDeleteFirst:
		s.Locked(func() {
			if c := s.channels[call.Channel]; c != nil {
				if m := c.alive(call.TS); m != nil {
					s.remove(c, m, "person")
				}
			}
		})
	}
	return rig.Answer{}, false
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
	s.Counted.Forced++
	call.Error = "ratelimited"
	return s.block(now, sc, max(1, r.RetryAfter))
}
