package agent

import (
	"slices"
	"strings"
)

// If a call returned no result, the model reads one of these texts in place of the result.
const (
	resultUnknown = "Error: it is not known whether this call was carried out or what came of it. Do not repeat it without asking."
	resultNotRun  = "Not done: the turn ended before this call was run."
	resultStopped = "Error: the turn ended before there was a result."
	resultLost    = "Error: the result was lost."
)

// Mended returns the history of a turn that ended with a crash and is not continued. steps are the messages that the turn's
// Journal stored. Providers demand exactly one result for each tool call, in the order of the calls, so Mended adds the
// missing results. If begun contains the id of a call, the added result says that the call's outcome is unknown. For all
// other calls, the added result says that the call was not run.
func Mended(steps []Message, begun []string) []Message {
	mended, _ := mend(steps, begun)
	return mended
}

// mend does the work of Mended. mend also returns those calls of the last step that have no result and had not begun to run.
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
			continue // results are placed after their calls
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

// answerTo returns the message with the result of a call. telex itself wrote the text of the result.
func answerTo(c ToolCall, text string) Message {
	return Message{Role: ToolRole, ToolCallID: c.ID, Name: c.Name, Text: text, Sources: []Source{{Origin: OriginProgram}}}
}

// appendHistory appends messages to the turn's history.
func (r *run) appendHistory(messages ...Message) {
	r.messages = append(r.messages, messages...)
	r.newMessages = append(r.newMessages, messages...)
}

// CallOutcome says how a tool call ended.
type CallOutcome uint8

// These constants are the possible outcomes of a tool call.
const (
	CallDone CallOutcome = iota
	CallFailed
	CallNotRun
	CallUnknown
)

// Outcome returns how a tool call ended. m is the message with the call's result.
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

// replaceAnswer replaces the placeholder for the result of a call by the real result.
func (r *run) replaceAnswer(answer Message) {
	for _, list := range [][]Message{r.messages, r.newMessages} {
		for i, m := range slices.Backward(list) {
			if m.Role == ToolRole && m.ToolCallID == answer.ToolCallID {
				list[i] = answer
				break
			}
		}
	}
}

// historyWith returns the turn's new messages with the text of the model's last answer inserted at its place.
func (r *run) historyWith(text string) []Message {
	if text == "" {
		return r.newMessages
	}
	return slices.Insert(r.newMessages, r.answerIndex, Message{Role: Assistant, Text: text})
}

// compaction returns the summary of older messages, or nil if the turn summarized none.
func (r *run) compaction() *Compaction {
	if r.summarizedCount == 0 {
		return nil
	}
	return &Compaction{Summary: r.summary, Messages: r.summarizedCount}
}
