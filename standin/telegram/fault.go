package telegram

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"telex/standin/fault"
	"telex/standin/rig"
)

// ActNoMessageID is an action of faults that only this stand-in has. ActNoMessageID removes message_id from the
// response.
const ActNoMessageID = "no_message_id"

// ActLate is an action of faults that only this stand-in has. With ActLate, the server closes the connection without a
// response, and the call takes effect after Delay (or DelayMS). The rate limits count such a call when it arrives.
const ActLate = "late"

// Fault is a rule that selects calls, and describes what happens to them. Chat selects calls by their chat, and
// Contains by their text or caption. Downloads have the method "file". Scope is the scope that a 429 closes, which is
// "global" for all chats, or "" for the call's chat. RetryAfter is in whole seconds. A response with a Status of 500 or
// more has an HTML body, except if Description is set.
type Fault = fault.Fault[Call]

// Paused is a call that a fault holds.
type Paused = fault.Paused[Call]

// checkFault returns an error if a fault is invalid.
func checkFault(f *Fault) error {
	switch {
	case (f.Action == fault.CutMiddle || f.Action == fault.Drip) && !strings.EqualFold(f.Method, downloadMethod):
		return fmt.Errorf("fault %s: only for the method %q", f.Action, downloadMethod)
	case f.RetryAfter != math.Trunc(f.RetryAfter):
		return fmt.Errorf("fault %s: retry_after is in whole seconds", f.Action)
	case f.Channel != "" || f.Code != 0 || f.Error != "":
		return errors.New("fault: channel, code and error are other platforms'")
	}
	return f.Check(fault.Everywhere(fault.NotFound, fault.Drip, ActNoMessageID, ActLate)...)
}

func faultMatches(f *Fault, call *Call) bool {
	return (f.Chat == 0 || f.Chat == call.Chat) &&
		(f.Contains == "" || strings.Contains(call.Params["text"], f.Contains) || strings.Contains(call.Params["caption"], f.Contains)) &&
		fault.Named(f.Method, call.Method)
}

// applyFault applies a fault in place of a call's effect, or after the effect.
func (s *Server) applyFault(f *Fault, call *Call) (rig.Answer, bool) {
	switch f.Action {
	case fault.RateLimit:
		return s.injectRateLimit(call, f).answer(), true
	case fault.Status:
		return statusAnswer(f), true
	case fault.NotFound:
		return notFound(call).answer(), true
	case ActLate:
		return s.applyLateFault(f, call), true
	case fault.DeleteFirst:
		s.Locked(func() {
			if m := s.chats[call.Chat].message(call.MessageID); m != nil {
				s.remove(s.chats[call.Chat], m, time.Now(), "person")
			}
		})
	}
	return rig.Answer{}, false
}

// applyLateFault counts a call, closes its connection without a response, and lets the call take effect later.
func (s *Server) applyLateFault(f *Fault, call *Call) rig.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, refused := rig.Run[apiError](func() any {
		if c := s.chats[call.Chat]; c != nil {
			s.charge(time.Now(), c, call)
		}
		return nil
	})
	if refused != nil {
		return refused.answer()
	}
	later := *call
	later.late = true
	time.AfterFunc(fault.Lasts(f.Delay, f.DelayMS), func() { s.runLate(&later) })
	return rig.Answer{}
}

// runLate runs a call after its connection was closed. runLate supports only calls without files, because records of
// calls do not contain files.
func (s *Server) runLate(call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = rig.Run[apiError](func() any { // the error of a refused call is lost, because the client has no connection
		return s.dispatch(&request{params: params{rig.Form{Values: call.Params}}, now: time.Now(), call: call})
	})
}

func notFound(call *Call) *apiError {
	switch call.Method {
	case "editMessageText", "editMessageCaption":
		return badRequest("message to edit not found")
	case "deleteMessage":
		return badRequest("message to delete not found")
	case downloadMethod:
		return noFile()
	}
	return badRequest("chat not found")
}

// changeAnswer changes the response to a call that took effect.
func changeAnswer(f *Fault, a rig.Answer) rig.Answer {
	if f.Action == ActNoMessageID {
		a.Body = withoutMessageID(a.Body)
	}
	return a
}

func statusAnswer(f *Fault) rig.Answer {
	if f.Status >= http.StatusInternalServerError && f.Description == "" {
		return rig.HTML(f.Status, proxyServer)
	}
	e := &apiError{code: f.Status, description: f.Description, retryAfter: int(f.RetryAfter)}
	if e.description == "" {
		e.description = http.StatusText(f.Status)
	}
	return e.answer()
}

func (s *Server) injectRateLimit(call *Call, r *Fault) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Counted.Forced++
	now := time.Now()
	sc := s.limiter.global()
	if r.Scope != globalScope {
		c := s.chats[call.Chat]
		if c == nil {
			return tooMany(max(1, int(r.RetryAfter)))
		}
		if aerr := s.checkBlocked(now, c, call); aerr != nil {
			s.Counted.Forced--
			return aerr
		}
		sc = s.limiter.chat(c)
	}
	aerr := s.block(now, sc, max(1, int(r.RetryAfter)))
	call.Description = aerr.description
	return aerr
}
