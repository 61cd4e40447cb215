package sim

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/markup"
)

// left returns the ids of the turns in the store that have not ended, and of the messages that were not answered.
func (w *world) left() (ids []string) {
	turns, _ := w.store.Unfinished(nil) //nolint:staticcheck // the store in memory needs no context
	pending, _ := w.store.Pending(nil)  //nolint:staticcheck // the store in memory needs no context
	for _, t := range turns {
		ids = append(ids, "turn "+t.ID)
	}
	for _, p := range pending {
		ids = append(ids, "message "+string(p.Message.ID))
	}
	return ids
}

// working reports whether a turn is running in the chat of call c.
func (w *world) working(c *call) bool {
	home := strings.TrimSuffix(string(c.to.Chat), "moved")
	return slices.ContainsFunc(w.order, func(t *turnLog) bool {
		return !t.over() && strings.TrimSuffix(string(w.target(t.place).Chat), "moved") == home
	})
}

// judge makes all checks at the end of a schedule: it checks the visible messages, the stored history, and what became
// of every message that people wrote.
func (w *world) judge() {
	if left := w.left(); len(left) > 0 {
		w.complain("left in the store: %v", left)
	}
	w.judgeMessages()
	w.judgeOrder()
	for _, t := range w.order {
		w.judgeTurn(t)
	}
	for _, m := range w.person.messages {
		if t := w.turns[m.turn]; t == nil {
			w.complain("message %s belongs to no turn: %q", m.id, m.text())
		}
	}
	w.judgeDeeds()
	w.judgeRepeats()
	w.judgeRemembered()
	w.judgePieces()
	w.judgeCounted()
	w.summarize()
}

// judgeMessages checks that the gateway lost no accepted message of a person, and answered no message twice.
func (w *world) judgeMessages() {
	for i, m := range w.messages {
		var answers []*turnLog
		for _, t := range w.order {
			if slices.Contains(t.messages, i) && t.released.IsZero() {
				answers = append(answers, t)
			}
		}
		switch {
		case m.unnamed && !w.judgeUnnamed(m):
		case m.user == stranger && m.accepted.IsZero():
			// The gateway may ignore strangers; judgeStored checks whether a stranger may get a pairing code.
		case m.accepted.IsZero():
			w.complain("F43: m%d was never accepted", i)
		case len(answers) > 1:
			w.complain("m%d is answered by %d turns", i, len(answers))
		case len(answers) == 0 && m.dropped.IsZero():
			w.complain("m%d is lost", i)
		case len(answers) == 0 && !w.mayDrop(i):
			w.complain("m%d is dropped without a reason", i)
		}
	}
}

// judgeOrder checks that the gateway answers the questions of a conversation in the order of their arrival (F39), and
// that the answers appear in this order.
func (w *world) judgeOrder() {
	for place := range w.s.places {
		last := time.Time{}
		var before *turnLog
		for _, t := range w.order {
			if t.place != place || !t.released.IsZero() || len(t.runs) == 0 || w.commanded(t) {
				continue
			}
			for _, n := range t.messages[:t.first] {
				switch at := w.messages[n].accepted; {
				case w.messages[n].joined:
					// A message that joined a running turn has the turn's place in the order, even if the turn was
					// withdrawn later.
				case at.Before(last) && !w.disturbed(t):
					w.complain("m%d is answered after a later one", n)
				default:
					last = at
				}
			}
			if before != nil && !w.disturbed(before) && !w.disturbed(t) && !w.overtaken(before, t) {
				w.judgePlace(before, t)
			}
			before = t
		}
	}
}

// judgePlace checks that the messages of the earlier answer are above those of the later answer.
func (w *world) judgePlace(above, below *turnLog) {
	for _, a := range w.standing(above) {
		for _, b := range w.standing(below) {
			if a.made.After(b.made) {
				switch {
				case a.mixed != noMixUp || b.mixed != noMixUp:
					w.except(mixedUp)
					continue
				case a.by.fault == cutLate:
					w.except(tookEffectLate)
					continue
				}
				w.complain("%s of turn %s stands below %s of the later turn %s", a.id, above.id, b.id, below.id)
				return
			}
		}
	}
}

const (
	// overtakenAfter is how many calls of a reply must fail in a row before the next reply no longer waits for it.
	overtakenAfter = 4
	// hung is the minimum duration of a call that counts as hanging.
	hung = 3 * time.Second
)

// overtaken reports whether the later reply may appear above the earlier one. The later reply may come first if the
// platform refused the earlier reply again and again (D14). The later reply may also come first if the bot had to
// replace a message of the earlier reply, because the platform refused to edit this message.
func (w *world) overtaken(above, below *turnLog) bool {
	all := w.standing(below)
	if len(all) == 0 {
		return false
	}
	began, failures, parked := all[0].by.at, 0, false
	for _, c := range w.tries(above) {
		if c.op == chat.OpTyping && c.err == nil {
			continue
		}
		hangs := c.learned().After(began) && began.Sub(c.at) >= hung
		if late := !c.learned().Before(began); late && (failures > 0 || hangs || parked) {
			if w.waived(above) {
				return true
			}
			if c.failed(chat.TooLong) || c.failed(chat.Frozen) || c.failed(chat.Gone) {
				w.except(overtakenByNext)
				return true
			}
		}
		switch {
		case hangs:
			failures++
		case c.learned().After(began):
		case c.err == nil && !c.done.IsZero() && c.op != chat.OpFind:
			failures = 0
		default:
			if failures++; failures >= overtakenAfter {
				w.except(overtakenByNext)
				return true
			}
		}
		if !c.learned().After(below.begun[0].at) {
			// The later reply began after failures of the earlier one, so it may come first, even if the failures have
			// ended when it appears.
			parked = failures > 0
		}
	}
	return false
}

// tries returns the calls of a reply, and the typing indicators in its chat, with which the reply may have tested
// whether the platform responds. The gateway sends a typing indicator as a test before the last permitted create call
// for a message.
func (w *world) tries(t *turnLog) []*call {
	if len(t.calls) == 0 {
		return nil
	}
	from := t.calls[0].at
	if !t.decided.IsZero() && t.decided.Before(from) {
		from = t.decided
	}
	all := slices.Concat(w.calls, w.failed)
	slices.SortStableFunc(all, func(a, b *call) int { return a.at.Compare(b.at) })
	return slices.DeleteFunc(all, func(c *call) bool {
		return c.turn != t.id && (c.op != chat.OpTyping || c.to != t.calls[0].to || c.at.Before(from))
	})
}

// disturbed reports whether the order of a turn's messages proves nothing, because a person deleted some of them, the
// platform refused edits, or the chat got a new id.
func (w *world) disturbed(t *turnLog) bool {
	if len(w.moved) > 0 && !w.s.private(t.place) {
		w.except(orderMoved)
		return true
	}
	taken := slices.ContainsFunc(w.person.of(t.id), func(m *message) bool { return m.deletedBy == "person" || m.frozen })
	if taken {
		w.except(orderTaken)
	}
	return taken
}

// standing returns the visible messages of a turn's reply, except those for which the method excused returns true.
func (w *world) standing(t *turnLog) (out []*message) {
	for _, m := range w.person.of(t.id) {
		if m.stands() && !w.excused(m) {
			out = append(out, m)
		}
	}
	return out
}

// excused reports whether message m may stay in the chat although it does not belong to the correct reply. A message
// may stay if no process can know that the message exists, or if the platform allows no change of the message.
func (w *world) excused(m *message) bool {
	switch {
	case w.moved[m.chat] != "" && (w.follows(m) || m.preview() || w.releasedSince(m)):
		w.except(leftBehind)
	case m.by.fault == nameless && (m.versions[0].Preview || w.resumedBy(m) || w.stuckAbove(m)):
		w.except(withoutID)
	case m.frozen && !w.s.kind.caps.Delete:
		w.except(unchangeable)
	case m.frozen && w.turns[m.turn] != nil && w.givenUp(w.turns[m.turn]):
		w.except(givenUp)
	case m.frozen && w.refusesFinal(m), w.refusesAll(m):
		w.except(refusedContent)
	case m.by.unknown() && !m.known && !w.s.kind.reconciles():
		w.except(unknownCreate)
	default:
		return false
	}
	return true
}

// refusesFinal reports whether the platform refused the final text of m's reply.
func (w *world) refusesFinal(m *message) bool {
	return slices.ContainsFunc(w.calls, func(c *call) bool { return c.turn == m.turn && c.fault == badContent && !c.m.Preview })
}

// refusesAll reports whether the platform refused both an edit of m to the final text and an edit that only removes the
// cursor of m. If m shows no text of the reply, or is surplus and can't be deleted, the gateway makes only the edit
// that removes the cursor.
func (w *world) refusesAll(m *message) bool {
	times := 0
	for _, c := range w.calls {
		if c.op == chat.OpEdit && c.id == m.id && c.to.Chat == m.chat && !c.m.Preview && (c.failed(chat.Rejected) || c.failed(chat.TooLong)) {
			if times++; slices.Contains([]string{"–", "…"}, c.m.Text) || c.m.Text+w.s.config.Cursor == m.text() {
				times++
			}
		}
	}
	return times > 1 && w.refusesFinal(m)
}

// stuckAbove reports whether a message of m's reply could not be edited any more. If the platform no longer allows
// edits of a message, the gateway sends the message and all later messages of the reply again.
func (w *world) stuckAbove(m *message) bool {
	return slices.ContainsFunc(w.person.of(m.turn), func(o *message) bool { return o.frozen })
}

// follows reports whether the reply to which m belongs continues under the new id of its chat.
func (w *world) follows(m *message) bool {
	return slices.ContainsFunc(w.person.of(m.turn), func(o *message) bool { return o.chat == w.moved[m.chat] })
}

// releasedSince reports whether the turn of m was withdrawn after its chat had got a new id.
func (w *world) releasedSince(m *message) bool {
	t := w.turns[m.turn]
	return t != nil && t.released.After(w.movedAt)
}

// resumedBy reports whether another process than the one that created m continued the turn of m.
func (w *world) resumedBy(m *message) bool {
	t := w.turns[m.turn]
	return t != nil && t.begun[len(t.begun)-1].life != m.by.life
}

// judgeTurn checks that the visible messages of a turn show one of the replies that are allowed.
func (w *world) judgeTurn(t *turnLog) {
	if !t.released.IsZero() {
		if got := w.standing(t); len(got) > 0 && !w.waived(t) {
			w.complain("turn %s was released, yet %s stands: %q", t.id, got[0].id, got[0].text())
		}
		if !w.waived(t) {
			w.judgeScreen(t)
		}
		return
	}
	if t.ended.IsZero() {
		if !slices.Contains(w.left(), "turn "+t.id) {
			w.complain("turn %s never ended", t.id)
		}
		return
	}
	w.judgeAsked(t)
	if w.commanded(t) && len(t.runs) > 0 {
		w.complain("the model is asked to answer a command: turn %s", t.id)
	}
	w.judgeScreen(t)
	w.judgeToldOf(t)
	for _, m := range w.standing(t) {
		if c := w.s.config.Cursor; c != "" && strings.HasSuffix(m.text(), c) {
			w.complain("a cursor stays in %s of turn %s: %q", m.id, t.id, m.text())
		}
		if m.live {
			w.complain("D13: the stream %s of turn %s was never stopped", m.id, t.id)
		}
	}
	if w.waived(t) {
		w.judgeWaived(t)
		return
	}
	readings, verdicts := w.readings(t), w.verdicts(t)
	var allowed []string
	for _, v := range verdicts {
		if slices.ContainsFunc(readings, v.accepts) {
			w.counts.add("reply: "+v.name, 1)
			return
		}
		allowed = append(allowed, v.String())
	}
	r := readings[0]
	w.complain("D1: of turn %s the person sees\n\t%q\nand in a file %q\nallowed is\n\t%s", t.id, r.text, r.file, strings.Join(allowed, "\n\t"))
}

// rendered returns the text that people would see if src, which is Markdown, were shown in one message. White space is
// left out.
func (w *world) rendered(src string, cut bool) string {
	var text strings.Builder
	for _, p := range markup.Layout(src, markup.Options{Dialect: w.s.measure.dialect(), Limit: 1 << 30, Open: cut}) {
		text.WriteString(p.Rendered.Text)
	}
	return squeeze(text.String())
}

// words matches the complete words of the model's answers.
var words = regexp.MustCompile(`a\d+w\d+x`)

// texts returns the gateway's lines with a fixed text. These lines are short, so that no line needs more than one
// message.
func texts() gateway.Texts {
	own := map[string]string{}
	for k, line := range map[gateway.TextKey]string{
		gateway.TextHelp: "Write to me and I answer.", gateway.TextPair: "Your code: {code}", gateway.TextStatus: "Now: {state}",
		gateway.TextUsage: "Used: {here}", gateway.TextModels: "By whichever there is.",
		gateway.TextApproval: questionMark + "\n{what}\n{slash}approve {id}",
	} {
		own[string(k)] = line
	}
	return gateway.DefaultTexts().With(own)
}

// fixed returns the gateway's lines with these keys, each only up to its first variable value, without white space.
func fixed(keys ...gateway.TextKey) (lines []string) {
	all := texts()
	for _, k := range keys {
		before, _, _ := strings.Cut(all[k], "{")
		lines = append(lines, squeeze(before))
	}
	return lines
}
