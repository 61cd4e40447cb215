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

// Fault is a rule: which calls it hits, and what happens to them. The method "gateway" is a connection to the gateway,
// "attachment" the download of a file. Contains looks into the body, as JSON. Scope is that of a rate limit: user, shared
// or global; user when "". A rate limit closes the call's bucket, or everything when it is global. A Status from 500 on is
// answered as HTML, unless it has a Description.
type Fault = fault.Fault[Call]

// Paused is a call that a fault holds.
type Paused = fault.Paused[Call]

// check tells what is wrong with a fault.
func check(f *Fault) error {
	switch {
	case f.Scope != "" && f.Scope != scopeUser && f.Scope != scopeShared && f.Scope != scopeGlobal:
		return fmt.Errorf("fault %s: unknown scope %q", f.Action, f.Scope)
	case f.Chat != 0 || f.Error != "" || f.Rate != 0:
		return errors.New("fault: chat, error and rate are other platforms'")
	}
	return f.Check(fault.Everywhere(fault.NotFound)...)
}

func chooses(f *Fault, call *Call) bool {
	return (f.Channel == "" || f.Channel == call.Channel) &&
		(f.Contains == "" || strings.Contains(string(call.Body), f.Contains)) &&
		fault.Named(f.Method, call.Method)
}

// act does what a fault does in place of a call's effect, or after it.
func (s *Server) act(f *Fault, call *Call) (rig.Answer, bool) {
	switch f.Action {
	case fault.RateLimit:
		return s.forceTooMany(call, f), true
	case fault.Status:
		s.Locked(func() { call.Code = f.Code })
		return statusAnswer(f), true
	case fault.NotFound:
		aerr := missing(call)
		s.Locked(func() { call.Code = aerr.code })
		return aerr.answer(), true
	case fault.DeleteFirst:
		s.Locked(func() {
			if m := s.channels[call.Channel].alive(call.Message); m != nil {
				s.remove(s.channels[call.Channel], m, time.Now(), "person")
			}
		})
	}
	return rig.Answer{}, false
}

// missing is the answer to a call whose target does not exist.
func missing(call *Call) *apiError {
	if call.Message != "" {
		return unknownMessage()
	}
	return notFound(codeUnknownChannel, "Channel")
}

func statusAnswer(f *Fault) rig.Answer {
	if f.Status >= http.StatusInternalServerError && f.Description == "" {
		return rig.HTML(f.Status, proxy)
	}
	message := f.Description
	if message == "" {
		message = http.StatusText(f.Status)
	}
	return fail(f.Status, f.Code, message).answer()
}

// forceTooMany answers 429 and closes the call's bucket, or everything. A bucket that is closed already says so.
func (s *Server) forceTooMany(call *Call, f *Fault) rig.Answer {
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
