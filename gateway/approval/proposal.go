package approval

import (
	"crypto/rand"
	"strings"
	"time"

	"telex/agent"
)

// Proposal is a tool call that waits for a person, or did. What has a name in JSON is what the store keeps.
type Proposal struct {
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

	call      string
	decidedAt time.Time     // by a person, as an earlier process stored it
	claimed   bool          // somebody decides it; the mutex of the Approvals guards it
	verdict   agent.Verdict // once decided is closed
	decided   chan struct{}
}

// Decision is what was decided about a proposal, as the store keeps it.
type Decision struct {
	ID      string        `json:"id"` // the proposal's
	Verdict agent.Verdict `json:"verdict"`
	By      string        `json:"by,omitempty"`     // a Person's String; empty: nobody, in time
	Always  bool          `json:"always,omitempty"` // and whatever else the tool is called for here
	At      time.Time     `json:"at,omitzero"`      // when a person decided
}

func newProposal(call string) *Proposal { return &Proposal{call: call, decided: make(chan struct{})} }

// publish tells the turn what was decided. Only the one who claimed the proposal may, once.
func (p *Proposal) publish(v agent.Verdict) {
	p.verdict = v
	close(p.decided)
}

// What the ids of proposals are made of: few characters for people to type, none that looks like another.
const (
	idLetters = "abcdefghjkmnpqrstuvwxyz23456789"
	idLength  = 5
)

func newID() string {
	var b [idLength]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	for i, c := range b {
		b[i] = idLetters[int(c)%len(idLetters)] // the bias does not matter: nothing is secret about it
	}
	return string(b[:])
}

func isID(s string) bool {
	return len(s) == idLength && strings.Trim(strings.ToLower(s), idLetters) == ""
}
