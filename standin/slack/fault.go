package slack

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"telex/standin/fault"
	"telex/standin/rig"
)

// Actions of faults that hit deliveries to the app. The Method of such a fault is event, command or action, or
// "event|command|action" for all deliveries. A delivery can also be hit by the action fault.Latency.
const (
	// ActDrop makes one attempt to deliver fail, so that the server makes another attempt.
	ActDrop = "drop"
	// ActDuplicate makes the server deliver a second time, although the app has acknowledged the first attempt.
	ActDuplicate = "duplicate"
	// ActBadSignature signs a request to the app with a wrong secret.
	ActBadSignature = "bad_signature"
	// ActStale signs a request to the app with a timestamp that is ten minutes old.
	ActStale = "stale"
)

// Fault is a rule that selects calls, and describes what happens to them. A fault without a Method selects all calls,
// but no deliveries. A download has the method "file", an upload "upload", a use of a response URL "respond", and the
// opening of a socket "socket". Contains selects calls whose text, markdown_text, blocks or chunks contain this string.
// RetryAfter is in whole seconds. The action RateLimit blocks the scope of the called method. The action Status
// responds with an HTML body.
type Fault = fault.Fault[Call]

// Paused is a call that a fault holds.
type Paused = fault.Paused[Call]

// checkFault returns an error if a fault is invalid.
func checkFault(f *Fault) error {
	switch {
	case f.Chat != 0 || f.Code != 0 || f.Description != "" || f.Scope != "" || f.Rate != 0:
		return errors.New("fault: chat, code, description, scope and rate are other platforms'")
	case f.RetryAfter != math.Trunc(f.RetryAfter):
		return fmt.Errorf("fault %s: retry_after is in whole seconds", f.Action)
	case selectsDeliveries(f):
		return f.Check(fault.Latency, ActDrop, ActDuplicate, ActBadSignature, ActStale)
	case f.Action == fault.CutMiddle && !strings.EqualFold(f.Method, downloadMethod):
		return errors.New("fault cut_middle: only downloads have a middle")
	case f.Action == fault.Error && f.Error == "":
		return errors.New("fault error: which one?")
	}
	return f.Check(fault.Everywhere(fault.Error)...)
}

// selectsDeliveries reports whether the rule selects deliveries to the app.
func selectsDeliveries(f *Fault) bool {
	for name := range strings.SplitSeq(f.Method, "|") {
		switch strings.TrimSpace(name) {
		case kindEvent, kindCommand, kindAction:
			return true
		}
	}
	return false
}

func faultMatches(f *Fault, call *Call) bool {
	return selectsDeliveries(f) == call.delivery && (f.Channel == "" || f.Channel == call.Channel) &&
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

// applyFault applies a fault in place of a call's effect, or after the effect.
func (s *Server) applyFault(f *Fault, call *Call) (rig.Answer, bool) {
	switch f.Action {
	case fault.RateLimit:
		return s.injectRateLimit(call, f).answer(), true
	case fault.Status:
		return rig.HTML(f.Status, ""), true
	case fault.Error:
		s.Locked(func() { call.Error = f.Error })
		return fail(f.Error).answer(), true
	case fault.DeleteFirst:
		s.Locked(func() {
			if m := s.channels[call.Channel].message(call.TS); m != nil {
				s.remove(s.channels[call.Channel], m, "person")
			}
		})
	}
	return rig.Answer{}, false
}

func (s *Server) injectRateLimit(call *Call, r *Fault) *apiError {
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
	return s.block(now, sc, max(1, int(r.RetryAfter)))
}
