package sim

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"telex/agent"
	"telex/internal/chat"
)

// judgeHistory judges what the model is told of what came before (F37, F40).
func (w *world) judgeHistory(r *run) {
	t := w.turns[r.turn]
	if t == nil || r.life.isOver() {
		return
	}
	if len(w.moved) > 0 && !w.s.private(t.place) {
		w.except(memoryMoved)
		return
	}
	history := r.seen
	if t.replaces == "" {
		history = history[:len(history)-1]
	}
	w.judgeMemory(t, t.place, r.told, history)
}

// judgeMemory judges what a place remembers, before a turn or, without one, in the end: everything that was answered
// since the conversation began, once, and nothing of an earlier one, that was undone, or that somebody had forgotten.
func (w *world) judgeMemory(t *turnLog, place int, summary string, history []agent.Message) {
	what := "in the end"
	if t != nil {
		what = "of turn " + t.id
	}
	if slices.ContainsFunc(w.messages, func(m *written) bool { return m.forgets(w, place, "") && m.heard.Equal(time.Now()) }) {
		return // which came first can't be told
	}
	known := asked(summary)
	for _, m := range history {
		if m.Role == agent.User {
			known = append(known, asked(m.Text)...)
		}
	}
	for i, n := range known {
		m := w.messages[n]
		if slices.Contains(known[:i], n) {
			w.complain("F10: m%d stands twice in the history %s", n, what)
		}
		if m.place != place {
			w.complain("F40: m%d of another conversation is in the history %s", n, what)
		}
		if m.accepted.Before(w.forgottenBy(place, m.user)) {
			w.complain("F37: m%d, which was forgotten, is in the history %s", n, what)
		}
	}
	for _, old := range w.order {
		if old == t || old.place != place || !w.remembered(old) {
			continue
		}
		for _, n := range old.messages {
			m := w.messages[n]
			if m.kind == "text" && m.accepted.After(w.forgottenBy(place, m.user)) && !slices.Contains(known, n) {
				w.complain("m%d, which was answered by turn %s, is not in the history %s", n, old.id, what)
			}
		}
	}
}

// forgottenBy returns when what a person asked in a place was forgotten last; without a person, by anybody. A command that its
// owner has not heard yet does nothing.
func (w *world) forgottenBy(place int, u chat.UserID) (last time.Time) {
	for _, m := range w.messages {
		if m.forgets(w, place, u) && m.accepted.After(last) && !m.heard.IsZero() {
			last = m.accepted
		}
	}
	return last
}

// forgets says that a message makes a place forget what a person asked; without a person, what anybody did.
func (m *written) forgets(w *world, place int, u chat.UserID) bool {
	return m.place == place && m.user != stranger && (m.kind == "new" || m.kind == "forget" && (w.s.private(place) || u == "" || m.user == u))
}

// remembered says that the model came to the end of a turn's answer, and that nobody took it out of the history. What
// another process decided did not know of that end.
func (w *world) remembered(t *turnLog) bool {
	if t.undone || t.ended.IsZero() || t.decided.IsZero() || len(t.runs) == 0 || w.commanded(t) {
		return false
	}
	last := t.runs[len(t.runs)-1]
	if !last.over || last.err != nil || last.life != t.decider || last.life.diedAt(last.ended) {
		return false
	}
	return !slices.ContainsFunc(w.order, func(again *turnLog) bool { // the question went on to it, and with it
		return again.replaces == t.id && w.lost(again)
	})
}

// lost says that a turn which took another's place was undone, or one that took its place.
func (w *world) lost(t *turnLog) bool {
	return t.undone || slices.ContainsFunc(w.order, func(again *turnLog) bool { return again.replaces == t.id && w.lost(again) })
}

// undone notes that a turn was taken out of the history. It must be the newest.
// A message takes out one at most, also when the process died right after.
func (w *world) undone(entries []chat.Entry, says chat.Turn) {
	if len(entries) == 0 {
		return
	}
	for _, t := range w.order {
		if t.undone && t.undoneBy == numberOf(says.Messages[0].ID) {
			w.complain("m%d takes out turn %s and turn %s", t.undoneBy, t.id, entries[0].Turn)
		}
	}
	w.turns[entries[0].Turn].undoneBy = numberOf(says.Messages[0].ID)
	gone := w.turns[entries[0].Turn]
	gone.undone = true
	w.note("turn %s is undone", gone.id)
	w.counts.add("turns that were undone", 1)
	for _, t := range w.order {
		mine := w.s.private(t.place) || w.asker(t) == w.asker(gone) // to take back
		if mine && t != gone && t.place == gone.place && !t.over() && t.decided.IsZero() && len(t.runs) > 0 && !t.void && len(w.moved) == 0 {
			w.complain("turn %s is undone, though the newer turn %s is under way", gone.id, t.id)
		}
	}
}

// forgotten notes that what a person asked in a conversation is forgotten; without one, what anybody did.
func (w *world) forgotten(c chat.Conversation, u chat.UserID) {
	place := w.placeOf(c.Chat, c.Thread)
	for _, t := range w.order {
		if t.place == place && !t.over() && t.decided.IsZero() && (u == "" || w.asker(t) == u) {
			t.void = true
		}
	}
}

// judgeAsked judges that the model knew of everything that its answer is the answer to.
func (w *world) judgeAsked(t *turnLog) {
	if len(t.runs) == 0 || t.decided.IsZero() {
		return
	}
	last := t.runs[len(t.runs)-1]
	if !last.over || last.err != nil || last.life.diedAt(last.ended) {
		return
	}
	known := asked(last.seen[len(last.seen)-1].Text + strings.Join(last.heard, " "))
	for _, n := range t.messages {
		if w.messages[n].kind == "text" && !slices.Contains(known, n) {
			w.complain("turn %s answers m%d, of which the model was not told", t.id, n)
		}
	}
}

// judgeRemembered judges what is remembered in the end, and what was counted.
func (w *world) judgeRemembered() {
	for place := range w.s.places {
		if len(w.moved) > 0 && !w.s.private(place) {
			w.except(memoryMoved)
			continue
		}
		to := w.target(place)
		c := chat.Conversation{Endpoint: endpoint, Chat: to.Chat, Thread: to.Thread}
		session, entries, _ := w.store.Session(nil, c) //nolint:staticcheck // a Memory needs no context
		history := make([]agent.Message, len(entries))
		for i, e := range entries {
			if err := json.Unmarshal(e.Body, &history[i]); err != nil {
				w.complain("entry %d of the history of place %d: %v", e.ID, place, err)
			}
		}
		w.judgeMemory(nil, place, session.Summary, history)
		w.judgeAnswers(history, "in the end")
		w.judgeKnown(place, history)
		w.judgeEntries(entries, history)
		w.judgeUsage(place, c)
	}
}

// judgeEntries judges that the history tells of answers in the order in which people got them, and what they read.
func (w *world) judgeEntries(entries []chat.Entry, history []agent.Message) {
	newest := 0
	for i, e := range entries {
		t := w.turns[e.Turn]
		if t == nil || !t.released.IsZero() || t.undone {
			w.complain("the history tells of turn %s, which nobody was answered by", e.Turn)
			continue
		}
		at := slices.Index(w.order, t)
		if at < newest {
			w.complain("in the history turn %s comes after turn %s", t.id, w.order[newest].id)
		}
		newest = at
		if i+1 < len(entries) && entries[i+1].Turn == e.Turn {
			continue
		}
		if !w.readAsRemembered(t) {
			continue
		}
		var seen strings.Builder
		for _, m := range w.standing(t) {
			seen.WriteString(m.text())
			if m.file != nil {
				return // whose first line may stand twice
			}
		}
		w.counts.add("answers that are remembered as they were read", 1)
		said := answered(t, entries, history)
		got, want := words.FindAllString(said, -1), words.FindAllString(seen.String(), -1)
		switch {
		case slices.Equal(got, want):
		case begins(want, got) && w.s.tools && w.interrupted(t, &run{}): // what tools did must be known, and so the words before that
			w.counts.add("answers of which more is remembered than was read", 1)
		default:
			w.complain("of turn %s people read %q, the history says %q", t.id, seen.String(), said)
		}
	}
}

// answered is what the history says that a turn answered.
func answered(t *turnLog, entries []chat.Entry, history []agent.Message) string {
	var said []string
	for i, e := range entries {
		if e.Turn == t.id && history[i].Role == agent.Assistant {
			said = append(said, history[i].Text)
		}
	}
	return strings.Join(said, "\n\n")
}

// readAsRemembered says that what people read of a turn is what the history must say, word by word.
func (w *world) readAsRemembered(t *turnLog) bool {
	if !w.s.calm() && w.finalRun(t) == nil {
		return false // of an answer that a kill cut off, the steps are remembered
	}
	if w.s.style != plain || !w.stopless(t) || w.s.kind.caps.Edit && !w.s.kind.caps.Delete || w.waived(t) {
		return false
	}
	return !slices.ContainsFunc(w.person.of(t.id), func(m *message) bool { return m.deletedBy == "person" || m.stands() && w.excused(m) })
}

// stopless says that nobody stopped the final of a turn on its way.
func (w *world) stopless(t *turnLog) bool { return t.decided.IsZero() || !w.stopped(t, t.decided) }

// judgeUsage judges that every turn is counted, and none twice. Of a run that died while an answer was being written
// the next process counts an estimate: it is no more than what people saw of the turn by then.
func (w *world) judgeUsage(place int, c chat.Conversation) {
	used, _ := w.store.Used(nil, chat.UsageOf{Conversation: c}) //nolint:staticcheck // a Memory needs no context
	sum := 0
	for _, t := range w.order {
		if t.place == place {
			sum += w.judgeUsageOf(t)
		}
	}
	if sum != used.Calls {
		w.complain("in place %d %d model calls were stored, %d are counted", place, sum, used.Calls)
	}
	most := used.Turns + 10 // estimates are none to the token
	for _, t := range w.order {
		if t.place != place {
			continue
		}
		for _, r := range t.runs {
			said := agent.EstimateTokens(r.everything)
			most += 2*(r.calls+len(t.begun)) + said + said/2
		}
	}
	if used.Completion > most {
		w.complain("in place %d %d tokens were counted, no more than %d were said", place, used.Completion, most)
	}
	done := 0
	for _, t := range w.order {
		if t.place == place && w.remembered(t) {
			done++
		}
	}
	if used.Turns < done {
		w.complain("in place %d the usage of %d turns was counted, there were %d", place, used.Turns, done)
	}
}

// judgeUsageOf judges that each model call of a turn is counted once, and returns how many were. A process that is killed can't say
// whether it had asked the model: the next one counts a call for it.
func (w *world) judgeUsageOf(t *turnLog) int {
	got, made, killed := 0, 0, 0
	for _, u := range t.usage {
		got += u.Calls
	}
	for _, r := range t.runs {
		made += r.calls
	}
	for _, b := range t.begun {
		if !b.life.died.IsZero() && (!t.over() || b.life.diedAt(t.ended) && t.released.IsZero() || b.life.diedAt(t.released) && t.ended.IsZero()) {
			killed++
		}
	}
	switch {
	case got < made:
		w.complain("%d of %d model calls of turn %s are counted", got, made, t.id)
	case got > made+killed:
		w.complain("%d model calls of turn %s are counted, there were %d", got, t.id, made)
	}
	return got
}

// judgeStored judges what of a message is stored.
func (w *world) judgeStored(m *written, in chat.Inbound) {
	if m.kind == "big" && len(in.Text)+len(in.Args) > 0 {
		w.complain("%d bytes are stored of a message that is too long", len(in.Text))
	}
	if m.user != stranger {
		return
	}
	if in.Kind != chat.AccessRequest || in.Text+in.Args+in.Command != "" {
		w.complain("a stranger's text is stored")
	}
	if !w.s.pair || !w.s.private(m.place) {
		w.complain("a stranger is answered where none may be")
	}
	if !w.knocked.IsZero() && time.Since(w.knocked) < time.Hour && w.s.replicas == 0 { // else whoever answers knows
		w.complain("a stranger is given a code twice within an hour")
	}
	w.knocked = time.Now()
	w.counts.add("strangers that are given a code", 1)
}

// together is how long pieces of one message may be apart.
const together = time.Second

// judgePieces judges that what a client split is one question.
func (w *world) judgePieces() {
	for place := range w.s.places {
		if len(w.moved) > 0 && !w.s.private(place) {
			continue // the two places of a chat that moves are two conversations
		}
		var order []int
		for i, m := range w.messages {
			if m.place == place && !m.accepted.IsZero() {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return w.messages[a].taken - w.messages[b].taken })
		for k := 1; k < len(order); k++ {
			m, next := w.messages[order[k-1]], w.messages[order[k]]
			a, b := w.answer(order[k-1]), w.answer(order[k])
			if !m.more || next.kind != "text" || m.user != next.user || max(next.accepted.Sub(m.accepted), next.heard.Sub(m.heard)) > together || a == nil || b == nil {
				continue
			}
			heard := slices.ContainsFunc(w.order, func(t *turnLog) bool { // a model that is at work hears pieces as they come
				return slices.Contains(t.messages[t.first:], order[k-1])
			})
			if heard || len(a.runs) == 0 || len(b.runs) == 0 {
				continue
			}
			w.counts.add("pieces that are one question", 1)
			if a != b {
				w.complain("m%d and m%d are pieces of one question, turns %s and %s answer them", order[k-1], order[k], a.id, b.id)
			}
		}
	}
}

// answer returns the turn that answers a message, or nil.
func (w *world) answer(n int) *turnLog {
	i := slices.IndexFunc(w.order, func(t *turnLog) bool { return t.released.IsZero() && slices.Contains(t.messages, n) })
	if i < 0 {
		return nil
	}
	return w.order[i]
}
