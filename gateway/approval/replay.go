package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"telex/agent"
	"telex/internal/chat"
)

// restartGrace is how long at least a proposal stays open that an earlier process made: what people pressed while
// nobody was there arrives after the start.
const restartGrace = time.Minute

// Replay takes up what an earlier process proposed, and what was decided, from the steps of the turn's journal.
func (a *Approvals) Replay(steps []chat.Step) error {
	for _, s := range steps {
		var err error
		switch s.Kind {
		case chat.StepAsked:
			p := newProposal(s.Call)
			err = json.Unmarshal(s.Body, p)
			a.proposals = append(a.proposals, p)
		case chat.StepDecided:
			var d Decision
			err = json.Unmarshal(s.Body, &d)
			a.replayDecision(d)
		}
		if err != nil {
			return fmt.Errorf("read a step of the turn: %w", err)
		}
	}
	return nil
}

func (a *Approvals) replayDecision(d Decision) {
	for _, p := range a.proposals {
		if p.ID == d.ID && !p.claimed {
			p.claimed, p.decidedAt = true, d.At
			p.publish(d.Verdict)
			if d.Verdict == agent.TimedOut {
				a.gap = NobodyDecided
			}
		}
	}
}

// Resume lets people decide what an earlier process proposed for a while longer.
func (a *Approvals) Resume(now time.Time) {
	for _, p := range a.proposals {
		if grace := now.Add(restartGrace); p.Until.Before(grace) {
			p.Until = grace
		}
	}
}

// Calls returns the calls about which people were asked.
func (a *Approvals) Calls() []string {
	calls := make([]string, len(a.proposals))
	for i, p := range a.proposals {
		calls[i] = p.call
	}
	return calls
}

// Pending reports whether a call of an earlier process waits for a person at a time, or for its turn to go on since one
// decided. A decision may come as late as the start of the process that takes the turn up. ran says which calls have begun
// or ended.
func (a *Approvals) Pending(now time.Time, ran func(call string) bool) bool {
	return slices.ContainsFunc(a.proposals, func(p *Proposal) bool {
		waiting := now.Before(p.Until) || now.Before(p.decidedAt.Add(restartGrace))
		return waiting && !ran(p.call)
	})
}
