package approval

import (
	"crypto/rand"
	"strings"
	"time"

	"telex/agent"
)

// Proposal is a tool call that needs a person's decision. The store keeps the fields with JSON names.
type Proposal struct {
	ID       string    `json:"id"`
	Tool     string    `json:"tool"`
	Text     string    `json:"text"`               // exact description of the action
	Whole    string    `json:"whole,omitempty"`    // the full description if Text is shortened
	Standing bool      `json:"standing,omitempty"` // people may approve the tool permanently
	Personal bool      `json:"personal,omitempty"` // only the asker may decide the proposal; an admin may not
	Version  string    `json:"version,omitempty"`  // version of the tool
	Slash    string    `json:"slash,omitempty"`    // command prefix of the chat where people were asked
	Asked    time.Time `json:"asked"`              // when people were asked
	Until    time.Time `json:"until"`              // after this time, the proposal counts as denied

	call      string
	decidedAt time.Time     // time of a person's decision, as stored by an earlier process
	claimed   bool          // a person or the timeout decides the proposal; guarded by the mutex of Approvals
	verdict   agent.Verdict // valid once decided is closed
	decided   chan struct{}
}

// Decision is the stored decision about a proposal.
type Decision struct {
	ID      string        `json:"id"` // id of the proposal
	Verdict agent.Verdict `json:"verdict"`
	By      string        `json:"by,omitempty"`     // Person.String of the person who decided; empty: the proposal timed out
	Always  bool          `json:"always,omitempty"` // approve all later calls of the tool in this conversation
	At      time.Time     `json:"at,omitzero"`      // time when a person decided
}

func newProposal(call string) *Proposal { return &Proposal{call: call, decided: make(chan struct{})} }

// move converts the times of a proposal to a clock that is ahead by d. The gateway compares the proposal's times with
// the time of a message, to find out whether the message answers the proposal.
func (p *Proposal) move(d time.Duration) { p.Asked, p.Until = moved(p.Asked, d), moved(p.Until, d) }

// moved returns the time that is d after at. If the parameter at is zero, the function moved returns the zero time.
func moved(at time.Time, d time.Duration) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(d)
}

// publish passes the decision to the turn. Only the caller that claimed the proposal may call publish, and must call
// it exactly once.
func (p *Proposal) publish(v agent.Verdict) {
	p.verdict = v
	close(p.decided)
}

// Proposal ids are short, because people type them. Proposal ids have no characters that look alike, such as 0 and o.
const (
	idLetters = "abcdefghjkmnpqrstuvwxyz23456789"
	idLength  = 5
)

func newID() string {
	var b [idLength]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	for i, c := range b {
		b[i] = idLetters[int(c)%len(idLetters)] // some letters are slightly more likely, which does not matter: the id is not secret
	}
	return string(b[:])
}

func isID(s string) bool {
	return len(s) == idLength && strings.Trim(strings.ToLower(s), idLetters) == ""
}
