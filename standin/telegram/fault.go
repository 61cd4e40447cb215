package telegram

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"telex/standin/fault"
)

// Actions of faults.
const (
	// ActLatency makes the call slower by Delay before it takes effect.
	ActLatency = fault.Latency
	// ActRateLimit answers 429 with RetryAfter and closes the call's chat (or
	// all chats, when Scope is "global") until that is over.
	ActRateLimit = fault.RateLimit
	// ActStatus answers with Status: as HTML from 500 on, else as an API error
	// with Description. With AfterEffect the call takes effect first.
	ActStatus = fault.Status
	// ActCutBefore drops the connection, and the call has no effect.
	ActCutBefore = fault.CutBefore
	// ActCutAfter drops the connection after the call took effect.
	ActCutAfter = fault.CutAfter
	// ActHang never answers: the call has no effect and the connection stays
	// open until the client, Restart or Close ends it.
	ActHang = fault.Hang
	// ActDeleteFirst lets the person delete the addressed message just before.
	ActDeleteFirst = "delete_first"
	// ActNotFound answers as if the addressed message, or the chat, did not exist.
	ActNotFound = "not_found"
	// ActMalformed answers half of the JSON after the call took effect.
	ActMalformed = "malformed"
	// ActNoMessageID takes message_id out of the answer.
	ActNoMessageID = "no_message_id"
	// ActCutMiddle breaks a download off after half of the content.
	ActCutMiddle = fault.CutMiddle
	// ActDrip sends a download at Rate.
	ActDrip = "drip"
	// ActPauseBefore, ActPauseAfter and ActPauseAnswered hold the call before it
	// takes effect, after that, or once the client has the whole answer: the
	// moments at which a test kills the client. They end with Resume or Drop, or when
	// Do returns.
	ActPauseBefore   = fault.PauseBefore
	ActPauseAfter    = "pause_after"
	ActPauseAnswered = "pause_answered"
)

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

func validAction(action string) bool {
	switch action {
	case ActLatency, ActRateLimit, ActStatus, ActCutBefore, ActCutAfter, ActHang, ActDeleteFirst, ActNotFound,
		ActMalformed, ActNoMessageID, ActCutMiddle, ActDrip, ActPauseBefore, ActPauseAfter, ActPauseAnswered:
		return true
	}
	return false
}

// check tells what is wrong with a rule.
func (f Fault) check() error {
	switch {
	case !validAction(f.Action):
		return fmt.Errorf("unknown fault action %q", f.Action)
	case f.Nth < 0 || f.Every < 0 || f.Times < 0 || f.RetryAfter < 0 || f.DelayMS < 0 || f.For < 0 || f.ForMS < 0:
		return fmt.Errorf("fault %s: negative number", f.Action)
	case (f.Action == ActCutMiddle || f.Action == ActDrip) && !strings.EqualFold(f.Method, downloadMethod):
		return fmt.Errorf("fault %s: only for the method %q", f.Action, downloadMethod)
	case f.Action == ActDrip && f.Rate < 1:
		return fmt.Errorf("fault %s: rate must be 1 byte per second or more", f.Action)
	case f.Action == ActStatus && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("fault status: %d is no error status", f.Status)
	}
	return nil
}

// Fault adds a rule and returns its id. It panics on a rule that makes no sense.
func (s *Server) Fault(f Fault) int {
	if err := f.check(); err != nil {
		panic("telegram stand-in: " + err.Error())
	}
	f.Delay = fault.Lasts(f.Delay, f.DelayMS)
	return s.faults.Add(f, fault.When{Nth: f.Nth, Every: f.Every, Times: f.Times, For: fault.Lasts(f.For, f.ForMS)})
}

// ClearFaults removes all rules, ends an outage, and resumes what is held.
func (s *Server) ClearFaults() {
	s.faults.Clear()
	s.host.Refuse(time.Time{})
	s.Resume(0)
}

// match counts the call in every rule that chooses it and returns the first
// rule that hits.
func (s *Server) match(call *Call) *Fault {
	hit := s.faults.Match(call.At, func(f Fault) bool { return f.chooses(call) })
	if hit != nil {
		call.Fault = hit.Action
	}
	return hit
}

func (f *Fault) chooses(call *Call) bool {
	return (f.Chat == 0 || f.Chat == call.Chat) &&
		(f.Contains == "" || strings.Contains(call.Params["text"], f.Contains) || strings.Contains(call.Params["caption"], f.Contains)) &&
		fault.Named(f.Method, call.Method)
}

// before does what a fault does ahead of the effect; done means that a is the
// answer and there will be no effect.
func (s *Server) before(ctx context.Context, call *Call, r *Fault, cut <-chan struct{}) (a answer, done bool) {
	if r == nil {
		return answer{}, false
	}
	switch r.Action {
	case ActRateLimit:
		return s.forceTooMany(call, r).answer(), true
	case ActStatus:
		if !r.AfterEffect {
			return r.statusAnswer(), true
		}
	case ActDeleteFirst:
		s.mark(func() {
			if c := s.chats[call.Chat]; c != nil {
				if m := c.alive(call.MessageID); m != nil {
					s.remove(c, m, time.Now(), "person")
				}
			}
		})
	case ActNotFound:
		return notFound(call).answer(), true
	default:
		hold := func() bool { return s.hold(call, r, fault.Before, cut) }
		return answer{status: statusGone}, !fault.Step{Action: r.Action, Delay: r.Delay, Cut: cut, Hold: hold}.GoesOn(ctx)
	}
	return answer{}, false
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

// after does what a fault does between effect and answer.
func (s *Server) after(call *Call, r *Fault, a answer, cut <-chan struct{}) answer {
	if r == nil {
		return a
	}
	switch r.Action {
	case ActStatus:
		return r.statusAnswer()
	case ActCutAfter:
		return answer{status: statusGone}
	case ActMalformed:
		a.body = a.body[:len(a.body)/2]
	case ActNoMessageID:
		a.body = withoutMessageID(a.body)
	case ActPauseAfter:
		if !s.hold(call, r, fault.After, cut) {
			return answer{status: statusGone}
		}
	}
	return a
}

// answered runs once the client has the answer.
func (s *Server) answered(call *Call, r *Fault, cut <-chan struct{}) {
	if r != nil && r.Action == ActPauseAnswered {
		s.hold(call, r, fault.Answered, cut)
	}
}

func (f *Fault) statusAnswer() answer {
	if f.Status >= http.StatusInternalServerError && f.Description == "" {
		return htmlAnswer(f.Status)
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
	s.stats.Forced++
	now := time.Now()
	sc := s.limiter.global()
	if r.Scope != globalScope {
		c := s.chats[call.Chat]
		if c == nil {
			return tooMany(max(1, r.RetryAfter))
		}
		if aerr := s.checkBlocked(now, c, call); aerr != nil {
			s.stats.Forced--
			return aerr
		}
		sc = s.limiter.chat(c)
	}
	aerr := s.block(now, sc, max(1, r.RetryAfter))
	call.Description = aerr.description
	return aerr
}

// hold keeps a call until Resume, Drop, Restart or Close; false when it does not go on.
func (s *Server) hold(call *Call, r *Fault, stage string, cut <-chan struct{}) bool {
	var held Call
	s.mark(func() { held = *call })
	if r.Do != nil {
		r.Do(held)
		return true
	}
	return s.holds.Hold(held, stage, cut, func(p *Paused) {
		s.mark(func() { s.publish(Event{Kind: "paused", Chat: held.Chat, Paused: p}) })
	})
}

// Paused returns the calls that faults hold.
func (s *Server) Paused() []Paused { return s.holds.List() }

// Resume lets a held call go on; 0 means all of them. It returns how many.
func (s *Server) Resume(id int) int { return s.holds.Release(id, true) }

// Drop ends a held call where it is, as if its connection had died there: one that is
// held before its effect has none. 0 means all of them. It returns how many.
func (s *Server) Drop(id int) int { return s.holds.Release(id, false) }
