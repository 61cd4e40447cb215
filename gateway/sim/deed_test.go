package sim

import (
	"slices"
	"strings"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
)

// restartGrace is the minimum time for which a question stays open after a new process has continued the question's
// turn.
const restartGrace = time.Minute

// inTime reports whether message m arrived before the time limit of question q ended. Only a running process can end a
// question, so a time limit counts only if a process was running when the limit ended.
func (w *world) inTime(m *written, q *question) bool {
	for i, b := range q.turn.begun {
		if next := i + 1; next < len(q.turn.begun) && q.turn.begun[next].at.Before(q.filed) {
			continue // this process no longer ran the turn when the question was stored
		}
		until := q.filed.Add(w.s.approval)
		if grace := b.at.Add(restartGrace); i > 0 && !b.at.Before(q.filed) && grace.After(until) {
			until = grace
		}
		if b.life.diedAt(until) || b.life.silent(until) || !b.life.stopping.IsZero() && !b.life.stopping.After(until) || w.cutShort(q, until) {
			continue
		}
		return !m.accepted.After(until)
	}
	return true
}

// cutShort reports whether somebody may have ended a turn before the given time, while the turn waited for an answer to
// question q. After the end of its turn, no process checks the time limit of question q.
func (w *world) cutShort(q *question, until time.Time) bool {
	if w.editedBefore(q, until) {
		return true
	}
	for i, m := range w.messages {
		if m.place != q.turn.place || m.accepted.IsZero() || m.accepted.Before(q.filed) || m.accepted.After(until) {
			continue
		}
		if w.ends(m, w.asker(q.turn)) || m.kind == "retry" || w.interrupts(i) && w.s.busy == gateway.Interrupt {
			return true
		}
	}
	return false
}

// editedBefore reports whether question q was stored after a person had edited a message that the turn answers, and
// before the turn restarted because of this edit. The edit either ended the question, or the platform delivered the
// edit too late.
func (w *world) editedBefore(q *question, until time.Time) bool {
	return w.edits(q.turn, until) > q.revised
}

// edits returns how often people edited the messages of a turn until the given time.
func (w *world) edits(t *turnLog, until time.Time) (n int) {
	for _, m := range t.messages {
		for _, at := range w.messages[m].edits {
			if !at.After(until) {
				n++
			}
		}
	}
	return n
}

// standingApproval is a stored approval of all future calls of a tool.
type standingApproval struct {
	place int
	user  chat.UserID
	tool  string
	at    time.Time
}

// noteConsent checks that a standing approval, which the gateway has stored, was given by a person who had the right to
// do so.
func (w *world) noteConsent(c chat.Conversation, u chat.UserID, tool string) {
	tool, _, _ = strings.Cut(tool, "@") // the version behind the @ does not matter, since tools do not change in a simulation
	approval := standingApproval{w.placeOf(c.Chat, c.Thread), u, tool, time.Now()}
	w.consents = append(w.consents, approval)
	w.note("all calls of %s by %s are approved in place %d", tool, u, approval.place)
	w.counts.add("standing approvals", 1)
	for _, q := range w.questions {
		if q.turn.place == approval.place && q.tool == tool && w.asker(q.turn) == u && slices.ContainsFunc(w.messages, func(m *written) bool {
			return m.always && w.decides(m, q, agent.Approved)
		}) {
			return
		}
	}
	w.complain("nobody approved all calls of %s", tool)
}

// hasStandingApproval reports whether the asker of a turn had approved all future calls of a tool in the turn's
// conversation.
func (w *world) hasStandingApproval(t *turnLog, tool string) bool {
	return slices.ContainsFunc(w.consents, func(c standingApproval) bool {
		gone := w.forgottenBy(t.place, c.user)
		return c.place == t.place && c.user == w.asker(t) && c.tool == tool && (!gone.After(c.at) || !gone.Before(time.Now()) || len(w.moved) > 0 && !w.s.private(t.place))
	})
}

// questionAbout returns the question for approval about a tool call, or nil if nobody was asked.
func (w *world) questionAbout(key string) *question {
	for _, q := range w.questions {
		if q.key == key {
			return q
		}
	}
	return nil
}

// judgeEffect reports a violation if tool call d must not take effect now.
func (w *world) judgeEffect(d *deed) {
	t := w.turns[d.turn]
	if t == nil || t.over() {
		w.complain("F38: %s takes effect while its turn is not under way", d.key)
	}
	if d.tool == look {
		if n := len(d.effects); n > 1 && !d.effects[n-2].stopped && (d.effects[n-2].life.diedAt(time.Now()) || d.effects[n-2].life.isOver()) {
			w.complain("%s is run again, though a process died while it ran", d.key)
		}
		return
	}
	if len(d.effects) > 1 {
		w.complain("%s takes effect for the %dth time", d.key, len(d.effects))
	}
	if d.undone {
		w.complain("%s takes effect after the model was told that it was not done", d.key)
	}
	if w.stoppedBefore(t, time.Now()) {
		w.complain("%s takes effect after its turn was stopped", d.key)
	}
	q := w.questionAbout(d.key)
	switch {
	case q != nil && !q.ruled.IsZero() && q.verdict != agent.Approved:
		w.complain("%s takes effect, though question %s was decided otherwise", d.key, q.id)
	case q != nil && w.decider(q, agent.Approved) != nil:
		w.counts.add("effects that were approved", 1)
		if m := w.decider(q, agent.Approved); m.about == "" && (q.seen.IsZero() || m.wrote.Before(q.seen)) {
			w.except(shownBefore)
		}
	case w.hasStandingApproval(t, d.tool):
		w.counts.add("effects that were approved once for all", 1)
	default:
		w.complain("%s takes effect, and nobody approved it", d.key)
	}
}

// stoppedBefore reports whether the process that runs turn t had received a command to stop the turn before the given
// time.
func (w *world) stoppedBefore(t *turnLog, at time.Time) bool {
	if len(w.moved) > 0 && !w.s.private(t.place) {
		w.except(memoryMoved)
		return false
	}
	return slices.ContainsFunc(w.messages, func(m *written) bool {
		other := m.stops != "" && m.stops != t.id
		return m.place == t.place && !other && w.ends(m, w.asker(t)) && m.accepted.After(t.begun[0].at) && !m.heard.IsZero() && m.heard.Before(at)
	})
}

// judgeAnswers checks that exactly one result follows each tool call in a history, and that the result says correctly
// what the call did.
func (w *world) judgeAnswers(history []agent.Message, what string) {
	for i := 0; i < len(history); i++ {
		m := history[i]
		if m.Role == agent.ToolRole {
			w.complain("an answer to no call is in the history %s: %q", what, m.Text)
		}
		for n, c := range m.ToolCalls {
			if i+1 == len(history) || history[i+1].Role != agent.ToolRole || history[i+1].ToolCallID != c.ID {
				w.complain("call %d of %d has no answer in the history %s: %s", n, len(m.ToolCalls), what, c.Arguments)
				break
			}
			i++
			w.judgeToldResult(deedName.FindString(c.Arguments), history[i].Text, what)
		}
	}
}

// judgeToldResult checks that the result of a tool call in the history says correctly what the call did.
func (w *world) judgeToldResult(key, text, what string) {
	d := w.deeds[key]
	if d == nil {
		w.complain("no model made the call %q in the history %s", key, what)
		return
	}
	if w.turns[d.turn].void { // a person erased the turn's messages, so the store no longer contains its decisions
		return
	}
	lie := func() {
		w.complain("of %s, which had %d effects, the history %s says %q", key, len(d.effects), what, text)
	}
	q, reads := w.questionAbout(key), d.tool == look
	switch {
	case text == "done "+key && !d.fails, text == "Error: no luck." && d.fails:
		if len(d.effects) == 0 {
			lie()
		}
	case strings.HasPrefix(text, "Not done: the person denied"):
		w.notDone(d, "denied")
		if reads || len(d.effects) > 0 || q == nil || q.verdict != agent.Denied || q.ruled.IsZero() {
			lie()
		}
	case strings.HasPrefix(text, "Not done: nobody approved"):
		w.notDone(d, "nobody decided")
		if reads || len(d.effects) > 0 || q == nil || q.verdict != agent.TimedOut {
			lie()
		}
	case strings.HasPrefix(text, "Not done: the turn ended"):
		w.notDone(d, "not run")
		if !reads && len(d.effects) > 0 {
			lie()
		}
	case strings.HasPrefix(text, "Error: it is not known"):
		d.unknown = true
		w.counts.add("answers: unknown", 1)
		switch {
		case reads:
			if !slices.ContainsFunc(w.turns[d.turn].begun, func(b beginning) bool { return b.life.diedAt(time.Now()) || b.life.isOver() }) {
				lie()
			}
		case w.decisionFor(d) == nil && !w.hasStandingApproval(w.turns[d.turn], d.tool):
			lie()
		}
	case text == "Error: the turn ended before there was a result." && reads:
	default:
		lie()
	}
}

// decisionFor returns the message with which a person approved a tool call, or nil.
func (w *world) decisionFor(d *deed) *written {
	if q := w.questionAbout(d.key); q != nil {
		return w.decider(q, agent.Approved)
	}
	return nil
}

// notDone records that the model was told that a tool call was not made.
func (w *world) notDone(d *deed, how string) {
	d.undone = d.undone || d.tool != look
	w.counts.add("answers: "+how, 1)
}

// judgeDeeds checks, at the end of the schedule, that no message that decides a question was lost and that approved
// tool calls were made.
func (w *world) judgeDeeds() {
	for _, q := range w.questions {
		d, t := w.deeds[q.key], q.turn
		switch {
		case q.over(), w.editedBefore(q, time.Now()):
		case q.ruled.IsZero():
			w.judgeHeard(q)
		case q.verdict == agent.Approved && len(d.effects) == 0 && !d.unknown && (!w.broken(t) || w.hadTime(q)):
			w.complain("%s was approved with question %s, and nothing came of it", q.key, q.id)
		}
	}
	for _, d := range w.deeds {
		if t := w.turns[d.turn]; d.tool != look && len(d.effects) > 0 && !t.released.IsZero() {
			w.complain("turn %s was released, though %s had taken effect", t.id, d.key)
		}
	}
}

// broken reports whether turn t may have ended without a result of its own, for example because somebody stopped the
// turn.
func (w *world) broken(t *turnLog) bool {
	return t.void || t.undone || !t.released.IsZero() || w.interrupted(t, &run{}) || len(t.begun) >= 3 || w.resumed(t) > w.s.maxAge
}

// hadTime reports whether there was enough time to make a tool call after its approval. The process that ran the turn
// when the call was approved must have run long enough afterwards, and nothing may have ended the turn meanwhile.
func (w *world) hadTime(q *question) bool {
	if !slices.ContainsFunc(q.turn.begun, func(b beginning) bool { return !b.at.After(q.ruled) && !b.life.diedAt(q.ruled) }) {
		return false // no process ran the turn, because it waited for another turn of a chat that got a new id
	}
	slack := 10 * time.Second
	for _, d := range w.deeds {
		if d.turn == q.turn.id {
			slack += d.takes
		}
	}
	until := q.ruled.Add(slack)
	for _, l := range w.lives {
		if l.diedAt(until) && !l.diedAt(q.ruled.Add(-time.Nanosecond)) || !l.stopping.IsZero() && !l.stopping.Before(q.ruled) && !l.stopping.After(until) {
			return false
		}
	}
	for i, m := range w.messages {
		if m.place == q.turn.place && !m.accepted.IsZero() && !m.heardLast.Before(q.filed) && !m.accepted.After(until) && (w.ends(m, w.asker(q.turn)) || m.kind == "retry" || w.interrupts(i) && w.s.busy == gateway.Interrupt) {
			return false
		}
	}
	return true
}

// judgeHeard checks that no message that decides question q was lost. A message was lost if a process accepted the
// message, kept running, and dropped the message without storing a decision.
func (w *world) judgeHeard(q *question) {
	if w.broken(q.turn) {
		return
	}
	for _, m := range w.messages {
		meant := w.decides(m, q, agent.Approved) || w.decides(m, q, agent.Denied)
		if meant && !m.dropped.IsZero() && !m.droppedBy.diedAt(m.dropped) && m.dropped.Before(q.turn.ended) {
			w.complain("what %s said about question %s was taken, and nothing was decided", m.user, q.id)
		}
	}
}

// judgeKnown checks that the history of a conversation contains every tool call that took effect there, unless the call
// was removed from the history.
func (w *world) judgeKnown(place int, history []agent.Message) {
	var keys []string
	for _, m := range history {
		for _, c := range m.ToolCalls {
			keys = append(keys, deedName.FindString(c.Arguments))
		}
	}
	for _, d := range w.deeds {
		t := w.turns[d.turn]
		if t == nil || t.place != place || d.tool == look || len(d.effects) == 0 || w.wiped(t) || slices.Contains(keys, d.key) {
			continue
		}
		w.complain("%s has taken effect, and the history of place %d does not tell", d.key, place)
	}
}

// wiped reports whether the history may no longer contain the entries of a turn, because they were removed or
// summarized.
func (w *world) wiped(t *turnLog) bool {
	if t.void || t.undone || t.ended.IsZero() || w.lost(t) || slices.ContainsFunc(w.order, func(o *turnLog) bool { return o.replaces == t.id }) {
		return true
	}
	if slices.ContainsFunc(w.order, func(o *turnLog) bool {
		return o.place == t.place && slices.ContainsFunc(o.runs, func(r *run) bool { return r.answer.folds })
	}) {
		return true
	}
	return slices.ContainsFunc(w.messages, func(m *written) bool {
		return m.place == t.place && m.user != stranger && slices.Contains([]string{"new", "undo", "forget"}, m.kind) && !m.accepted.Before(t.begun[0].at)
	})
}

// judgeScreen checks that the messages of an ended turn show only its reply. The messages must show no question for
// approval, no button and no line about tools.
func (w *world) judgeScreen(t *turnLog) {
	for _, m := range w.standing(t) {
		text, signs := m.text(), false
		for _, sign := range []string{questionMark, "⚙", "⏸", "✓ Do", "✗ Do"} {
			signs = signs || strings.Contains(text, sign)
		}
		if signs || len(m.now().Actions) > 0 {
			w.complain("in %s of turn %s stays what is over: %q with %v", m.id, t.id, text, m.now().Actions)
		}
	}
	for _, m := range w.person.apart(t.id) {
		caps := w.s.kind.caps
		w.counts.add("questions that stand apart", 1)
		switch {
		case !m.stands() || w.excused(m):
		case !caps.Edit && !caps.Delete:
			w.counts.add("questions that stay: nothing can be changed there", 1)
			w.except(questionStays)
		case !caps.Delete && (len(m.now().Actions) == 0 || m.frozen):
			w.except(questionStays)
		default:
			w.complain("question %s of turn %s stays: %q with %v", m.id, t.id, m.text(), m.now().Actions)
		}
	}
}
