package conformance

import (
	"slices"
	"strings"
	"time"

	"telex/internal/chat"
)

// narrowRefusalCases returns the cases about a call that the platform refuses with 429. A refused call must delay as
// few other calls as possible.
func narrowRefusalCases() []testCase {
	return []testCase{
		{"D4: after the waits of four 429s are over, answers are as fast as before", people(func(s *scene) {
			s.Enforce(Published)
			h := s.newGateway(map[string]answer{"go": {text: prose(300), each: 50 * time.Millisecond}}, nil)
			places, round := h.Crowd(10), 0
			op := chat.OpSend
			if _, ok := h.editor(); ok {
				op = chat.OpEdit
			}
			// The function ten first lets the bot give four answers, one after the other. If refused is true, the platform
			// refuses one call of each of these answers with 429. After the answers, the function ten waits for the duration
			// later, lets ten people ask at once, and returns how long their answers take.
			ten := func(refused bool, later time.Duration) time.Duration {
				pass(5 * time.Minute) // after this time, earlier calls no longer count against rate limits
				for range 4 {
					before := h.Calls(op)
					if refused {
						h.Break(op, RateLimit)
					}
					h.ask(h.Private(), "go")
					h.until("a call", func() bool { return h.Calls(op) > before })
					pass(2 * RetryAfter)
				}
				pass(later)
				start := time.Now()
				round++
				for _, to := range places {
					h.ask(to, "go")
				}
				h.until("the answers", func() bool {
					return !slices.ContainsFunc(places, func(to chat.Target) bool {
						return h.joined(to) != strings.Join(slices.Repeat([]string{prose(300)}, round), " ")
					})
				})
				return time.Since(start)
			}
			for _, later := range []time.Duration{0, 15 * time.Minute} {
				if without, with := ten(false, later), ten(true, later); with > without*13/10 {
					h.Errorf("%v later ten answers at once took %v, and %v after four refusals", later, without, with)
				}
			}
			h.wantGood()
		})},
		{"D4: a refused typing call does not delay messages if the platform counts it separately", func(s *scene) {
			s.Enforce(Published)
			h := s.newGateway(map[string]answer{"go": {text: prose(300), each: 50 * time.Millisecond}}, nil)
			for _, to := range h.both() {
				p := h.adapter.Profile(to)
				if p.TypingEvery == 0 || !slices.ContainsFunc(p.Limits, func(l chat.Limit) bool { return l.Ops == chat.OpTyping }) {
					continue
				}
				before := h.Calls(chat.OpTyping)
				h.Break(chat.OpTyping, RateLimit)
				h.ask(to, "go")
				pass(RetryAfter - time.Second)
				if got := h.Calls(chat.OpTyping) - before; got != 1 {
					h.Errorf("in %+v are %d signs of being at work, want the refused one", to, got)
				}
				h.wantReply(to, prose(300))
				pass(settleTime)
			}
			h.wantGood()
		}},
	}
}
