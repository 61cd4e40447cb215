package gateway

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"time"

	"telex/agent"
	"telex/gateway/approval"
	"telex/gateway/preview"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// approvals returns the Approvals of a turn that is not running. A person can decide the proposals of a turn that is not
// running, but this turn can't ask people.
func (a *actor) approvals(turn string, asker chat.UserID) *approval.Approvals {
	return approval.New(approval.Options{
		Store: a.g.store.approvals, Log: a.log.With(slog.String("turn", turn)), Turn: turn, Conversation: a.conversation,
		Asker: chat.Person{Endpoint: a.conversation.Endpoint, User: asker}, Ahead: a.g.ahead(),
	})
}

// approver returns the Approvals of a turn that is about to run. A person can decide the proposals of a turn that is about to
// run, and this turn can ask people.
func (a *actor) approver(t *turn) *approval.Approvals {
	of := a.approvals(t.id, t.in.Sender.ID)
	of.Unattended, of.Timeout, of.Shutdown = t.in.Unattended, a.g.current().ApprovalTimeout, errShutdown
	of.Allowed = func() bool { return a.g.policy.Allows(a.conversation, t.in.Sender.ID) }
	of.Slash = func() string { return a.slash(t.in.To) }
	of.Show = func(p *approval.Proposal) { t.slot.SetStatus(t.progress.ask(a.inquiry(t.in.To, p))) }
	of.Hide = func() { t.slot.SetStatus(t.progress.answered()) }
	return of
}

// inquiry returns the question that asks people to decide a proposal.
func (a *actor) inquiry(to chat.Target, p *approval.Proposal) inquiry {
	how, slash := TextHow, cmp.Or(p.Slash, a.slash(to))
	if to.Kind != chat.Private {
		how = TextHowGroup
	}
	places := []string{"id", p.ID, "slash", slash, "how", a.g.texts().fill(how, "id", p.ID, "slash", slash)}
	out := a.g.texts().proposing(p.Text, places...)
	if p.Whole != "" || !preview.Shows(a.endpoint.account().out, to, a.endpoint.account().Streaming.Cursor, out.text, out.code) {
		places[len(places)-1] += " " + a.g.texts().fill(TextShow, "id", p.ID, "slash", slash)
		out = a.g.texts().proposing(p.Text, places...)
	}
	if a.endpoint.account().buttons {
		out.actions = approval.Buttons(p, a.g.texts()[TextApproveButton], a.g.texts()[TextDenyButton], a.g.texts()[TextAlwaysButton])
	}
	return out
}

// proposing returns the question that asks people to approve an action, with all placeholders filled in. The parameter
// what describes the action.
func (t Texts) proposing(what string, places ...string) inquiry {
	before, after, found := strings.Cut(t[TextApproval], "{what}")
	if !found {
		what = ""
	}
	text := fill(before, places...)
	code := preview.Span{From: len(text), To: len(text) + len(what)}
	return inquiry{text: text + what + fill(after, places...), code: code}
}

// inquiry is a question for approval. An inquiry is shown below the text of the reply until a person decides.
type inquiry struct {
	text    string
	code    preview.Span // range of text that describes the tool call; a model may have written this part
	actions []chat.Action
}

// status returns the preview status that shows a question for approval in a reply.
func (i inquiry) status() preview.Status {
	return preview.Status{Lines: strings.Split(i.text, "\n"), Code: i.code, Actions: i.actions, Urgent: true}
}

// codeBlock returns a Markdown code block that shows any text literally.
func codeBlock(text string) string {
	mark := backticks(text, 3)
	return mark + "\n" + strings.TrimSuffix(text, "\n") + "\n" + mark
}

// inCode returns Markdown that shows one line literally: nothing in it becomes a link, a mention or a command.
func inCode(line string) string {
	mark := backticks(line, 1)
	if len(mark) > 1 { // spaces separate the backticks inside the line from the delimiters
		line = " " + line + " "
	}
	return mark + line + mark
}

// backticks returns a sequence of backticks that is longer than every sequence of backticks in the text. The parameter
// least is the minimum length of the result.
func backticks(text string, least int) string {
	run, longest := 0, least-1
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// saysYesOrNo handles a message in which the asker answers an open question for approval with a plain yes or no.
// saysYesOrNo reports whether m is such an answer.
func (a *actor) saysYesOrNo(m queue.Message) bool {
	if m.Kind != chat.Text || len(m.Attachments) > 0 || m.Origin != chat.Typed {
		return false
	}
	of, p := a.proposed("", m.Accepted)
	if p == nil || of.Asker.User != m.Sender.ID || a.unseen(of, p, m.Accepted) {
		return false
	}
	switch {
	case approval.SaysNo(a.g.texts()[TextNo], m.Text): // checked first, because an operator may have put a word into both lists
		a.decideProposal(m, approval.Answer{Verdict: agent.Denied})
	case approval.SaysYes(a.g.texts()[TextYes], m.Text):
		a.decideProposal(m, approval.Answer{Verdict: agent.Approved})
	default:
		return false
	}
	return true
}

// unseen reports whether the running turn's question for approval was not yet visible at the given time, for example because
// of a rate limit. A "yes" that a person sent before people could see the question answers something else, such as a question
// in the text of the reply. If an earlier process asked the question, the method unseen returns false, because people had time
// to see the question during the restart.
func (a *actor) unseen(of *approval.Approvals, p *approval.Proposal, at time.Time) bool {
	if a.turn == nil || of != a.turn.approvals || p.Asked.Before(a.turn.began) {
		return false
	}
	asked := a.turn.slot.Asked()
	return asked.IsZero() || asked.After(at)
}

// proposed returns the open proposal that a person's message refers to. proposed searches the running turn, and the turns that
// an earlier process began. If no proposal matches, the method proposed returns nil.
func (a *actor) proposed(id string, said time.Time) (*approval.Approvals, *approval.Proposal) {
	if t := a.turn; t != nil {
		if p := t.approvals.Find(id, said); p != nil {
			return t.approvals, p
		}
	}
	for _, rec := range a.left {
		of := a.approvals(rec.ID, rec.User)
		if rec.State != chat.TurnRunning || of.Replay(rec.Steps) != nil {
			continue // the error is reported when the turn is resumed
		}
		if p := of.Find(id, said); p != nil {
			return of, p
		}
	}
	return nil, nil
}

// decideProposal applies a person's decision if the person may decide.
func (a *actor) decideProposal(m queue.Message, answer approval.Answer) {
	of, p := a.proposed(answer.ID, m.Accepted)
	if p != nil && answer.ID == "" && a.unseen(of, p, m.Accepted) {
		p = nil // nobody can decide a question that was not visible yet
	}
	switch me := a.person(m.Inbound); {
	case p == nil && m.Kind == chat.Button:
		a.drop(m.Inbound) // another answer decided the question before the platform removed the button
	case p == nil:
		a.say(m.Inbound, a.g.texts()[TextNoProposal])
	case m.Sender.ID != of.Asker.User && (p.Personal || !a.g.policy.Rules().Admin(me)):
		if a.g.refused.Allow(me.String() + " " + string(TextNotYours) + " " + p.ID) {
			a.say(m.Inbound, a.g.texts()[TextNotYours])
			return
		}
		a.drop(m.Inbound)
	case answer.Show:
		a.say(m.Inbound, codeBlock(cmp.Or(p.Whole, p.Text)))
	default:
		a.carryOut(m, of, p, answer)
	}
}

// carryOut stores a person's decision about a proposal and publishes the decision to the turn.
func (a *actor) carryOut(m queue.Message, of *approval.Approvals, p *approval.Proposal, answer approval.Answer) {
	// The message is dropped before Decide, so after a crash between the two calls, people are asked again. In the other order, a
	// crash could leave the message "yes" in the store, and the next process would pass it to the model as a question.
	a.drop(m.Inbound)
	step, err := of.Decide(a.g.deliveries, p, answer, a.person(m.Inbound))
	if err != nil {
		return // another answer or the timeout has just decided the proposal
	}
	for i, rec := range a.left {
		if rec.ID == of.Turn {
			a.left[i].Steps = append(slices.Clip(rec.Steps), step)
		}
	}
}

// inTheWay handles a message that does not decide the open question for approval. inTheWay tells the asker, once per question,
// what happens to the message. If the parameter interrupts is true, the message has interrupted the turn, and the bot
// withdraws the question. If the parameter interrupts is false, the message waits until a person has decided the question.
func (a *actor) inTheWay(m queue.Message, p *approval.Proposal, interrupts bool) {
	line := a.g.texts()[TextDecideFirst]
	if interrupts {
		line = a.g.texts().fill(TextWithdrawn, "what", inCode(clip(p.Text)))
	}
	if a.turn.mentioned != p.ID {
		a.turn.mentioned = p.ID
		a.answer(preview.Ending{Text: line}, m.To)
	}
}

// seenQuestion returns the proposal about which the running turn asks, if the sender of a message is the turn's asker
// and could see the question. seenQuestion returns nil if no question is open, if somebody else asked, or if the
// question was not visible yet.
func (a *actor) seenQuestion(m queue.Message) *approval.Proposal {
	if a.turn == nil || m.Kind != chat.Text {
		return nil
	}
	of, p := a.proposed("", m.Accepted)
	if of != a.turn.approvals || of.Asker.User != m.Sender.ID || a.unseen(of, p, m.Accepted) {
		return nil
	}
	return p
}
