package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"telex/agent"
	"telex/internal/chat"
)

// restartGrace is how long at least a proposal stays open that an earlier process made: what people pressed while
// nobody was there arrives after the start.
const restartGrace = time.Minute

// proposal is a tool call that waits for a person, or did. What has a name in JSON is what the store keeps.
type proposal struct {
	ID       string    `json:"id"`
	Tool     string    `json:"tool"`
	Text     string    `json:"text"`            // exactly what will happen
	Whole    string    `json:"whole,omitempty"` // the same where Text is cut
	Standing bool      `json:"standing,omitempty"`
	Personal bool      `json:"personal,omitempty"` // only the asker may decide it, and no admin in their place
	Version  string    `json:"version,omitempty"`  // of the tool
	Slash    string    `json:"slash,omitempty"`    // what a command began with where people were asked
	Asked    time.Time `json:"asked"`
	Until    time.Time `json:"until"` // then it is denied

	mentioned bool // to who sent something else than a yes or no; the actor's

	call    string
	decided time.Time     // by a person, as an earlier process stored it
	claimed bool          // somebody decides it; the docket's mutex guards it
	verdict agent.Verdict // once ruled is closed
	ruled   chan struct{}
}

// ruling is what was decided about a proposal, as the store keeps it.
type ruling struct {
	ID      string        `json:"id"` // the proposal's
	Verdict agent.Verdict `json:"verdict"`
	By      string        `json:"by,omitempty"`     // a Person's String; empty: nobody, in time
	Always  bool          `json:"always,omitempty"` // and whatever else the tool is called for here
	At      time.Time     `json:"at,omitzero"`      // when a person decided
}

func newProposal(call string) *proposal { return &proposal{call: call, ruled: make(chan struct{})} }

// publish tells the turn what was decided. Only who claimed the proposal may, once.
func (p *proposal) publish(v agent.Verdict) {
	p.verdict = v
	close(p.ruled)
}

// docket is the proposals of one turn. The turn's goroutine files them, the actor has them decided.
type docket struct {
	mu        sync.Mutex
	proposals []*proposal
}

// of returns the newest proposal about a call, nil without one.
func (d *docket) of(call string) *proposal {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range slices.Backward(d.proposals) {
		if p.call == call {
			return p
		}
	}
	return nil
}

// restore takes up what an earlier process filed.
func (d *docket) restore(proposals []*proposal, now time.Time) {
	d.proposals = proposals
	for _, p := range proposals {
		if grace := now.Add(restartGrace); p.Until.Before(grace) {
			p.Until = grace
		}
	}
}

func (d *docket) file(p *proposal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.proposals = append(d.proposals, p)
}

// open returns the proposal with an id that nobody has decided yet, and whichever there is for no id; nil without one. One
// that a newer one about its call took the place of is not open: that call waits for the newer one.
func (d *docket) open(id string) *proposal {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, p := range slices.Backward(d.proposals) {
		replaced := slices.ContainsFunc(d.proposals[i+1:], func(q *proposal) bool { return q.call == p.call })
		if !p.claimed && !replaced && (id == "" || strings.EqualFold(p.ID, id)) {
			return p
		}
	}
	return nil
}

// claim says that the caller decides a proposal; false when somebody else does.
func (d *docket) claim(p *proposal) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	claimed := !p.claimed
	p.claimed = true
	return claimed
}

// What the ids of proposals are made of: few characters for people to type, none that looks like another.
const (
	idLetters = "abcdefghjkmnpqrstuvwxyz23456789"
	idLength  = 5
)

func newProposalID() string {
	var b [idLength]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	for i, c := range b {
		b[i] = idLetters[int(c)%len(idLetters)] // the bias does not matter: nothing is secret about it
	}
	return string(b[:])
}

func isProposalID(s string) bool {
	return len(s) == idLength && strings.Trim(strings.ToLower(s), idLetters) == ""
}

// errNotAsked says that there is no question about a call, and no tool that could say what it does.
var errNotAsked = errors.New("nobody was asked about this call")

// approver lets people decide about the calls of one turn. It is the turn's agent.Approver and belongs to the
// goroutine that runs the model.
type approver struct {
	a *actor
	t *turn
}

// Approve implements agent.Approver.
func (r approver) Approve(ctx context.Context, p agent.Proposal) (agent.Verdict, error) {
	a, t := r.a, r.t
	if a.consented(ctx, t, p) {
		r.settle(ctx, p)
		return agent.Approved, nil
	}
	if t.in.Unattended {
		t.undone = TextUnasked
		a.audit(t.id, &proposal{Tool: p.Tool, call: p.Call.ID}, ruling{}, "denied: nobody can be asked")
		return agent.Denied, agent.ErrNobodyToAsk
	}
	if p.Unreadable {
		a.audit(t.id, &proposal{Tool: p.Tool, call: p.Call.ID}, ruling{}, "denied: too long to be read")
		return agent.Denied, agent.ErrUnreadable
	}
	q, err := r.file(ctx, p)
	if err != nil {
		return agent.Denied, err
	}
	if t.docket.open(q.ID) != nil {
		t.slot.Tell(t.progress.ask(a.inquiry(t.in.To, q)))
		defer func() {
			if !errors.Is(context.Cause(ctx), errShutdown) { // then it stands until the next process asks again
				t.slot.Tell(t.progress.answered())
			}
		}()
	}
	timer := time.NewTimer(time.Until(q.Until))
	defer timer.Stop()
	select {
	case <-q.ruled:
		return q.verdict, nil
	case <-timer.C:
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), errShutdown) { // then the next process asks again
			a.audit(t.id, q, ruling{}, "withdrawn: the answer ended")
		}
		return agent.Denied, context.Cause(ctx)
	}
	if t.docket.claim(q) {
		a.rule(ctx, t.id, q, ruling{Verdict: agent.TimedOut})
	}
	select {
	case <-q.ruled: // soon: whoever claimed it stores it and publishes
	case <-ctx.Done():
		return agent.Denied, context.Cause(ctx)
	}
	if q.verdict == agent.TimedOut {
		t.undone = TextUndecided
	}
	return q.verdict, nil
}

// settle decides the proposal that an earlier process made about a call which a standing approval covers now: that process
// ended between storing the approval and storing the decision. Left open, the proposal would take what people say about it
// later, and nothing would come of that.
func (r approver) settle(ctx context.Context, p agent.Proposal) {
	if q := r.t.docket.of(p.Call.ID); q != nil && r.t.docket.claim(q) {
		r.a.rule(ctx, r.t.id, q, ruling{Verdict: agent.Approved, By: r.a.person(r.t.in).String(), Always: true})
	}
}

// file returns the proposal about a call: the one that an earlier process made, or a new one, which is stored.
func (r approver) file(ctx context.Context, p agent.Proposal) (*proposal, error) {
	switch q := r.t.docket.of(p.Call.ID); {
	case q != nil && (q.Version == p.Version || p.Version == ""):
		return q, nil
	case p.Version == "":
		return nil, errNotAsked
	}
	q := newProposal(p.Call.ID)
	q.ID, q.Tool, q.Version, q.Text, q.Standing = newProposalID(), p.Tool, p.Version, p.Text, p.Standing
	q.Personal = p.Personal
	q.Slash = r.a.slash(r.t.in.To) // a process that takes this up may not have learned it yet
	if p.Whole != p.Text {
		q.Whole = p.Whole
	}
	q.Asked = time.Now().Round(0)
	q.Until = q.Asked.Add(r.a.g.ApprovalTimeout)
	step, err := stepOf(chat.StepAsked, q.call, q)
	if err != nil {
		return nil, err
	}
	if err := r.a.g.Store.Note(ctx, r.t.id, step); err != nil {
		return nil, fmt.Errorf("store a proposal: %w", err)
	}
	r.t.docket.file(q)
	r.a.log.Info("a tool call waits for approval", slog.String("turn", r.t.id), slog.String("proposal", q.ID), slog.String("tool", q.Tool))
	return q, nil
}

// consented says that the asker approved all calls of the tool here, once, and is still somebody who may.
func (a *actor) consented(ctx context.Context, t *turn, p agent.Proposal) bool {
	if !p.Standing || !a.g.door.Allows(a.conversation, t.in.Sender.ID) {
		return false
	}
	yes, err := a.g.Store.Consented(ctx, a.conversation, t.in.Sender.ID, standingOf(p.Tool, p.Version))
	if err != nil {
		a.log.Error("standing approvals could not be read: asking", slog.String("turn", t.id), slog.Any("error", err))
		return false
	}
	if yes {
		a.audit(t.id, &proposal{Tool: p.Tool, call: p.Call.ID}, ruling{By: a.person(t.in).String()}, "approved once for this conversation")
	}
	return yes
}

// standingOf names what a standing approval is for: a tool as it was then.
func standingOf(tool, version string) string { return tool + "@" + version }

// rule stores what was decided about a proposal that the caller has claimed, and tells its turn. Not to be able to store
// it keeps it from nobody: a process that comes after a crash would ask again.
func (a *actor) rule(ctx context.Context, turn string, q *proposal, r ruling) {
	r.ID = q.ID
	step, err := stepOf(chat.StepDecided, q.call, r)
	if err == nil {
		err = a.g.Store.Note(context.WithoutCancel(ctx), turn, step)
	}
	if err != nil {
		a.log.Error("what was decided about a tool call was not stored", slog.String("turn", turn), slog.String("proposal", q.ID), slog.Any("error", err))
	}
	what := map[agent.Verdict]string{agent.Approved: "approved", agent.Denied: "denied", agent.TimedOut: "denied: nobody decided in time"}
	a.audit(turn, q, r, what[r.Verdict])
	q.publish(r.Verdict)
}

// audit writes the line that says what became of a proposal, and by whom.
func (a *actor) audit(turn string, q *proposal, r ruling, what string) {
	a.log.Info("a tool call was decided", slog.String("turn", turn), slog.String("proposal", q.ID), slog.String("tool", q.Tool),
		slog.String("call", q.call), slog.String("decision", what), slog.String("by", r.By), slog.Bool("always", r.Always))
}
