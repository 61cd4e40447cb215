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

// Actions of faults that hit what is delivered to the app. Their Method is event,
// command or action, or "event|command|action" for all; fault.Latency may be used too.
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

// Fault is a rule: which calls it hits, and what happens to them. Without a Method it is about calls, never about
// deliveries. Downloads have the method "file", uploads "upload", response URLs "respond", the opening of a socket
// "socket". Contains looks into text, markdown_text, blocks and chunks; RetryAfter is in whole seconds. A rate limit
// closes the scope of the method; a status is answered as HTML.
type Fault = fault.Fault[Call]

// Paused is a call that a fault pauses.
type Paused = fault.Paused[Call]

// check returns what is wrong with a fault.
func check(f *Fault) error {
	switch {
	case f.Chat != 0 || f.Code != 0 || f.Description != "" || f.Scope != "" || f.Rate != 0:
		return errors.New("fault: chat, code, description, scope and rate are other platforms'")
	case f.RetryAfter != math.Trunc(f.RetryAfter):
		return fmt.Errorf("fault %s: retry_after is in whole seconds", f.Action)
	case ofDeliveries(f):
		return f.Check(fault.Latency, ActDrop, ActDuplicate, ActBadSignature, ActStale)
	case f.Action == fault.CutMiddle && !strings.EqualFold(f.Method, downloadMethod):
		return errors.New("fault cut_middle: only downloads have a middle")
	case f.Action == fault.Error && f.Error == "":
		return errors.New("fault error: which one?")
	}
	return f.Check(fault.Everywhere(fault.Error)...)
}

// ofDeliveries reports whether the rule is about what is delivered to the app.
func ofDeliveries(f *Fault) bool {
	for name := range strings.SplitSeq(f.Method, "|") {
		switch strings.TrimSpace(name) {
		case kindEvent, kindCommand, kindAction:
			return true
		}
	}
	return false
}

func chooses(f *Fault, call *Call) bool {
	return ofDeliveries(f) == call.delivery && (f.Channel == "" || f.Channel == call.Channel) &&
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

// act applies a fault instead of a call's effect or after it.
func (s *Server) act(f *Fault, call *Call) (rig.Answer, bool) {
	switch f.Action {
	case fault.RateLimit:
		return s.forceTooMany(call, f).answer(), true
	case fault.Status:
		return rig.HTML(f.Status, ""), true
	case fault.Error:
		s.Locked(func() { call.Error = f.Error })
		return fail(f.Error).answer(), true
	case fault.DeleteFirst:
		s.Locked(func() {
			if m := s.channels[call.Channel].alive(call.TS); m != nil {
				s.remove(s.channels[call.Channel], m, "person")
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
	return s.block(now, sc, max(1, int(r.RetryAfter)))
}
