package homeassistant

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"telex/standin/fault"
	"telex/standin/rig"
)

// Fault is a rule that selects calls, and describes what happens to them. The package comment lists the names of calls.
// In Method, "|" separates several names, and "" selects all calls. Channel selects calls by Call.Place, and Contains
// by Call.Text. Scope, "rest" or "socket", selects calls by Via. If a fault cuts the connection of a command, the whole
// socket ends. The action fault.Status responds to a REST call with the page of a proxy, and to a command with the
// error unknown_error. fault.Error responds to a command with the code Error, to a REST call with status 500, and to
// authentication with auth_invalid.
type Fault = fault.Fault[Call]

// Paused is a call that a fault holds.
type Paused = fault.Paused[Call]

// checkFault returns an error if a fault is invalid.
func checkFault(f *Fault) error {
	switch {
	case f.Chat != 0 || f.Code != 0 || f.Rate != 0:
		return errors.New("fault: chat, code and rate are other platforms'")
	case f.Scope != "" && f.Scope != viaREST && f.Scope != viaSocket:
		return fmt.Errorf("fault: scope is %s or %s", viaREST, viaSocket)
	case f.Action == fault.Error && f.Error == "":
		return errors.New("fault error: which one?")
	}
	return f.Check(
		fault.Latency, fault.Status, fault.Error, fault.CutBefore, fault.CutAfter, fault.Hang, fault.DeleteFirst, fault.Malformed,
		fault.PauseBefore, fault.PauseAfter, fault.PauseAnswered,
	)
}

func faultMatches(f *Fault, call *Call) bool {
	return fault.Named(f.Method, call.Method) && (f.Channel == "" || f.Channel == call.Place) &&
		(f.Scope == "" || f.Scope == call.Via) && strings.Contains(call.Text, f.Contains)
}

// applyFault applies a fault in place of a call's effect, or after the effect.
func (s *Server) applyFault(f *Fault, call *Call) (rig.Answer, bool) {
	var refused *refusal
	switch f.Action {
	case fault.DeleteFirst:
		s.Dismiss(call.Place)
		return rig.Answer{}, false
	case fault.Error:
		refused = &refusal{code: f.Error, text: cmp.Or(f.Description, f.Error), status: 500}
	case fault.Status:
		refused = &refusal{code: codeUnspecified, text: cmp.Or(f.Description, "Unknown error"), status: f.Status}
	default:
		return rig.Answer{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	call.Error = refused.code
	switch {
	case call.id != nil:
		return refused.result(call.id), true
	case call.Method == authMethod:
		return refuseAuth(call, refused.text), true
	case f.Action == fault.Error:
		return statusAnswer(refused.status), true
	}
	a := rig.HTML(f.Status, "nginx")
	a.RetryAfter = f.RetryAfter
	return a, true
}
