package conformance

import (
	"fmt"
	"strings"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// refusedCases returns the cases in which a platform refuses one call of an answer and accepts the next call.
func refusedCases() []testCase {
	var list []testCase
	for _, at := range []struct {
		name string
		when string // once this text is visible, the platform refuses the next edit
	}{
		{"first preview edit", ""},
		{"later preview edit", "word40"},
		{"final edit", prose(600)},
	} {
		list = append(list, testCase{"D14: after one " + at.name + " that is answered 403, 401 or 5xx, the final appears without a cursor", func(s *scene) {
			s.refusedOnce(at.when)
		}})
	}
	return append(list, testCase{"D14: after one create call that is answered 403 or 401, the answer still appears", func(s *scene) {
		h := s.newGateway(map[string]answer{"go": {text: prose(600)}, "short": {text: "Yes."}}, nil)
		for _, to := range h.both() {
			for _, f := range []Fault{Refused, Unauthorized} {
				for word, text := range map[string]string{"go": prose(600), "short": "Yes."} {
					before := len(h.Shown(to))
					h.Break(chat.OpSend, f)
					h.ask(to, word)
					pass(settleTime)
					h.wantSince(fmt.Sprintf("after fault %d", f), to, before, text)
				}
			}
		}
	}})
}

// refusedOnce checks an answer during which the platform refuses one edit. The parameter when is a text of the answer.
// Once the text when is visible, the platform refuses the next edit.
func (s *scene) refusedOnce(when string) {
	s.Helper()
	if _, ok := s.editor(); !ok {
		return
	}
	text := prose(600)
	h := s.newGateway(map[string]answer{"go": {text: text, tail: 5 * time.Second}}, func(h *testGateway) { h.config.Transport = preview.Edit })
	for _, to := range h.both() {
		for _, f := range []Fault{Refused, Unauthorized, ServerError} {
			before, failed := len(h.Shown(to)), strings.Count(h.log.String(), "call failed")
			h.ask(to, "go")
			h.until("that enough is shown", func() bool {
				shown := h.Shown(to)
				return len(shown) > before && strings.Contains(shown[before], when)
			})
			h.Break(chat.OpEdit, f)
			pass(settleTime)
			h.wantSince(fmt.Sprintf("after fault %d", f), to, before, text)
			if n := strings.Count(h.log.String(), "call failed"); n != failed+1 {
				h.Errorf("after fault %d in %+v the log tells of %d calls that failed, want one", f, to, n-failed)
			}
		}
		h.wantGrowth(to, text)
	}
}
