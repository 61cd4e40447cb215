package gateway

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"time"

	"telex/agent"
	"telex/gateway/preview"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// What the IDs of the buttons below a proposal begin with; the proposal's follows.
const (
	approveAction = "approve:"
	denyAction    = "deny:"
	alwaysAction  = "always:"
)

// ours says that a button is one that replies have.
func ours(action string) bool {
	return slices.ContainsFunc([]string{stopAction, approveAction, denyAction, alwaysAction}, func(prefix string) bool {
		return strings.HasPrefix(action, prefix)
	})
}

// inquiry is how people are asked about a proposal.
func (a *actor) inquiry(to chat.Target, q *proposal) inquiry {
	how, slash := TextHow, cmp.Or(q.Slash, a.slash(to))
	if to.Kind != chat.Private {
		how = TextHowGroup
	}
	places := []string{"id", q.ID, "slash", slash, "how", a.g.Texts.fill(how, "id", q.ID, "slash", slash)}
	out := a.g.Texts.proposing(q.Text, places...)
	if q.Whole != "" || !preview.Shows(a.endpoint.out, to, a.endpoint.Streaming.Cursor, out.text, out.code) {
		places[len(places)-1] += " " + a.g.Texts.fill(TextShow, "id", q.ID, "slash", slash)
		out = a.g.Texts.proposing(q.Text, places...)
	}
	if !a.endpoint.buttons {
		return out
	}
	out.actions = []chat.Action{{ID: approveAction + q.ID, Label: a.g.Texts[TextApproveButton]}, {ID: denyAction + q.ID, Label: a.g.Texts[TextDenyButton]}}
	if q.Standing {
		out.actions = append(out.actions, chat.Action{ID: alwaysAction + q.ID, Label: a.g.Texts[TextAlwaysButton]})
	}
	return out
}

// proposing returns the question about what a model wants to do, with the other places filled in.
func (t Texts) proposing(what string, places ...string) inquiry {
	before, after, found := strings.Cut(t[TextApproval], "{what}")
	if !found {
		what = ""
	}
	text := fill(before, places...)
	code := preview.Span{From: len(text), To: len(text) + len(what)}
	return inquiry{text: text + what + fill(after, places...), code: code}
}

// codeBlock returns Markdown that shows a text as it is, whatever is in it.
func codeBlock(text string) string {
	run, longest := 0, 2
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	mark := strings.Repeat("`", longest+1)
	return mark + "\n" + strings.TrimSuffix(text, "\n") + "\n" + mark
}

// decision is what a person says about a proposal.
type decision struct {
	id      string // of the proposal; empty: the one that waits
	verdict agent.Verdict
	always  bool // and all such calls from now on
	show    bool // nothing yet: first the person wants to read all of it
}

// pressed reads a button.
func pressed(action string) (d decision, ok bool) {
	prefix, id, _ := strings.Cut(action, ":")
	d.id = id
	switch prefix + ":" {
	case approveAction:
		d.verdict = agent.Approved
	case alwaysAction:
		d.verdict, d.always = agent.Approved, true
	case denyAction:
		d.verdict = agent.Denied
	default:
		return decision{}, false
	}
	return d, true
}

// decides reads the arguments of /approve and /deny: an id, always or show, both or none.
func decides(v agent.Verdict, args []string) decision {
	d := decision{verdict: v}
	for _, word := range args {
		switch {
		case v == agent.Approved && strings.EqualFold(word, alwaysWord):
			d.always = true
		case strings.EqualFold(word, showWord):
			d.show = true
		default:
			d.id = word
		}
	}
	return d
}

const (
	alwaysWord = "always"
	showWord   = "show"
)

// saysYesOrNo takes a plain yes or no of the person whose answer waits for it, and reports whether m is one.
func (a *actor) saysYesOrNo(m queue.Message) bool {
	if m.Kind != chat.Text || len(m.Attachments) > 0 || m.Origin != chat.Typed {
		return false
	}
	w, asker := a.proposed("", m.Accepted)
	if w.q == nil || asker != m.Sender.ID || a.unseen(w, m.Accepted) {
		return false
	}
	switch {
	case a.g.Texts.saysOnly(TextNo, m.Text): // first, should a word stand for both
		a.decideProposal(m, decision{verdict: agent.Denied})
	case a.g.Texts.saysOnly(TextYes, m.Text):
		a.decideProposal(m, decision{verdict: agent.Approved})
	default:
		return false
	}
	return true
}

// unseen says that people did not see yet at a time what the running turn asks them: a rate limit may hold that back. What
// they said then was about something else, such as a question in the answer's text. Of an earlier process's questions nobody
// knows; it had as much time to show them as it took to be started anew.
func (a *actor) unseen(w waiting, at time.Time) bool {
	if a.turn == nil || w.turn != a.turn.id || w.q.Asked.Before(a.turn.began) {
		return false
	}
	asked := a.turn.slot.Asked()
	return asked.IsZero() || asked.After(at)
}

// waiting is a proposal that nobody has decided, and where it was made.
type waiting struct {
	q      *proposal
	docket *docket
	turn   string
}

// proposed returns the proposal that what somebody said at a time is about, of the running turn or of one that an
// earlier process left, and who asked for it. An empty id means whichever waited then: what was said before is about
// something else, also when a restart reads it anew.
func (a *actor) proposed(id string, said time.Time) (waiting, chat.UserID) {
	if t := a.turn; t != nil {
		if q := t.docket.open(id); q != nil && (id != "" || !q.Asked.After(said)) {
			return waiting{q, &t.docket, t.id}, t.in.Sender.ID
		}
	}
	for _, rec := range a.left {
		r, err := readJournal(rec.Steps)
		if err != nil || rec.State != chat.TurnRunning {
			continue // whoever takes it up says so
		}
		d := &docket{proposals: r.proposals}
		if q := d.open(id); q != nil && (id != "" || !q.Asked.After(said)) {
			return waiting{q, d, rec.ID}, rec.User
		}
	}
	return waiting{}, ""
}

// decideProposal does what a person decided, should they be the one to decide.
func (a *actor) decideProposal(m queue.Message, d decision) {
	w, asker := a.proposed(d.id, m.Accepted)
	if w.q != nil && d.id == "" && a.unseen(w, m.Accepted) {
		w.q = nil // nobody decides what they have not seen
	}
	switch me := a.person(m.Inbound); {
	case w.q == nil && m.Kind == chat.Button:
		a.drop(m.Inbound) // it was decided while the button still stood
	case w.q == nil:
		a.say(m.Inbound, a.g.Texts[TextNoProposal])
	case m.Sender.ID != asker && (w.q.Personal || !a.g.door.Rules().Admin(me)):
		if a.g.refused.may(me.String() + " " + string(TextNotYours) + " " + w.q.ID) {
			a.say(m.Inbound, a.g.Texts[TextNotYours])
			return
		}
		a.drop(m.Inbound)
	case d.show:
		a.say(m.Inbound, codeBlock(cmp.Or(w.q.Whole, w.q.Text)))
	default:
		a.carryOut(m, w, asker, d)
	}
}

// carryOut stores a decision and tells the turn.
func (a *actor) carryOut(m queue.Message, w waiting, asker chat.UserID, d decision) {
	a.drop(m.Inbound) // first: a crash in between asks again, where a "yes" that stayed would be a question to the model
	if !w.docket.claim(w.q) {
		return // its time has just ended
	}
	if d.always && w.q.Standing {
		if err := a.g.Store.Consent(a.g.deliveries, a.conversation, asker, standingOf(w.q.Tool, w.q.Version)); err != nil {
			a.log.Error("a standing approval was not stored: it holds for this call only", slog.String("turn", w.turn), slog.Any("error", err))
		}
	}
	r := ruling{ID: w.q.ID, Verdict: d.verdict, By: a.person(m.Inbound).String(), Always: d.always && w.q.Standing, At: time.Now()}
	a.rule(a.g.deliveries, w.turn, w.q, r)
	for i, rec := range a.left {
		if step, err := stepOf(chat.StepDecided, w.q.call, r); err == nil && rec.ID == w.turn {
			a.left[i].Steps = append(slices.Clip(rec.Steps), step)
		}
	}
}

// inquiry is a question to a person: its lines stand below the text until it is answered.
type inquiry struct {
	text    string
	code    preview.Span // of text: what a model wrote
	actions []chat.Action
}

// status is what people see of it.
func (i inquiry) status() preview.Status {
	return preview.Status{Lines: strings.Split(i.text, "\n"), Code: i.code, Actions: i.actions, Urgent: true}
}
