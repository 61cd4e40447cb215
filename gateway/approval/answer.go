package approval

import (
	"slices"
	"strings"

	"telex/agent"
	"telex/internal/chat"
)

// Answer is what a person says about a proposal.
type Answer struct {
	ID      string // of the proposal; empty: the one that waits
	Verdict agent.Verdict
	Always  bool // and all such calls from now on
	Show    bool // nothing yet: first the person wants to read all of it
}

// What the IDs of the buttons below a proposal begin with; the proposal's follows.
const (
	approveAction = "approve:"
	denyAction    = "deny:"
	alwaysAction  = "always:"
)

// Buttons returns the buttons below a proposal. always is for those that may be approved once and for all.
func Buttons(p *Proposal, approve, deny, always string) []chat.Action {
	out := []chat.Action{{ID: approveAction + p.ID, Label: approve}, {ID: denyAction + p.ID, Label: deny}}
	if p.Standing {
		out = append(out, chat.Action{ID: alwaysAction + p.ID, Label: always})
	}
	return out
}

// Pressed reads a button; false if the button does not belong to a question of ours.
func Pressed(action string) (Answer, bool) {
	prefix, id, _ := strings.Cut(action, ":")
	switch prefix + ":" {
	case approveAction:
		return Answer{ID: id, Verdict: agent.Approved}, true
	case alwaysAction:
		return Answer{ID: id, Verdict: agent.Approved, Always: true}, true
	case denyAction:
		return Answer{ID: id, Verdict: agent.Denied}, true
	default:
		return Answer{}, false
	}
}

// The words that may follow /approve and /deny, beside an id.
const (
	alwaysWord = "always"
	showWord   = "show"
)

// Said reads the arguments of /approve and /deny: an id, always or show, both or none.
func Said(v agent.Verdict, args []string) Answer {
	d := Answer{Verdict: v}
	for _, word := range args {
		switch {
		case v == agent.Approved && strings.EqualFold(word, alwaysWord):
			d.Always = true
		case strings.EqualFold(word, showWord):
			d.Show = true
		default:
			d.ID = word
		}
	}
	return d
}

// IsPlain reports whether the words after approve or deny are nothing that people would write to the model.
func IsPlain(args []string) bool {
	return !slices.ContainsFunc(args, func(w string) bool { return !strings.EqualFold(w, alwaysWord) && !isID(w) })
}
