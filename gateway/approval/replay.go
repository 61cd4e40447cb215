package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"telex/agent"
	"telex/internal/chat"
)

// restartGrace is the minimum time for which a proposal of an earlier process stays open after a restart. Messages that
// people sent while no process ran arrive shortly after the start, and may answer the proposal.
const restartGrace = time.Minute

// Replay restores proposals and decisions from the turn's journal.
func (a *Approvals) Replay(steps []chat.Step) error {
	for _, s := range steps {
		var err error
		switch s.Kind {
		case chat.StepAsked:
			p := newProposal(s.Call)
			err = json.Unmarshal(s.Body, p)
			p.move(a.Ahead)
			a.proposals = append(a.proposals, p)
		case chat.StepDecided:
			var d Decision
			err = json.Unmarshal(s.Body, &d)
			d.At = moved(d.At, a.Ahead)
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

// Resume extends the timeouts of an earlier process's proposals, so that each proposal stays open for at least restartGrace
// after the time now.
func (a *Approvals) Resume(now time.Time) {
	for _, p := range a.proposals {
		if grace := now.Add(restartGrace); p.Until.Before(grace) {
			p.Until = grace
		}
	}
}

// Calls returns the ids of the tool calls that have proposals.
func (a *Approvals) Calls() []string {
	calls := make([]string, len(a.proposals))
	for i, p := range a.proposals {
		calls[i] = p.call
	}
	return calls
}

// Pending reports whether a tool call of an earlier process still waits for a person, or was decided so recently that its
// turn must continue. A decision counts as recent if it was made less than restartGrace before the time now. The function ran
// reports whether a tool call has begun or ended.
func (a *Approvals) Pending(now time.Time, ran func(call string) bool) bool {
	return slices.ContainsFunc(a.proposals, func(p *Proposal) bool {
		waiting := now.Before(p.Until) || now.Before(p.decidedAt.Add(restartGrace))
		return waiting && !ran(p.call)
	})
}
