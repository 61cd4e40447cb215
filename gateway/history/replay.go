package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"telex/agent"
	"telex/internal/chat"
)

// Replay is the state of an unfinished turn, restored from the turn's journal.
type Replay struct {
	Said       []agent.Message // messages of the model, and the results of its tool calls
	Started    []string        // ids of the tool calls that began and were not stopped
	Changing   []string        // ids of those calls in Started that change something
	Changed    bool            // a tool call that changes something has begun, even if it was stopped later
	Files      map[string][]agent.File
	Usage      []agent.ModelUsage // usage of the turn so far
	Through    int                // number of the newest attempt to run the turn whose usage is completely in Usage
	HandedOver int                // number of attempts that a shutdown or a lost lease ended

	usageAt int      // number of steps in the journal when Usage was stored
	unknown []string // ids of tool calls that had begun before Usage was stored; without an answer, their outcome is unknown
}

// Read reads the steps of a turn. Read skips people's messages, because the turn's record contains them.
func Read(steps []chat.Step) (r Replay, err error) {
	r.Files = make(map[string][]agent.File)
	for i, s := range steps {
		switch s.Kind {
		case chat.StepSaid:
			var m agent.Message
			if err = json.Unmarshal(s.Body, &m); err == nil && m.Role != agent.User {
				r.Said = append(r.Said, m)
			}
		case chat.StepAnswered:
			var c answered
			if err = json.Unmarshal(s.Body, &c); err == nil {
				r.Said, r.Files[s.Call] = append(r.Said, c.Answer), c.Files
			}
		case chat.StepUsage:
			var stored usageSoFar
			if err = json.Unmarshal(s.Body, &stored); err == nil {
				r.Usage, r.Through, r.usageAt, r.unknown = stored.Usage, max(r.Through, stored.Through), i+1, slices.Clone(r.Started)
				r.HandedOver = stored.HandedOver
			}
		case chat.StepBegun:
			r.Started, r.Changing, r.Changed = append(r.Started, s.Call), append(r.Changing, s.Call), true
		case chat.StepReads:
			r.Started = append(r.Started, s.Call)
		case chat.StepStopped:
			stopped := func(call string) bool { return call == s.Call }
			r.Started, r.Changing = slices.DeleteFunc(r.Started, stopped), slices.DeleteFunc(r.Changing, stopped)
		case chat.StepAsked, chat.StepDecided: // package approval reads these steps
		}
		if err != nil {
			return Replay{}, fmt.Errorf("read a step of the turn: %w", err)
		}
	}
	return r, nil
}

// CutOff returns the names of the tools whose calls began and got no answer.
func (r Replay) CutOff() []string {
	var tools []string
	for _, m := range r.Said {
		for _, c := range m.ToolCalls {
			if slices.Contains(r.Started, c.ID) && !r.answered(c.ID) {
				tools = append(tools, c.Name)
			}
		}
	}
	return tools
}

func (r Replay) answered(call string) bool {
	return slices.ContainsFunc(r.Said, func(m agent.Message) bool { return m.Role == agent.ToolRole && m.ToolCallID == call })
}

// Ran reports whether a tool call has begun or has an answer.
func (r Replay) Ran(call string) bool { return r.answered(call) || slices.Contains(r.Started, call) }

// Kept returns the messages that the history keeps if the turn does not run again: the model's messages, with its tool
// calls and their results. If the model has sent no complete message, Kept returns the visible part of the answer. Kept
// does not return the question.
func (r Replay) Kept(parts []chat.Part) []agent.Message {
	if said := agent.Mended(r.Said, r.Started); len(said) > 0 { // the messages in said include the visible text
		return said
	}
	if answer := strings.TrimSpace(Shown(parts)); answer != "" {
		return []agent.Message{{Role: agent.Assistant, Text: answer}}
	}
	return nil
}

// DiedAnswering reports whether the last process may have died while the model was writing an answer. If a process dies
// while the model writes an answer, the model provider has not reported the usage of this answer.
func (r Replay) DiedAnswering(rec chat.Turn) bool {
	return rec.State == chat.TurnRunning && rec.Runs > r.Through && !r.waiting()
}

// waiting reports whether tool calls of the last process have no answer yet. If the method waiting returns true, the
// model was not writing when the last process died, because the model waits for the answers of its tool calls. The
// method waiting ignores tool calls of still earlier processes, because their tools will never answer.
func (r Replay) waiting() bool {
	for _, m := range r.Said {
		for _, c := range m.ToolCalls {
			if !r.answered(c.ID) && !slices.Contains(r.unknown, c.ID) {
				return true
			}
		}
	}
	return false
}

// UsageWithEstimate returns the usage of the turn, with an estimate of the tokens of an answer that a crash
// interrupted. The parameter prompt is the estimated number of prompt tokens without the turn's own messages.
func (r Replay) UsageWithEstimate(model string, prompt int, parts []chat.Part) []agent.ModelUsage {
	answer := agent.EstimateTokens(Shown(recordedSince(parts, r.usageAt)))
	for _, m := range r.Said {
		prompt += agent.EstimateTokens(m.Text)
		if m.Role == agent.Assistant {
			answer -= agent.EstimateTokens(m.Text)
		}
	}
	return addUsage(r.Usage, agent.ModelUsage{
		Model: model, Calls: 1, EstimatedPrompt: prompt, EstimatedCompletion: max(0, answer), Estimate: max(0, answer),
	})
}

// addUsage adds the usage of one more model call to the list.
func addUsage(list []agent.ModelUsage, s agent.ModelUsage) []agent.ModelUsage {
	out := slices.Clone(list)
	for i := range out {
		if out[i].Model == s.Model {
			out[i].Calls += s.Calls
			out[i].Estimate += s.Estimate
			out[i].EstimatedPrompt += s.EstimatedPrompt
			out[i].EstimatedCompletion += s.EstimatedCompletion
			return out
		}
	}
	return append(out, s)
}

// recordedSince returns the parts up to the last part that was recorded when the journal had at least the given number
// of steps. All later parts show text of an earlier attempt to answer, and the journal already contains the usage of
// that attempt.
func recordedSince(parts []chat.Part, steps int) []chat.Part {
	last := -1
	for _, p := range parts {
		if p.Steps >= steps {
			last = max(last, p.Index)
		}
	}
	return slices.DeleteFunc(slices.Clone(parts), func(p chat.Part) bool { return p.Index > last })
}

// Shown returns the Markdown source of the text that people saw last.
func Shown(parts []chat.Part) string {
	var text strings.Builder
	for _, p := range slices.SortedFunc(slices.Values(parts), func(a, b chat.Part) int { return a.Index - b.Index }) {
		if p.Ref.ID != "" {
			text.WriteString(p.Source)
		}
	}
	return text.String()
}

// Change is a tool call that changed something, or may have done so.
type Change struct {
	ID, Tool string
	Outcome  agent.CallOutcome
}

// Changes returns the tool calls of a turn that changed something, or may have done so. The parameter begun contains
// the ids of the turn's tool calls that have begun and change something.
func Changes(messages []agent.Message, begun []string) []Change {
	names, outcomes := make(map[string]string), make(map[string]agent.CallOutcome)
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
		}
		if m.Role == agent.ToolRole {
			outcomes[m.ToolCallID] = m.Outcome()
		}
	}
	var out []Change
	for i, id := range begun {
		outcome, known := outcomes[id]
		if !known {
			outcome = agent.CallUnknown
		}
		if !slices.Contains(begun[:i], id) {
			out = append(out, Change{ID: id, Tool: names[id], Outcome: outcome})
		}
	}
	return out
}
