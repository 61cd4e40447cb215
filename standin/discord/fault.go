package discord

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"telex/standin/fault"
	"telex/standin/rig"
)

// Fault is a rule that selects calls, and describes what happens to them. The method "gateway" is a connection to the
// gateway, and "attachment" is the download of a file. Contains selects calls whose JSON contains this text. Scope is
// the scope that a 429 reports: user, shared or global; "" means user. A 429 blocks the call's bucket, or all calls if
// the scope is global. A response with a Status of 500 or more has an HTML body, except if Description is set.
type Fault = fault.Fault[Call]

// Paused is a call that a fault holds.
type Paused = fault.Paused[Call]

// checkFault returns an error if a fault is invalid.
func checkFault(f *Fault) error {
	switch {
	case f.Scope != "" && f.Scope != scopeUser && f.Scope != scopeShared && f.Scope != scopeGlobal:
		return fmt.Errorf("fault %s: unknown scope %q", f.Action, f.Scope)
	case f.Chat != 0 || f.Error != "" || f.Rate != 0:
		return errors.New("fault: chat, error and rate are other platforms'")
	}
	return f.Check(fault.Everywhere(fault.NotFound)...)
}

func faultMatches(f *Fault, call *Call) bool {
	return (f.Channel == "" || f.Channel == call.Channel) &&
		(f.Contains == "" || strings.Contains(string(call.Body), f.Contains)) &&
		fault.Named(f.Method, call.Method)
}

// applyFault applies a fault in place of a call's effect, or after the effect.
func (s *Server) applyFault(f *Fault, call *Call) (rig.Answer, bool) {
	switch f.Action {
	case fault.RateLimit:
		return s.injectRateLimit(call, f), true
	case fault.Status:
		s.Locked(func() { call.Code = f.Code })
		return statusAnswer(f), true
	case fault.NotFound:
		aerr := notFoundError(call)
		s.Locked(func() { call.Code = aerr.code })
		return aerr.answer(), true
	case fault.DeleteFirst:
		s.Locked(func() {
			if m := s.channels[call.Channel].message(call.Message); m != nil {
				s.remove(s.channels[call.Channel], m, time.Now(), "person")
			}
		})
	}
	return rig.Answer{}, false
}

// notFoundError returns the response to a call whose target does not exist.
func notFoundError(call *Call) *apiError {
	if call.Message != "" {
		return unknownMessage()
	}
	return notFound(codeUnknownChannel, "Channel")
}

func statusAnswer(f *Fault) rig.Answer {
	if f.Status >= http.StatusInternalServerError && f.Description == "" {
		return rig.HTML(f.Status, proxyServer)
	}
	message := f.Description
	if message == "" {
		message = http.StatusText(f.Status)
	}
	return fail(f.Status, f.Code, message).answer()
}

// injectRateLimit responds with 429 and blocks the call's bucket, or all calls if the fault's scope is global. If the
// bucket is already blocked, that block remains unchanged.
func (s *Server) injectRateLimit(call *Call, f *Fault) rig.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, kind, sc := time.Now(), cmp.Or(f.Scope, scopeUser), s.bucket(call)
	if kind == scopeGlobal {
		sc = s.limiter.scope(bucketGlobal, "")
	}
	wait := time.Duration(cmp.Or(f.RetryAfter, 1) * float64(time.Second))
	if sc == nil {
		s.Counted.Forced++
		return tooMany(wait, kind).answer()
	}
	if aerr := s.checkBlocked(now, sc, call); aerr != nil {
		return aerr.answer()
	}
	s.Counted.Forced++
	aerr := block(now, sc, wait, kind)
	call.Description = aerr.message
	a := aerr.answer()
	if kind != scopeGlobal {
		headers(now, sc, a.Header)
	}
	return a
}
