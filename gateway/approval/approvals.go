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

// Store keeps what was proposed and decided.
type Store interface {
	// Note adds to the journal of a running turn.
	Note(ctx context.Context, turn string, steps ...chat.Step) error
	// Consent stores that what a person asks for in a conversation may use a tool from now on.
	Consent(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) error
	// Consented says whether it may. Forget ends all consents of a conversation, Erase those of a person there.
	Consented(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) (bool, error)
}

// Options are what the approvals of one turn are made of. Only Approve needs those below Asker.
type Options struct {
	Store        Store
	Log          *slog.Logger // of the turn
	Turn         string
	Conversation chat.Conversation
	Asker        chat.Person // who asked for what the turn does

	Unattended bool            // nobody can be asked
	Timeout    time.Duration   // how long a call waits for a person
	Allowed    func() bool     // the asker is still let in
	Slash      func() string   // what a command begins with where people are asked
	Show       func(*Proposal) // asks people
	Hide       func()          // takes the question away
	Shutdown   error           // the cause of a context that ends because the daemon stops
}

// ErrDecided says that a proposal was decided already.
var ErrDecided = errors.New("the proposal was decided already")

// errNotAsked says that there is no question about a call, and no tool that could say what it does.
var errNotAsked = errors.New("nobody was asked about this call")

// Gap says why a call was not run although nobody said no.
type Gap uint8

// The gaps.
const (
	NoGap         Gap = iota
	NobodyToAsk       // the turn is unattended
	NobodyDecided     // in time
)

// Approvals are the calls of one turn that need an approval.
type Approvals struct {
	Options
	gap       Gap // the goroutine's that runs the model
	mu        sync.Mutex
	proposals []*Proposal
}

// New returns the approvals of a turn that has none yet.
func New(o Options) *Approvals { return &Approvals{Options: o} }

// Gap returns why a call was not run although nobody said no. Only the goroutine that runs the model may ask.
func (a *Approvals) Gap() Gap { return a.gap }

// of returns the newest proposal about a call, nil without one.
func (a *Approvals) of(call string) *Proposal {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range slices.Backward(a.proposals) {
		if p.call == call {
			return p
		}
	}
	return nil
}

// Text returns what people were asked about a call; empty when they were not.
func (a *Approvals) Text(call string) string {
	if p := a.of(call); p != nil {
		return p.Text
	}
	return ""
}

// Waiting reports whether a call waits for a person.
func (a *Approvals) Waiting() bool { return a.open("") != nil }

// Find returns the open proposal that something is about which a person said at a time; nil without one. An empty id means
// whichever was open then: what was said before is about something else, also when a restart reads it anew.
func (a *Approvals) Find(id string, said time.Time) *Proposal {
	if p := a.open(id); p != nil && (id != "" || !p.Asked.After(said)) {
		return p
	}
	return nil
}

// open returns the proposal with an id that nobody has decided yet, and whichever there is for no id; nil without one. One
// that a newer one about its call took the place of is not open: that call waits for the newer one.
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

// claim says that the caller decides a proposal; false when somebody else does.
func (a *Approvals) claim(p *Proposal) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	claimed := !p.claimed
	p.claimed = true
	return claimed
}

// Approve implements agent.Approver: it asks people about a call, and waits for the decision.
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
			if !errors.Is(context.Cause(ctx), a.Shutdown) { // then it stands until the next process asks again
				a.Hide()
			}
		}()
	}
	return a.await(ctx, q)
}

// await waits until a proposal is decided, its time is over or ctx ends.
func (a *Approvals) await(ctx context.Context, q *Proposal) (agent.Verdict, error) {
	timer := time.NewTimer(time.Until(q.Until))
	defer timer.Stop()
	select {
	case <-q.decided:
		return q.verdict, nil
	case <-timer.C:
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), a.Shutdown) { // then the next process asks again
			a.audit(q, Decision{}, "withdrawn: the answer ended")
		}
		return agent.Denied, context.Cause(ctx)
	}
	if a.claim(q) {
		_, _ = a.record(ctx, q, Decision{Verdict: agent.TimedOut})
	}
	select {
	case <-q.decided: // soon: whoever claimed it stores it and publishes
	case <-ctx.Done():
		return agent.Denied, context.Cause(ctx)
	}
	if q.verdict == agent.TimedOut {
		a.gap = NobodyDecided
	}
	return q.verdict, nil
}

// settle decides the proposal that an earlier process made about a call which a standing approval covers now: that process
// ended between storing the approval and storing the decision. Left open, the proposal would take what people say about it
// later, and nothing would come of that.
func (a *Approvals) settle(ctx context.Context, p agent.Proposal) {
	if q := a.of(p.Call.ID); q != nil && a.claim(q) {
		_, _ = a.record(ctx, q, Decision{Verdict: agent.Approved, By: a.Asker.String(), Always: true})
	}
}

// propose returns the proposal about a call: the one that an earlier process made, or a new one, which is stored.
func (a *Approvals) propose(ctx context.Context, p agent.Proposal) (*Proposal, error) {
	switch q := a.of(p.Call.ID); {
	case q != nil && (q.Version == p.Version || p.Version == ""):
		return q, nil
	case p.Version == "":
		return nil, errNotAsked
	}
	q := newProposal(p.Call.ID)
	q.ID, q.Tool, q.Version, q.Text = newID(), p.Tool, p.Version, p.Text
	q.Standing, q.Personal = p.Standing, p.Personal
	q.Slash = a.Slash() // a process that takes this up may not have learned it yet
	if p.Whole != p.Text {
		q.Whole = p.Whole
	}
	q.Asked = time.Now().Round(0)
	q.Until = q.Asked.Add(a.Timeout)
	step, err := chat.NewStep(chat.StepAsked, q.call, q)
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

// consented reports whether the asker approved all calls of the tool here, once, and is still let in.
func (a *Approvals) consented(ctx context.Context, p agent.Proposal) bool {
	if !p.Standing || !a.Allowed() {
		return false
	}
	yes, err := a.Store.Consented(ctx, a.Conversation, a.Asker.User, standing(p.Tool, p.Version))
	if err != nil {
		a.Log.Error("standing approvals could not be read: asking", slog.Any("error", err))
		return false
	}
	if yes {
		a.audit(&Proposal{Tool: p.Tool, call: p.Call.ID}, Decision{By: a.Asker.String()}, "approved once for this conversation")
	}
	return yes
}

// standing names what a standing approval is for: a tool as it was then.
func standing(tool, version string) string { return tool + "@" + version }

// Decide stores what a person answered about a proposal, tells its turn and returns the step of the journal. The error is
// ErrDecided when the proposal has been decided.
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

// record stores what was decided about a proposal that the caller has claimed, and tells its turn. A store that fails keeps
// the decision from nobody: a process that comes after a crash would ask again.
func (a *Approvals) record(ctx context.Context, q *Proposal, d Decision) (chat.Step, error) {
	d.ID = q.ID
	step, err := chat.NewStep(chat.StepDecided, q.call, d)
	stored := err
	if err == nil {
		stored = a.Store.Note(context.WithoutCancel(ctx), a.Turn, step)
	}
	if stored != nil {
		a.Log.Error("what was decided about a tool call was not stored", slog.String("proposal", q.ID), slog.Any("error", stored))
	}
	what := map[agent.Verdict]string{agent.Approved: "approved", agent.Denied: "denied", agent.TimedOut: "denied: nobody decided in time"}
	a.audit(q, d, what[d.Verdict])
	q.publish(d.Verdict)
	return step, err
}

// audit writes the line that says what became of a proposal, and by whom.
func (a *Approvals) audit(q *Proposal, d Decision, what string) {
	a.Log.Info("a tool call was decided", slog.String("proposal", q.ID), slog.String("tool", q.Tool),
		slog.String("call", q.call), slog.String("decision", what), slog.String("by", d.By), slog.Bool("always", d.Always))
}
