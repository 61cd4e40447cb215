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

// left returns the ids of unfinished turns and unanswered messages in the store.
func (w *world) left() (ids []string) {
	turns, _ := w.store.Unfinished(nil) //nolint:staticcheck // a Memory needs no context
	pending, _ := w.store.Pending(nil)  //nolint:staticcheck // a Memory needs no context
	for _, t := range turns {
		ids = append(ids, "turn "+t.ID)
	}
	for _, p := range pending {
		ids = append(ids, "message "+string(p.Message.ID))
	}
	return ids
}

// working reports whether a turn in the call's chat is running.
func (w *world) working(c *call) bool {
	home := strings.TrimSuffix(string(c.to.Chat), "moved")
	return slices.ContainsFunc(w.order, func(t *turnLog) bool {
		return !t.over() && strings.TrimSuffix(string(w.target(t.place).Chat), "moved") == home
	})
}

// judge checks the visible messages at the end, and the outcome of every question.
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

// judgeMessages checks each message that people wrote: no accepted message is lost, and none is answered twice.
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
		case m.user == stranger && m.accepted.IsZero(): // a stranger may be ignored; judgeStored checks whether one may get a pairing code
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

// judgeOrder checks that questions are answered in the order of arrival (F39), and that the answers appear in that
// order.
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
				case w.messages[n].joined: // a message that joined a running turn counts with that turn, even if the turn was withdrawn later
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

// judgePlace checks that one answer appears above the other.
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
	// overtakenAfter is how many calls of a reply must fail in a row before the next reply no longer waits.
	overtakenAfter = 4
	// hung is the minimum duration of a call that counts as hanging.
	hung = 3 * time.Second
)

// overtaken reports whether the next reply may appear before a reply that could not be shown. Either the platform
// refused the reply again and again (D14), or one of its messages could not be changed to its final text, and another
// message replaced it.
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
			parked = failures > 0 // the next reply began after failures of this one, so it may come first even if the failures are over when it appears
		}
	}
	return false
}

// tries returns the calls of a reply, and the calls that may have tested for it whether the platform responds. A create
// with only one attempt left waits until the platform responds.
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

// disturbed reports whether a person or the platform removed messages of a turn. Then the order of its messages proves
// nothing.
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

// standing returns the undeleted messages of a turn's reply, without those that the design excuses.
func (w *world) standing(t *turnLog) (out []*message) {
	for _, m := range w.person.of(t.id) {
		if m.stands() && !w.excused(m) {
			out = append(out, m)
		}
	}
	return out
}

// excused reports whether a message may stay beside the reply, because no process can know of it or change it.
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

// refusesFinal reports whether the platform refused the text that should replace m.
func (w *world) refusesFinal(m *message) bool {
	return slices.ContainsFunc(w.calls, func(c *call) bool { return c.turn == m.turn && c.fault == badContent && !c.m.Preview })
}

// refusesAll reports whether the platform refused both the final text for m and an edit that only removes the cursor of
// m. If a message shows no text of the reply, or is surplus and can't be deleted, only the edit that removes the cursor
// counts.
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

// stuckAbove reports whether a message of m's reply could not be edited any more. Such a message is sent again, and
// therefore all messages after it.
func (w *world) stuckAbove(m *message) bool {
	return slices.ContainsFunc(w.person.of(m.turn), func(o *message) bool { return o.frozen })
}

// follows reports whether the reply of m continues in the new chat after a move.
func (w *world) follows(m *message) bool {
	return slices.ContainsFunc(w.person.of(m.turn), func(o *message) bool { return o.chat == w.moved[m.chat] })
}

// releasedSince reports whether the reply of m was withdrawn after its chat had moved.
func (w *world) releasedSince(m *message) bool {
	t := w.turns[m.turn]
	return t != nil && t.released.After(w.movedAt)
}

// resumedBy reports whether the turn of m is now continued by a process other than the one that created m.
func (w *world) resumedBy(m *message) bool {
	t := w.turns[m.turn]
	return t != nil && t.begun[len(t.begun)-1].life != m.by.life
}

// judgeTurn checks the visible messages of one reply.
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

// rendered returns the visible text of Markdown in one message, without white space.
func (w *world) rendered(src string, cut bool) string {
	var text strings.Builder
	for _, p := range markup.Layout(src, markup.Options{Dialect: w.s.measure.dialect(), Limit: 1 << 30, Open: cut}) {
		text.WriteString(p.Rendered.Text)
	}
	return squeeze(text.String())
}

// words matches the complete words of answers.
var words = regexp.MustCompile(`a\d+w\d+x`)

// texts returns the fixed lines. They are short, so that a schedule needs no extra messages for them.
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

// fixed returns the texts of fixed lines.
func fixed(keys ...gateway.TextKey) (lines []string) {
	all := texts()
	for _, k := range keys {
		before, _, _ := strings.Cut(all[k], "{")
		lines = append(lines, squeeze(before))
	}
	return lines
}
