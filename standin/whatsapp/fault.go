package whatsapp

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"telex/standin/fault"
	"telex/standin/rig"
)

// Actions of faults that hit webhooks. The Method of such a fault is message, status, or "message|status" for both
// kinds. The action fault.Latency can also hit a webhook. The action then delays this webhook and later ones about the
// same person.
const (
	// ActDrop loses a request that delivers a webhook, so that the server sends the webhook again.
	ActDrop = "drop"
	// ActDuplicate delivers a webhook a second time after Delay, although the app has accepted it.
	ActDuplicate = "duplicate"
	// ActReorder delivers a webhook only after Delay, which is at least 1 second, so that later webhooks arrive
	// first.
	ActReorder = "reorder"
	// ActBadSignature signs a webhook with a wrong secret. ActNoSignature sends a webhook without a signature.
	ActBadSignature = "bad_signature"
	ActNoSignature  = "no_signature"
)

// Fault is a rule that selects calls, and describes what happens to them. A fault without a Method selects all calls,
// but no webhooks. Channel selects calls by the business-scoped user id. Contains selects calls by the text of their
// message, and selects webhooks by their body. The action fault.Error responds with the error that Code names. The
// action fault.RateLimit responds with the error Code, or 130429 if Code is 0, and blocks calls under the limit of that
// error for RetryAfter seconds. As in WhatsApp's API, the response does not say how long the calls are blocked. The
// response of fault.Status has an HTML body.
type Fault = fault.Fault[Call]

// Paused is a call that a fault holds.
type Paused = fault.Paused[Call]

// checkFault returns an error if a fault is invalid.
func checkFault(f *Fault) error {
	switch {
	case f.Chat != 0 || f.Error != "" || f.Description != "" || f.Scope != "":
		return errors.New("fault: chat, error, description and scope are other platforms'")
	case selectsWebhooks(f):
		return f.Check(fault.Latency, ActDrop, ActDuplicate, ActReorder, ActBadSignature, ActNoSignature)
	case (f.Action == fault.CutMiddle || f.Action == fault.Drip) && !strings.EqualFold(f.Method, methodDownload):
		return fmt.Errorf("fault %s: only downloads are large enough", f.Action)
	case f.Action == fault.Error && knownErrors()[f.Code].message == "":
		return fmt.Errorf("fault error: unknown code %d", f.Code)
	}
	if f.Action == fault.RateLimit {
		switch f.Code {
		case 0, CodeAppCalls, CodeAccountCalls, CodeThroughput, CodePair:
		default:
			return fmt.Errorf("fault rate_limit: %d is not the code of a limit", f.Code)
		}
	}
	return f.Check(
		fault.Error, fault.Latency, fault.RateLimit, fault.Status, fault.CutBefore, fault.CutAfter, fault.CutMiddle, fault.Drip,
		fault.Hang, fault.Malformed, fault.PauseBefore, fault.PauseAfter, fault.PauseAnswered,
	)
}

// selectsWebhooks reports whether the rule selects webhooks.
func selectsWebhooks(f *Fault) bool {
	return fault.Named(f.Method, kindMessage) && f.Method != "" || fault.Named(f.Method, kindStatus) && f.Method != ""
}

func faultMatches(f *Fault, call *Call) bool {
	return selectsWebhooks(f) == call.webhook && (f.Channel == "" || f.Channel == call.User) &&
		(f.Contains == "" || strings.Contains(call.Text, f.Contains)) &&
		fault.Named(f.Method, call.Method)
}

// applyFault applies a fault in place of a call's effect, or after the effect.
func (s *Server) applyFault(f *Fault, call *Call) (rig.Answer, bool) {
	var e *apiError
	switch f.Action {
	case fault.Status:
		return rig.HTML(f.Status, ""), true
	case fault.RateLimit:
		e = fail(cmp.Or(f.Code, CodeThroughput), "")
		s.Locked(func() { s.closeLimit(e.code, call, time.Duration(f.RetryAfter*float64(time.Second))) })
	case fault.Error:
		e = fail(f.Code, "")
	default:
		return rig.Answer{}, false
	}
	s.Locked(func() { call.Code = e.code })
	return e.answer(s.trace()), true
}

// closeLimit blocks the calls that count against the same limit as call, for the given duration. code is the error code
// that belongs to the limit.
func (s *Server) closeLimit(code int, call *Call, lasts time.Duration) {
	s.Counted.Forced++
	sc := s.limiter.throughput()
	switch code {
	case CodePair:
		sc = s.limiter.pair(call.User)
	case CodeAppCalls, CodeAccountCalls:
		sc = s.limiter.account()
	}
	sc.Close(time.Now().Add(lasts), "")
}
