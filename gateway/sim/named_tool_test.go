package sim

import (
	"strings"
	"testing"
	"time"

	"telex/gateway"
)

// calling returns an answer that consists of text, tool calls and more text. Each tool call takes a second.
func calling(before, after string, tools ...string) answer {
	a, rest := talk(before), talk(after)
	last := &a.deltas[len(a.deltas)-1]
	for _, tool := range tools {
		last.calls = append(last.calls, plannedCall{tool: tool, takes: time.Second})
	}
	a.deltas = append(a.deltas, rest.deltas...)
	for i := range a.deltas {
		a.deltas[i].shown = squeeze(a.deltas[i].text)
	}
	return a
}

// effects returns how often tool calls that change something took effect.
func (w *world) effects() (n int) {
	for _, d := range w.deeds {
		if d.tool != look {
			n += len(d.effects)
		}
	}
	return n
}

// TestNamedTools plays schedules in which something fails while a tool call waits for approval.
func TestNamedTools(t *testing.T) {
	t.Parallel()
	const text = "a0w0x\n\na0w1x"
	second, undecided := time.Second, "\n\n"+gateway.DefaultTexts()[gateway.TextUndecided]
	for _, c := range []struct {
		name    string
		kind    string
		tools   []string
		with    func(s *schedule)
		does    []reaction
		want    []string // the expected visible texts in the private chat
		effects int
		counted string // the situation that must have occurred (see the type counts)
	}{
		{
			name: "approved", tools: []string{look, change}, does: []reaction{{kind: doApprove, after: second}}, want: []string{text}, effects: 1,
		},
		{
			name: "pressed twice, and once more about what is decided", tools: []string{change, alter}, effects: 1,
			does: []reaction{{kind: doApprove, after: second, again: 100 * time.Millisecond}, {kind: doOld, after: second}}, want: []string{text + undecided},
			counted: "reactions to what is decided",
		},
		{
			name: "nobody decides", tools: []string{change}, want: []string{text + undecided}, counted: "answers: nobody decided",
		},
		{
			name: "always, for the second call too", tools: []string{change, change}, effects: 2,
			does: []reaction{{kind: doAlways, after: second}}, want: []string{text}, counted: "effects that were approved once for all",
		},
		{
			name: "killed right after the effect: it is told as unknown, and never repeated", tools: []string{change}, effects: 1,
			with: func(s *schedule) { s.kills = []kill{{where: afterDeed, down: second}} },
			does: []reaction{{kind: doApprove, after: second}}, want: []string{text}, counted: "answers: unknown",
		},
		{
			name: "killed right before the effect", tools: []string{change},
			with: func(s *schedule) { s.kills = []kill{{where: beforeDeed, down: second}} },
			does: []reaction{{kind: doApprove, after: second}}, want: []string{text}, counted: "answers: unknown",
		},
		{
			name: "pressed while nobody is there", tools: []string{change}, effects: 1,
			with: func(s *schedule) {
				s.kills = []kill{{where: atTime, at: 3 * second, down: 3 * time.Minute}}
			},
			does: []reaction{{kind: doApprove, after: 10 * second}}, want: []string{text}, counted: "reactions while nobody is there",
		},
		{
			name: "a yes from before the question is none, also after a restart", tools: []string{change, change}, effects: 1,
			with: func(s *schedule) {
				s.busy = gateway.Queue
				s.kills = []kill{{where: atTime, at: 5 * second, down: second}}
			},
			does: []reaction{{kind: "yes", after: second, again: 500 * time.Millisecond}}, counted: "reactions to what is decided",
		},
		{
			name: "where nothing can be edited a question stands by itself", kind: "send-only", tools: []string{change}, effects: 1,
			does: []reaction{{kind: doApprove, after: second}}, counted: "questions that stay: nothing can be changed there",
		},
		{
			name: "a question in a message that can't be edited any more, and then /new", tools: []string{change, change},
			with: func(s *schedule) {
				s.answers[0].deltas = append([]delta{{calls: s.answers[0].deltas[0].calls}}, s.answers[0].deltas[1:]...)
				s.faults = each(isFrozen, 1)
			},
			does: []reaction{{kind: doDeny, after: second}, {kind: "new", after: second}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kindName := "edit"
			if c.kind != "" {
				kindName = c.kind
			}
			s := story(kindName, calling("a0w0x", "a0w1x", c.tools...))
			s.tools, s.approval, s.reactions, s.kind.caps.Buttons = true, time.Minute, c.does, true
			if c.with != nil {
				c.with(&s)
			}
			w := perform(t, s)
			if c.want != nil {
				equal(t, "the person sees", w.see(0), c.want)
			}
			equal(t, "effects", w.effects(), c.effects)
			if c.counted != "" && w.counts[c.counted] == 0 {
				t.Errorf("%q never happened", c.counted)
			}
			if t.Failed() {
				t.Logf("what happened:\n%s", strings.Join(w.story(), "\n"))
			}
		})
	}
}
