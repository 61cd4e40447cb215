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

// ActNoMessageID is an action of faults beside those of package fault: it takes message_id out of the answer.
const ActNoMessageID = "no_message_id"

// ActLate is an action of faults beside those of package fault: the connection is cut, and the call takes effect Delay (or
// DelayMS) later. It was counted when it arrived.
const ActLate = "late"

// Fault is a rule: which calls it hits, and what happens to them. Calls are chosen by Chat, and by a text or caption
// that Contains something; downloads have the method "file". Scope is "global" for all chats, or "" for the call's chat;
// RetryAfter is in whole seconds. A Status from 500 on is answered as HTML, unless it has a Description.
type Fault = fault.Fault[Call]

// Paused is a call that a fault holds.
type Paused = fault.Paused[Call]

// check tells what is wrong with a fault.
func check(f *Fault) error {
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

func chooses(f *Fault, call *Call) bool {
	return (f.Chat == 0 || f.Chat == call.Chat) &&
		(f.Contains == "" || strings.Contains(call.Params["text"], f.Contains) || strings.Contains(call.Params["caption"], f.Contains)) &&
		fault.Named(f.Method, call.Method)
}

// act does what a fault does in place of a call's effect, or after it.
func (s *Server) act(f *Fault, call *Call) (rig.Answer, bool) {
	switch f.Action {
	case fault.RateLimit:
		return s.forceTooMany(call, f).answer(), true
	case fault.Status:
		return statusAnswer(f), true
	case fault.NotFound:
		return notFound(call).answer(), true
	case ActLate:
		return s.actLate(f, call), true
	case fault.DeleteFirst:
		s.Locked(func() {
			if m := s.chats[call.Chat].alive(call.MessageID); m != nil {
				s.remove(s.chats[call.Chat], m, time.Now(), "person")
			}
		})
	}
	return rig.Answer{}, false
}

// actLate counts a call, and lets it take effect later. Its answer is the end of the connection.
func (s *Server) actLate(f *Fault, call *Call) rig.Answer {
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
	time.AfterFunc(fault.Lasts(f.Delay, f.DelayMS), func() { s.late(&later) })
	return rig.Answer{}
}

// late lets a call take effect whose connection was cut before. Only texts can be late: the content of files is not kept.
func (s *Server) late(call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = rig.Run[apiError](func() any { // nobody hears of a refusal
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
