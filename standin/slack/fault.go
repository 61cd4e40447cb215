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

// Actions of faults on deliveries to the app. The Method of such a fault is event, command or action, or
// "event|command|action" for all deliveries. The action fault.Latency is also possible.
const (
	// ActDrop loses an attempt to deliver, so that another one follows.
	ActDrop = "drop"
	// ActDuplicate delivers again although the app acknowledged.
	ActDuplicate = "duplicate"
	// ActBadSignature signs a request to the app with a wrong secret.
	ActBadSignature = "bad_signature"
	// ActStale signs a request to the app with a time ten minutes ago.
	ActStale = "stale"
)

// Fault is a rule: which calls it hits, and what happens to them. A fault without a Method selects calls, but no
// deliveries. Downloads have the method "file", uploads "upload", response URLs "respond", and opened sockets "socket".
// Contains is searched for in text, markdown_text, blocks and chunks. RetryAfter is in whole seconds. A rate limit
// blocks the scope of the method. The response of fault.Status has an HTML body.
type Fault = fault.Fault[Call]

// Paused is a call that a fault pauses.
type Paused = fault.Paused[Call]

// checkFault returns what is wrong with a fault.
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

// applyFault applies a fault instead of a call's effect or after it.
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
