package conformance

import (
	"slices"
	"strings"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// thoughtSign precedes a model's thought in a preview.
const thoughtSign = "💭"

// thoughtShown is the part of the model's thoughts that people must see: the last complete sentence.
const thoughtShown = "First I must find out where the lever is."

// thoughtCases returns the cases in which the gateway shows a model's thoughts.
func thoughtCases() []testCase {
	return []testCase{
		{"a model's thoughts appear above its text, but not in the answer", thinking(func(h *testGateway, to chat.Target) {
			before, seen := len(h.Shown(to)), len(h.Versions(to))
			h.ask(to, "go")
			if h.config.Transport == preview.Native { // a native stream shows no thoughts
				pass(settleTime)
			} else {
				h.until("that the thought is shown above the text", func() bool {
					return slices.ContainsFunc(slices.Concat(h.Drafts(to), h.Shown(to)[before:]), func(text string) bool {
						thought := strings.Index(letters(text), letters(thoughtShown))
						return strings.Contains(text, thoughtSign) && thought >= 0 && thought < strings.Index(letters(text), "word3")
					})
				})
			}
			pass(settleTime)
			h.wantSince("", to, before, h.planner.final())
			for _, v := range h.Versions(to)[seen:] {
				if h.config.Transport == preview.Native && strings.Contains(v.Text, thoughtSign) {
					h.Errorf("a stream shows %q", v.Text)
				}
			}
			h.wantDrafts(to)
			h.wantValid(to)
		})},
		{"a model's thoughts around a question for approval are not in the answer", thinking(func(h *testGateway, to chat.Target) {
			w, ok := h.World.(Presser)
			if !ok || !h.adapter.Capabilities().Buttons {
				return
			}
			p := newPlanner()
			h.planner.before, h.planner.after, h.planner.proposal = p.before, p.after, p.proposal
			q := h.question(w, to)
			w.Press(q.ref, q.button(h, gateway.TextApproveButton))
			pass(settleTime)
			h.wantSince("", to, q.before, h.planner.final())
			h.wantButtons(w, q.ref)
			h.wantValid(to)
		})},
	}
}

// thinking runs a case in the private chat and in the group, once for each way in which the chat can show previews.
// The gateway of the case shows the model's thoughts.
func thinking(run func(h *testGateway, to chat.Target)) func(*scene) {
	return inBoth((*scene).editor, func(s *scene, _ preview.Editor, to chat.Target) {
		s.Helper()
		for _, transport := range s.transports(to) {
			thinker := &planner{thought: thoughtShown + " So", after: prose(300)}
			h := s.newGateway(nil, func(h *testGateway) { h.planner, h.thoughts, h.config.Transport = thinker, true, transport })
			run(h, to)
			h.end()
		}
	})
}
