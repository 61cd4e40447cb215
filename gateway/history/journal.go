package history

import (
	"context"
	"sync/atomic"

	"telex/agent"
	"telex/internal/chat"
)

// Steps stores the journals of running turns.
type Steps interface {
	// Note appends steps to the journal of a running turn. Note returns once the steps are durable. Note fails if the
	// turn is not running. If the conversation was deleted, Note stores only the usage steps. The store deletes a
	// journal when its turn will not run again.
	Note(ctx context.Context, turn string, steps ...chat.Step) error
}

// Journal records what a turn does, so that another process can continue it. Journal implements agent.Journal.
// Goroutines other than the one that runs the model may call only the method Changed.
type Journal struct {
	store   Steps
	turn    string
	run     int                // number of this attempt to run the turn, counted from 1
	handed  int                // number of attempts that a shutdown or a lost lease ended
	usage   []agent.ModelUsage // last stored usage
	begun   []string           // ids of the tool calls that have begun and change something
	changed atomic.Bool        // a tool call that changes something has begun, in this process or an earlier one
	failed  bool               // a step could not be stored; steps that contain only usage do not count
}

// answered is the JSON form in which a step stores the result of a tool call.
type answered struct {
	Answer agent.Message `json:"answer"`
	Files  []agent.File  `json:"files,omitempty"`
}

// usageSoFar is the JSON form in which a step stores the usage of a turn.
type usageSoFar struct {
	Usage []agent.ModelUsage `json:"spent"`
	// Through is the number of the newest attempt to run the turn whose usage is completely in Usage. If a process crashed
	// during a later attempt while the model wrote, Usage lacks a part of that attempt's usage.
	Through    int `json:"through"`
	HandedOver int `json:"handed_over,omitempty"` // number of attempts that a shutdown or a lost lease ended
}

// NewJournal returns the journal for one attempt to run a turn. The parameter run is the number of this attempt,
// counted from 1. The new Journal continues the journal that the earlier attempts stored.
func NewJournal(s Steps, turn string, run int, earlier Replay) *Journal {
	j := &Journal{store: s, turn: turn, run: run, handed: earlier.HandedOver, usage: earlier.Usage, begun: earlier.Changing}
	j.changed.Store(earlier.Changed)
	return j
}

// Changed reports whether a tool call that changes something has begun.
func (j *Journal) Changed() bool { return j.changed.Load() }

// Changing returns the ids of the tool calls that change something and that this process or an earlier one has begun.
func (j *Journal) Changing() []string { return j.begun }

// Failed reports whether a step of the turn could not be stored. Steps that contain only usage do not count.
func (j *Journal) Failed() bool { return j.failed }

// LastUsage returns the turn's usage that was last passed to the journal, or that an earlier attempt stored.
func (j *Journal) LastUsage() []agent.ModelUsage { return j.usage }

// Step implements agent.Journal.
func (j *Journal) Step(ctx context.Context, messages []agent.Message, usage []agent.ModelUsage) error {
	steps := make([]chat.Step, len(messages)+1)
	for i, m := range messages {
		var err error
		if steps[i], err = chat.NewStep(chat.StepSaid, "", m); err != nil {
			return err
		}
	}
	var err error
	if steps[len(messages)], err = j.usageStep(usage, j.run-1); err != nil {
		return err
	}
	return j.note(ctx, steps...)
}

// StoreUsage implements agent.Journal. If StoreUsage fails, the turn continues.
func (j *Journal) StoreUsage(ctx context.Context, usage []agent.ModelUsage) error {
	return j.noteUsage(ctx, usage, j.run-1)
}

// HandOver stores the complete usage of an attempt to run the turn that a shutdown ended. The process that continues
// the turn reads the usage that HandOver stored.
func (j *Journal) HandOver(ctx context.Context, usage []agent.ModelUsage) error {
	j.handed++
	return j.StoreCompleteUsage(ctx, usage)
}

// StoreCompleteUsage stores the complete usage of this attempt to run the turn. The next attempt adds its own usage to
// the stored usage.
func (j *Journal) StoreCompleteUsage(ctx context.Context, usage []agent.ModelUsage) error {
	return j.noteUsage(ctx, usage, j.run)
}

func (j *Journal) noteUsage(ctx context.Context, usage []agent.ModelUsage, through int) error {
	step, err := j.usageStep(usage, through)
	if err != nil {
		return err
	}
	return j.store.Note(ctx, j.turn, step)
}

func (j *Journal) usageStep(usage []agent.ModelUsage, through int) (chat.Step, error) {
	j.usage = usage
	return chat.NewStep(chat.StepUsage, "", usageSoFar{Usage: usage, Through: through, HandedOver: j.handed})
}

// Begin implements agent.Journal.
func (j *Journal) Begin(ctx context.Context, changes bool, calls ...agent.ToolCall) error {
	kind := chat.StepReads
	if changes {
		kind = chat.StepBegun
		for _, call := range calls {
			j.begun = append(j.begun, call.ID)
		}
		j.changed.Store(true) // set even if note fails, because the store may have stored the steps
	}
	steps := make([]chat.Step, len(calls))
	for i, call := range calls {
		steps[i] = chat.Step{Kind: kind, Call: call.ID}
	}
	return j.note(ctx, steps...)
}

// Stopped implements agent.Journal.
func (j *Journal) Stopped(ctx context.Context, call agent.ToolCall) error {
	return j.note(ctx, chat.Step{Kind: chat.StepStopped, Call: call.ID})
}

// End implements agent.Journal.
func (j *Journal) End(ctx context.Context, answer agent.Message, made []agent.File) error {
	step, err := chat.NewStep(chat.StepAnswered, answer.ToolCallID, answered{answer, made})
	if err != nil {
		return err
	}
	return j.note(ctx, step)
}

func (j *Journal) note(ctx context.Context, steps ...chat.Step) error {
	err := j.store.Note(ctx, j.turn, steps...)
	j.failed = j.failed || err != nil
	return err
}
