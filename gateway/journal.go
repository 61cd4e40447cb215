package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"telex/agent"
	"telex/internal/chat"
)

// journal keeps what a turn does, so that another process can go on with it. It is the turn's agent.Journal.
type journal struct {
	store   Turns
	turn    string
	run     int           // of the turn, counted from 1
	spent   []agent.Spent // as it was stored last; the goroutine's that runs the model
	begun   []string      // ids of calls that change something, in this process; the goroutine's that runs the model
	changed atomic.Bool   // a call that changes something has begun, in this process or an earlier one
	failed  atomic.Bool   // it could not be written
}

// Step implements agent.Journal.
func (j *journal) Step(ctx context.Context, messages []agent.Message, spent []agent.Spent) error {
	steps := make([]chat.Step, len(messages)+1)
	for i, m := range messages {
		var err error
		if steps[i], err = chat.NewStep(chat.StepSaid, "", m); err != nil {
			return err
		}
	}
	var err error
	if steps[len(messages)], err = j.spentStep(spent, j.run-1); err != nil {
		return err
	}
	return j.note(ctx, steps...)
}

// Begin implements agent.Journal.
func (j *journal) Begin(ctx context.Context, changes bool, calls ...agent.ToolCall) error {
	kind := chat.StepReads
	if changes {
		kind = chat.StepBegun
		for _, call := range calls {
			j.begun = append(j.begun, call.ID)
		}
		j.changed.Store(true) // also when nobody knows whether that was stored
	}
	steps := make([]chat.Step, len(calls))
	for i, call := range calls {
		steps[i] = chat.Step{Kind: kind, Call: call.ID}
	}
	return j.note(ctx, steps...)
}

// Stopped implements agent.Journal.
func (j *journal) Stopped(ctx context.Context, call agent.ToolCall) error {
	return j.note(ctx, chat.Step{Kind: chat.StepStopped, Call: call.ID})
}

// End implements agent.Journal.
func (j *journal) End(ctx context.Context, answer agent.Message, made []agent.File) error {
	step, err := chat.NewStep(chat.StepAnswered, answer.ToolCallID, came{answer, made})
	if err != nil {
		return err
	}
	return j.note(ctx, step)
}

func (j *journal) note(ctx context.Context, steps ...chat.Step) error {
	err := j.store.Note(ctx, j.turn, steps...)
	j.failed.Store(j.failed.Load() || err != nil)
	return err
}

// came is what came of a call.
type came struct {
	Answer agent.Message `json:"answer"`
	Files  []agent.File  `json:"files,omitempty"`
}

// replay is what a turn did according to its journal.
type replay struct {
	said     []agent.Message // by the model, and the answers to its calls
	begun    []string        // calls that began to run and were not stopped, by id
	changed  bool            // one of them changes something
	changing []string        // those that change something
	files    map[string][]agent.File
	spent    spentSoFar
	spentAt  int      // how many steps the journal had once spent was in it
	unknown  []string // calls that had begun by then: one without an answer has an unknown outcome
}

// readJournal reads the steps of a turn. What people said to it meanwhile is left out: the turn has their messages.
func readJournal(steps []chat.Step) (r replay, err error) {
	r.files = make(map[string][]agent.File)
	for i, s := range steps {
		switch s.Kind {
		case chat.StepSaid:
			var m agent.Message
			if err = json.Unmarshal(s.Body, &m); err == nil && m.Role != agent.User {
				r.said = append(r.said, m)
			}
		case chat.StepAnswered:
			var c came
			if err = json.Unmarshal(s.Body, &c); err == nil {
				r.said, r.files[s.Call] = append(r.said, c.Answer), c.Files
			}
		case chat.StepSpent:
			err = r.readSpent(i, s.Body)
		case chat.StepBegun:
			r.begun, r.changing, r.changed = append(r.begun, s.Call), append(r.changing, s.Call), true
		case chat.StepReads:
			r.begun = append(r.begun, s.Call)
		case chat.StepStopped:
			stopped := func(call string) bool { return call == s.Call }
			r.begun, r.changing = slices.DeleteFunc(r.begun, stopped), slices.DeleteFunc(r.changing, stopped)
		}
		if err != nil {
			return replay{}, fmt.Errorf("read a step of the turn: %w", err)
		}
	}
	return r, nil
}

// cutOff returns the calls that had begun and have no answer, by tool.
func (r replay) cutOff() []string {
	var tools []string
	for _, m := range r.said {
		for _, c := range m.ToolCalls {
			if slices.Contains(r.begun, c.ID) && !r.answered(c.ID) {
				tools = append(tools, c.Name)
			}
		}
	}
	return tools
}

func (r replay) answered(call string) bool {
	return slices.ContainsFunc(r.said, func(m agent.Message) bool { return m.Role == agent.ToolRole && m.ToolCallID == call })
}

// ran reports whether a call has begun or has an answer.
func (r replay) ran(call string) bool { return r.answered(call) || slices.Contains(r.begun, call) }
