package approval

import (
	"context"
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

// Store stores proposals and decisions.
type Store interface {
	// Note appends steps to the journal of a running turn.
	Note(ctx context.Context, turn string, steps ...chat.Step) error
	// Consent stores a permanent approval: from now on, turns of this person in this conversation may use the tool
	// without asking.
	Consent(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) error
	// Consented reports whether a permanent approval exists. Histories.Forget deletes the permanent approvals of a
	// conversation, and Histories.Erase those of a person.
	Consented(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) (bool, error)
}

// Options configure the approvals of one turn. The method Approve needs all Options; the other methods need only the
// fields before Unattended.
type Options struct {
	Store        Store
	Log          *slog.Logger // logger of the turn
	Turn         string
	Conversation chat.Conversation
	Asker        chat.Person   // the person whose message started the turn
	Ahead        time.Duration // how far this process's clock is ahead of the store's; stored times use the store's

	Unattended bool            // nobody can be asked
	Timeout    time.Duration   // maximum time to wait for a person's decision
	Allowed    func() bool     // reports whether the asker still has access
	Slash      func() string   // returns the command prefix of the chat
	Show       func(*Proposal) // shows the question
	Hide       func()          // removes the question
	Shutdown   error           // the cause with which a turn's context ends when the daemon stops
}

// ErrDecided means that a proposal was already decided.
var ErrDecided = errors.New("the proposal was decided already")

// errNotAsked means that no proposal is stored for a tool call, and that a new proposal is impossible because the tool
// is missing.
var errNotAsked = errors.New("nobody was asked about this call")

// Gap is the reason why a tool call was not run although no person denied the call.
type Gap uint8

// These constants are the values of the type Gap.
const (
	NoGap         Gap = iota
	NobodyToAsk       // the turn is unattended
	NobodyDecided     // nobody decided before the timeout
)

// Approvals holds the proposals of one turn: the tool calls that need a person's approval.
type Approvals struct {
	Options
	gap       Gap // used only by the goroutine that runs the model
	mu        sync.Mutex
	proposals []*Proposal
}

// New returns an Approvals value without proposals for one turn.
func New(o Options) *Approvals { return &Approvals{Options: o} }

// Gap returns why a tool call was not run although no person denied the call. Only the goroutine that runs the model
// may call Gap.
func (a *Approvals) Gap() Gap { return a.gap }

// newestFor returns the newest proposal for a tool call, or nil if the call has no proposal.
func (a *Approvals) newestFor(call string) *Proposal {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range slices.Backward(a.proposals) {
		if p.call == call {
			return p
		}
	}
	return nil
}

// Text returns the question that people were asked about a tool call, or "" if nobody was asked about the call.
func (a *Approvals) Text(call string) string {
	if p := a.newestFor(call); p != nil {
		return p.Text
	}
	return ""
}

// Waiting reports whether a tool call of the turn waits for a person's decision.
func (a *Approvals) Waiting() bool { return a.open("") != nil }

// Find returns the open proposal that a person's answer refers to, or nil. If id is empty, Find returns the proposal
// that was open when the person answered. A message that the person wrote before the question was asked does not answer
// the question. A restarted process may read a message from before the question only after it has asked the question.
func (a *Approvals) Find(id string, said time.Time) *Proposal {
	if p := a.open(id); p != nil && (id != "" || !p.Asked.After(said)) {
		return p
	}
	return nil
}

// open returns the undecided proposal with an id, or the newest undecided proposal if id is empty. open returns nil
// if no proposal matches. When a newer proposal is made for the same tool call, the older proposal is no longer open.
func (a *Approvals) open(id string) *Proposal {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, p := range slices.Backward(a.proposals) {
		replaced := slices.ContainsFunc(a.proposals[i+1:], func(q *Proposal) bool { return q.call == p.call })
		if !p.claimed && !replaced && (id == "" || strings.EqualFold(p.ID, id)) {
			return p
		}
	}
	return nil
}

// claim gives the caller the right to decide a proposal. claim returns false if another goroutine has already claimed
// the proposal.
func (a *Approvals) claim(p *Proposal) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	claimed := !p.claimed
	p.claimed = true
	return claimed
}

// Approve implements agent.Approver. Approve asks people to approve a tool call and waits for their decision.
func (a *Approvals) Approve(ctx context.Context, p agent.Proposal) (agent.Verdict, error) {
	switch {
	case a.consented(ctx, p):
		a.settle(ctx, p)
		return agent.Approved, nil
	case a.Unattended:
		a.gap = NobodyToAsk
		a.audit(&Proposal{Tool: p.Tool, call: p.Call.ID}, Decision{}, "denied: nobody can be asked")
		return agent.Denied, agent.ErrNobodyToAsk
	case p.Unreadable:
		a.audit(&Proposal{Tool: p.Tool, call: p.Call.ID}, Decision{}, "denied: too long to be read")
		return agent.Denied, agent.ErrUnreadable
	}
	q, err := a.propose(ctx, p)
	if err != nil {
		return agent.Denied, err
	}
	if a.open(q.ID) != nil {
		a.Show(q)
		defer func() {
			if !errors.Is(context.Cause(ctx), a.Shutdown) { // on shutdown the question stays: the next process asks it again
				a.Hide()
			}
		}()
	}
	return a.await(ctx, q)
}

// await waits until a proposal is decided, the proposal times out, or ctx ends.
func (a *Approvals) await(ctx context.Context, q *Proposal) (agent.Verdict, error) {
	timer := time.NewTimer(time.Until(q.Until))
	defer timer.Stop()
	select {
	case <-q.decided:
		return q.verdict, nil
	case <-timer.C:
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), a.Shutdown) { // on shutdown the proposal stays open for the next process
			a.audit(q, Decision{}, "withdrawn: the answer ended")
		}
		return agent.Denied, context.Cause(ctx)
	}
	if a.claim(q) {
		_, _ = a.record(ctx, q, Decision{Verdict: agent.TimedOut})
	}
	select {
	case <-q.decided: // the channel is closed soon, because the goroutine that claimed the proposal publishes the decision
	case <-ctx.Done():
		return agent.Denied, context.Cause(ctx)
	}
	if q.verdict == agent.TimedOut {
		a.gap = NobodyDecided
	}
	return q.verdict, nil
}

// settle approves a proposal that an earlier process left open although a permanent approval already covers its tool
// call. The earlier process died after it had stored the permanent approval and before it stored the decision. If the
// proposal stayed open, people's later answers would refer to this proposal and have no effect.
func (a *Approvals) settle(ctx context.Context, p agent.Proposal) {
	if q := a.newestFor(p.Call.ID); q != nil && a.claim(q) {
		_, _ = a.record(ctx, q, Decision{Verdict: agent.Approved, By: a.Asker.String(), Always: true})
	}
}

// propose returns the stored proposal for a tool call. If no proposal is stored, the method propose stores a new one.
func (a *Approvals) propose(ctx context.Context, p agent.Proposal) (*Proposal, error) {
	switch q := a.newestFor(p.Call.ID); {
	case q != nil && (q.Version == p.Version || p.Version == ""):
		return q, nil
	case p.Version == "":
		return nil, errNotAsked
	}
	q := newProposal(p.Call.ID)
	q.ID, q.Tool, q.Version, q.Text = newID(), p.Tool, p.Version, p.Text
	q.Standing, q.Personal = p.Standing, p.Personal
	q.Slash = a.Slash() // stored because the next process may resume the turn before the platform reports the prefix
	if p.Whole != p.Text {
		q.Whole = p.Whole
	}
	q.Asked = time.Now().Round(0)
	q.Until = q.Asked.Add(a.Timeout)
	kept := *q
	kept.move(-a.Ahead)
	step, err := chat.NewStep(chat.StepAsked, q.call, &kept)
	if err != nil {
		return nil, err
	}
	if err := a.Store.Note(ctx, a.Turn, step); err != nil {
		return nil, fmt.Errorf("store a proposal: %w", err)
	}
	a.mu.Lock()
	a.proposals = append(a.proposals, q)
	a.mu.Unlock()
	a.Log.Info("a tool call waits for approval", slog.String("proposal", q.ID), slog.String("tool", q.Tool))
	return q, nil
}

// consented reports whether the asker approved the tool permanently in this conversation and still has access.
func (a *Approvals) consented(ctx context.Context, p agent.Proposal) bool {
	if !p.Standing || !a.Allowed() {
		return false
	}
	yes, err := a.Store.Consented(ctx, a.Conversation, a.Asker.User, standing(p.Tool, p.Version))
	if err != nil {
		a.Log.Error("standing approvals could not be read; asking the person", slog.Any("error", err))
		return false
	}
	if yes {
		a.audit(&Proposal{Tool: p.Tool, call: p.Call.ID}, Decision{By: a.Asker.String()}, "approved once for this conversation")
	}
	return yes
}

// standing returns the key of a permanent approval: the tool and its version.
func standing(tool, version string) string { return tool + "@" + version }

// Decide stores a person's decision, publishes it to the turn and returns the journal step. Decide returns ErrDecided
// if the proposal was already decided.
func (a *Approvals) Decide(ctx context.Context, q *Proposal, answer Answer, by chat.Person) (chat.Step, error) {
	if !a.claim(q) {
		return chat.Step{}, ErrDecided
	}
	always := answer.Always && q.Standing
	if always {
		if err := a.Store.Consent(ctx, a.Conversation, a.Asker.User, standing(q.Tool, q.Version)); err != nil {
			a.Log.Error("a standing approval was not stored: it holds for this call only", slog.Any("error", err))
		}
	}
	return a.record(ctx, q, Decision{Verdict: answer.Verdict, By: by.String(), Always: always, At: time.Now()})
}

// record stores the decision about a proposal that the caller has claimed, and publishes the decision to the turn. If
// the store fails, the method record still publishes the decision. If the process crashes before a decision is stored,
// the next process asks people again.
func (a *Approvals) record(ctx context.Context, q *Proposal, d Decision) (chat.Step, error) {
	d.ID, d.At = q.ID, moved(d.At, -a.Ahead)
	step, err := chat.NewStep(chat.StepDecided, q.call, d)
	stored := err
	if err == nil {
		stored = a.Store.Note(context.WithoutCancel(ctx), a.Turn, step)
	}
	if stored != nil {
		a.Log.Error("decision about a tool call was not stored", slog.String("proposal", q.ID), slog.Any("error", stored))
	}
	what := map[agent.Verdict]string{agent.Approved: "approved", agent.Denied: "denied", agent.TimedOut: "denied: nobody decided in time"}
	a.audit(q, d, what[d.Verdict])
	q.publish(d.Verdict)
	return step, err
}

// audit logs what was decided about a proposal, and by whom.
func (a *Approvals) audit(q *Proposal, d Decision, what string) {
	a.Log.Info("a tool call was decided", slog.String("proposal", q.ID), slog.String("tool", q.Tool),
		slog.String("call", q.call), slog.String("decision", what), slog.String("by", d.By), slog.Bool("always", d.Always))
}
