package history

import (
	"context"
	"sync/atomic"

	"telex/agent"
	"telex/internal/chat"
)

// Steps keeps the journals of running turns.
type Steps interface {
	// Note adds to the journal of a running turn. It returns once that is durable, and fails for a turn that
	// is not running; of one that was forgotten it takes nothing but steps of usage. A journal ends with its turn.
	Note(ctx context.Context, turn string, steps ...chat.Step) error
}

// Journal keeps what a turn does, so that another process can go on with it. It is the turn's agent.Journal. Others may
// ask only whether it Changed something.
type Journal struct {
	store   Steps
	turn    string
	run     int           // of the turn, counted from 1
	spent   []agent.Spent // as it was stored last
	begun   []string      // ids of calls that change something
	changed atomic.Bool   // a call that changes something has begun, in this process or an earlier one
	failed  bool          // it could not be written
}

// answered is the body of a step: what came of a call.
type answered struct {
	Answer agent.Message `json:"answer"`
	Files  []agent.File  `json:"files,omitempty"`
}

// spentSoFar is the body of a step: the usage of a turn.
type spentSoFar struct {
	Spent []agent.Spent `json:"spent"`
	// Through is the newest run of the turn of which everything is in Spent. A later one may have died while an
	// answer was being written.
	Through int `json:"through"`
}

// NewJournal returns the journal of a run of a turn, counted from 1, which goes on with what earlier processes did.
func NewJournal(s Steps, turn string, run int, earlier Replay) *Journal {
	j := &Journal{store: s, turn: turn, run: run, spent: earlier.Spent, begun: earlier.Changing}
	j.changed.Store(earlier.Changed)
	return j
}

// Changed reports whether a call that changes something has begun.
func (j *Journal) Changed() bool { return j.changed.Load() }

// Changing returns the ids of the calls that change something and have begun, in this process and earlier ones.
func (j *Journal) Changing() []string { return j.begun }

// Failed reports whether something could not be stored.
func (j *Journal) Failed() bool { return j.failed }

// LastSpent returns the usage that was stored last.
func (j *Journal) LastSpent() []agent.Spent { return j.spent }

// Step implements agent.Journal.
func (j *Journal) Step(ctx context.Context, messages []agent.Message, spent []agent.Spent) error {
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

// Spent implements agent.Journal. A failure ends no turn.
func (j *Journal) Spent(ctx context.Context, spent []agent.Spent) error {
	return j.noteSpent(ctx, spent, j.run-1)
}

// AllSpent stores all that this run used, which another process goes on with.
func (j *Journal) AllSpent(ctx context.Context, spent []agent.Spent) error {
	return j.noteSpent(ctx, spent, j.run)
}

func (j *Journal) noteSpent(ctx context.Context, spent []agent.Spent, through int) error {
	step, err := j.spentStep(spent, through)
	if err != nil {
		return err
	}
	return j.store.Note(ctx, j.turn, step)
}

func (j *Journal) spentStep(spent []agent.Spent, through int) (chat.Step, error) {
	j.spent = spent
	return chat.NewStep(chat.StepSpent, "", spentSoFar{Spent: spent, Through: through})
}

// Begin implements agent.Journal.
func (j *Journal) Begin(ctx context.Context, changes bool, calls ...agent.ToolCall) error {
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
