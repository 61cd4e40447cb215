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

// left returns what the store still has to do.
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

// working says that a turn of the call's chat is under way.
func (w *world) working(c *call) bool {
	home := strings.TrimSuffix(string(c.to.Chat), "moved")
	return slices.ContainsFunc(w.order, func(t *turnLog) bool {
		return !t.over() && strings.TrimSuffix(string(w.target(t.place).Chat), "moved") == home
	})
}

// judge judges what the person sees in the end, and what became of what was asked.
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

// judgeMessages judges what became of each message that was written: no accepted one is lost,
// none is answered twice.
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
		case m.user == stranger && m.accepted.IsZero(): // who is given a code is judged where it is stored
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

// judgeOrder judges that questions are answered in the order in which they came (F39), and that
// the answers stand in that order.
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
				case w.messages[n].joined: // with what it was put to, also once that was released
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

// judgePlace judges that one answer stands above the other.
func (w *world) judgePlace(above, below *turnLog) {
	for _, a := range w.standing(above) {
		for _, b := range w.standing(below) {
			if a.made.After(b.made) {
				if a.twin || b.twin {
					w.except(sameText)
					continue
				}
				w.complain("%s of turn %s stands below %s of the later turn %s", a.id, above.id, b.id, below.id)
				return
			}
		}
	}
}

const (
	// overtakenAfter is how many calls of a reply must fail in a row for the next one not to wait any more.
	overtakenAfter = 4
	// hung is how long a call must take for that to be trouble.
	hung = 3 * time.Second
)

// overtaken says that a reply could not be shown when the one after it was: the platform had refused it again and again
// (D14). Or all of its messages stood, and one of them could not be made what it should say after all, so that
// another took its place.
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
			parked = failures > 0 // the conversation went on because of it, also if it is over when the next reply is shown
		}
	}
	return false
}

// tries returns the calls of a reply, and those that may have asked for it whether the platform answers. A create that may be
// tried only once more is not tried before the platform answers.
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

// disturbed says that a person or the platform took messages of a turn away, so that their
// order says nothing.
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

// standing returns the messages of a turn's reply that stand, less those that the design
// excuses.
func (w *world) standing(t *turnLog) (out []*message) {
	for _, m := range w.person.of(t.id) {
		if m.stands() && !w.excused(m) {
			out = append(out, m)
		}
	}
	return out
}

// excused says that a message may stand beside the reply: nobody can know of it or change it.
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

// refusesFinal says that the platform refused what was to take the place of m.
func (w *world) refusesFinal(m *message) bool {
	return slices.ContainsFunc(w.calls, func(c *call) bool { return c.turn == m.turn && c.fault == badContent && !c.m.Preview })
}

// refusesAll says that the platform refused the final for m, and then an edit to what m shows, or may show, without its cursor; of
// one that has nothing of the text, or is not wanted and can't be deleted, that edit alone.
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

// stuckAbove says that what stood above m was sent anew, and so all that followed.
func (w *world) stuckAbove(m *message) bool {
	return slices.ContainsFunc(w.person.of(m.turn), func(o *message) bool { return o.frozen })
}

// follows says that the reply of m goes on where its chat moved to.
func (w *world) follows(m *message) bool {
	return slices.ContainsFunc(w.person.of(m.turn), func(o *message) bool { return o.chat == w.moved[m.chat] })
}

// releasedSince says that the reply of m was taken back when its chat had moved.
func (w *world) releasedSince(m *message) bool {
	t := w.turns[m.turn]
	return t != nil && t.released.After(w.movedAt)
}

// resumedBy says that another process than the one that made m goes on with its turn.
func (w *world) resumedBy(m *message) bool {
	t := w.turns[m.turn]
	return t != nil && t.begun[len(t.begun)-1].life != m.by.life
}

// judgeTurn judges what the person sees of one reply.
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

// rendered is what a person reads of Markdown, white space aside, when it all fits into one
// message.
func (w *world) rendered(src string, cut bool) string {
	var text strings.Builder
	for _, p := range markup.Layout(src, markup.Options{Dialect: w.s.measure.dialect(), Limit: 1 << 30, Open: cut}) {
		text.WriteString(p.Rendered.Text)
	}
	return squeeze(text.String())
}

// words finds the whole words of answers.
var words = regexp.MustCompile(`a\d+w\d+x`)

// texts are the lines that people see. They are short, so that they cost a schedule no more than others.
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

// fixed are the lines that people see without the model.
func fixed(keys ...gateway.TextKey) (lines []string) {
	all := texts()
	for _, k := range keys {
		before, _, _ := strings.Cut(all[k], "{")
		lines = append(lines, squeeze(before))
	}
	return lines
}
