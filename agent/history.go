package agent

import (
	"slices"
	"strings"
)

// What stands for the result of a call that has none.
const (
	resultUnknown = "Error: it is not known whether this call was carried out or what came of it. Do not repeat it without asking."
	resultNotRun  = "Not done: the turn ended before this call was run."
	resultStopped = "Error: the turn ended before there was a result."
	resultLost    = "Error: the result was lost."
)

// Mended returns what a turn that a crash ended leaves in the history, where nothing goes on with it: the
// messages of its steps, as its Journal got them, with exactly one answer to each call, right behind the
// message with the calls and in their order. Every provider takes that. Of a call without an answer the model
// is told that it was not done, or, where its id is in begun, that nobody knows.
func Mended(steps []Message, begun []string) []Message {
	mended, _ := mend(steps, begun)
	return mended
}

// mend returns the messages of a turn's steps with exactly one answer to each call, in the order of the
// calls. Calls of the last step without answer are left open, but for those that had begun: their
// outcome is unknown.
func mend(steps []Message, begun []string) (mended []Message, open []ToolCall) {
	answers := make(map[string]Message)
	last := -1
	for i, m := range steps {
		if m.Role == ToolRole {
			answers[m.ToolCallID] = m
		}
		if len(m.ToolCalls) > 0 {
			last = i
		}
	}
	for i, m := range steps {
		if m.Role == ToolRole {
			continue // each stands behind its call
		}
		mended = append(mended, m)
		for _, c := range m.ToolCalls {
			answer, ok := answers[c.ID]
			switch {
			case ok:
			case slices.Contains(begun, c.ID):
				answer = answerTo(c, resultUnknown)
			case i < last:
				answer = answerTo(c, resultLost)
			default:
				open = append(open, c)
				answer = answerTo(c, resultNotRun)
			}
			mended = append(mended, answer)
		}
	}
	return mended, open
}

// answerTo answers a call in telex's own words.
func answerTo(c ToolCall, text string) Message {
	return Message{Role: ToolRole, ToolCallID: c.ID, Name: c.Name, Text: text, Sources: []Source{{Origin: OriginProgram}}}
}

// grow appends messages to the turn's history.
func (r *run) grow(messages ...Message) {
	r.messages = append(r.messages, messages...)
	r.grown = append(r.grown, messages...)
}

// CallOutcome is what is known of a call.
type CallOutcome uint8

// The outcomes.
const (
	CallDone CallOutcome = iota
	CallFailed
	CallNotRun
	CallUnknown
)

// Outcome returns what an answer to a call tells of it.
func (m Message) Outcome() CallOutcome {
	switch {
	case m.Text == resultUnknown:
		return CallUnknown
	case m.Text == resultNotRun, m.Text == denial(Denied), m.Text == denial(TimedOut):
		return CallNotRun
	case strings.HasPrefix(m.Text, "Error: "):
		return CallFailed
	}
	return CallDone
}

// amend replaces the placeholder answer of a call by the real one.
func (r *run) amend(answer Message) {
	for _, list := range [][]Message{r.messages, r.grown} {
		for i, m := range slices.Backward(list) {
			if m.Role == ToolRole && m.ToolCallID == answer.ToolCallID {
				list[i] = answer
				break
			}
		}
	}
}

// history is what a conversation grows by when the model's last words were text: that, in its place, and
// everything before and after it.
func (r *run) history(text string) []Message {
	if text == "" {
		return r.grown
	}
	return slices.Insert(r.grown, r.place, Message{Role: Assistant, Text: text})
}

// compaction says what was summarized; nil: nothing.
func (r *run) compaction() *Compaction {
	if r.done == 0 {
		return nil
	}
	return &Compaction{Summary: r.summary, Messages: r.done}
}
