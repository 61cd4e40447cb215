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

// Actions of faults; the package fault says what those do that other platforms have too.
const (
	ActLatency = fault.Latency
	// ActRateLimit closes the call's chat, or all chats when Scope is "global".
	ActRateLimit = fault.RateLimit
	// ActStatus answers as HTML from 500 on, else as an API error with Description.
	ActStatus      = fault.Status
	ActCutBefore   = fault.CutBefore
	ActCutAfter    = fault.CutAfter
	ActCutMiddle   = fault.CutMiddle
	ActDrip        = fault.Drip
	ActHang        = fault.Hang
	ActDeleteFirst = fault.DeleteFirst
	ActNotFound    = fault.NotFound
	ActMalformed   = fault.Malformed
	// ActNoMessageID takes message_id out of the answer.
	ActNoMessageID   = "no_message_id"
	ActPauseBefore   = fault.PauseBefore
	ActPauseAfter    = fault.PauseAfter
	ActPauseAnswered = fault.PauseAnswered
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

// Fault is a rule: which calls it hits, and what happens to them. Calls are chosen by Chat, and by a text or caption
// that Contains something; downloads have the method "file". Scope is "global" or "", the chat; RetryAfter is in whole
// seconds.
type Fault = fault.Fault[Call]

// Paused is a call that a fault holds.
type Paused = fault.Paused[Call]

// check tells what is wrong with a fault.
func check(f *Fault) error {
	switch {
	case (f.Action == ActCutMiddle || f.Action == ActDrip) && !strings.EqualFold(f.Method, downloadMethod):
		return fmt.Errorf("fault %s: only for the method %q", f.Action, downloadMethod)
	case f.RetryAfter != math.Trunc(f.RetryAfter):
		return fmt.Errorf("fault %s: retry_after is in whole seconds", f.Action)
	case f.Channel != "" || f.Code != 0 || f.Error != "":
		return errors.New("fault: channel, code and error are other platforms'")
	}
	return f.Check(ActLatency, ActRateLimit, ActStatus, ActCutBefore, ActCutAfter, ActHang, ActDeleteFirst, ActNotFound,
		ActMalformed, ActNoMessageID, ActCutMiddle, ActDrip, ActPauseBefore, ActPauseAfter, ActPauseAnswered)
}

func chooses(f *Fault, call *Call) bool {
	return (f.Chat == 0 || f.Chat == call.Chat) &&
		(f.Contains == "" || strings.Contains(call.Params["text"], f.Contains) || strings.Contains(call.Params["caption"], f.Contains)) &&
		fault.Named(f.Method, call.Method)
}

// act does what a fault does in place of a call's effect, or after it.
func (s *Server) act(f *Fault, call *Call) (rig.Answer, bool) {
	switch f.Action {
	case ActRateLimit:
		return s.forceTooMany(call, f).answer(), true
	case ActStatus:
		return statusAnswer(f), true
	case ActNotFound:
		return notFound(call).answer(), true
	case ActDeleteFirst:
		s.Locked(func() {
			if c := s.chats[call.Chat]; c != nil {
				if m := c.alive(call.MessageID); m != nil {
					s.remove(c, m, time.Now(), "person")
				}
			}
		})
	}
	return rig.Answer{}, false
}

func notFound(call *Call) *apiError {
	switch call.Method {
	case "editMessageText":
		return badRequest("message to edit not found")
	case "deleteMessage":
		return badRequest("message to delete not found")
	case downloadMethod:
		return noFile()
	}
	return badRequest("chat not found")
}

// bend changes the answer to a call that took effect.
func bend(f *Fault, a rig.Answer) rig.Answer {
	if f.Action == ActNoMessageID {
		a.Body = withoutMessageID(a.Body)
	}
	return a
}

func statusAnswer(f *Fault) rig.Answer {
	if f.Status >= http.StatusInternalServerError && f.Description == "" {
		return rig.HTML(f.Status, proxy)
	}
	e := &apiError{code: f.Status, description: f.Description, retryAfter: int(f.RetryAfter)}
	if e.description == "" {
		e.description = http.StatusText(f.Status)
	}
	return e.answer()
}

func (s *Server) forceTooMany(call *Call, r *Fault) *apiError {
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
