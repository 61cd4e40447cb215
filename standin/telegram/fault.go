package telegram

import (
	"fmt"
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

// Fault is a rule: which calls it hits, and what happens to them. Of several
// rules that match a call, the first one added wins; all of them count it.
type Fault struct {
	// Method and Chat choose calls; zero matches all. Several methods are
	// separated by "|". Downloads have the method "file".
	Method string `json:"method"`
	Chat   int64  `json:"chat"`
	// Contains chooses calls whose text or caption contains it.
	Contains string `json:"contains"`
	// Nth hits only the n-th chosen call (from 1), Every each n-th one.
	Nth   int `json:"nth"`
	Every int `json:"every"`
	// Times is how often the rule hits; 0 is without end.
	Times int `json:"times"`
	// For is how long the rule holds from now on, 0 without end; in JSON it is for_ms.
	For   time.Duration `json:"-"`
	ForMS int           `json:"for_ms"`

	Action      string `json:"action"`
	Status      int    `json:"status"`
	Description string `json:"description"`
	RetryAfter  int    `json:"retry_after"` // seconds; 1 when 0.
	Scope       string `json:"scope"`       // "global" or "", the chat.
	// Delay is the latency; in JSON it is delay_ms.
	Delay       time.Duration `json:"-"`
	DelayMS     int           `json:"delay_ms"`
	Rate        int           `json:"rate"` // bytes per second.
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
		Rate: f.Rate, AfterEffect: f.AfterEffect, Do: f.Do,
	}
}

// check tells what is wrong with a fault.
func (f *Fault) check() error {
	if (f.Action == ActCutMiddle || f.Action == ActDrip) && !strings.EqualFold(f.Method, downloadMethod) {
		return fmt.Errorf("fault %s: only for the method %q", f.Action, downloadMethod)
	}
	return f.rule().Check(ActLatency, ActRateLimit, ActStatus, ActCutBefore, ActCutAfter, ActHang, ActDeleteFirst, ActNotFound,
		ActMalformed, ActNoMessageID, ActCutMiddle, ActDrip, ActPauseBefore, ActPauseAfter, ActPauseAnswered)
}

func (f *Fault) chooses(call *Call) bool {
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
		return f.statusAnswer(), true
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

func (f *Fault) statusAnswer() rig.Answer {
	if f.Status >= http.StatusInternalServerError && f.Description == "" {
		return rig.HTML(f.Status, proxy)
	}
	e := &apiError{code: f.Status, description: f.Description, retryAfter: f.RetryAfter}
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
			return tooMany(max(1, r.RetryAfter))
		}
		if aerr := s.checkBlocked(now, c, call); aerr != nil {
			s.Counted.Forced--
			return aerr
		}
		sc = s.limiter.chat(c)
	}
	aerr := s.block(now, sc, max(1, r.RetryAfter))
	call.Description = aerr.description
	return aerr
}
