package approval

import (
	"slices"
	"strings"

	"telex/agent"
	"telex/internal/chat"
)

// Answer is a person's answer to a proposal.
type Answer struct {
	ID      string // id of the proposal; empty: the answer is about the open proposal
	Verdict agent.Verdict
	Always  bool // also approve all later calls of this tool
	Show    bool // the person wants to read the full proposal before deciding
}

// The id of a button below a proposal consists of one of these prefixes and the proposal's id.
const (
	approveAction = "approve:"
	denyAction    = "deny:"
	alwaysAction  = "always:"
)

// Buttons returns the buttons below a proposal. The parameter always is the label of the third button, which appears
// only for tools that can be approved permanently.
func Buttons(p *Proposal, approve, deny, always string) []chat.Action {
	out := []chat.Action{{ID: approveAction + p.ID, Label: approve}, {ID: denyAction + p.ID, Label: deny}}
	if p.Standing {
		out = append(out, chat.Action{ID: alwaysAction + p.ID, Label: always})
	}
	return out
}

// Pressed parses a button id. Pressed returns false if the button does not belong to a proposal.
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

// After /approve, people may write "always" or "show" besides an id. After /deny, people may write "show" besides an id.
const (
	alwaysWord = "always"
	showWord   = "show"
)

// ParseAnswer parses the optional arguments of /approve and /deny: an id, "always" (only after /approve) and "show".
func ParseAnswer(v agent.Verdict, args []string) Answer {
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

// IsPlain reports whether the words after "approve" or "deny" can only be arguments of the command, and not an
// ordinary sentence.
func IsPlain(args []string) bool {
	return !slices.ContainsFunc(args, func(w string) bool { return !strings.EqualFold(w, alwaysWord) && !isID(w) })
}
