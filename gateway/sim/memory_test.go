package sim

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"telex/agent"
	"telex/internal/chat"
)

// judgeHistory checks that the model's request contains the right history (F37, F40).
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

// judgeMemory checks the history of a conversation before turn t, or at the end of the schedule if t is nil. The
// history must contain every answer since the conversation began, exactly once. The history must contain nothing from
// before a command /new, nothing of other conversations, and nothing that was undone or erased.
func (w *world) judgeMemory(t *turnLog, place int, summary string, history []agent.Message) {
	what := "in the end"
	if t != nil {
		what = "of turn " + t.id
	}
	if slices.ContainsFunc(w.messages, func(m *written) bool { return m.forgets(w, place, "") && m.heard.Equal(time.Now()) }) {
		return // the command to erase the history arrived at the time of this check, so it is unknown which comes first
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

// forgottenBy returns when the questions of user u in a conversation were last erased. If u is empty, forgottenBy
// returns when any user's questions were last erased. A command counts only if the owner of the chat has received it.
func (w *world) forgottenBy(place int, u chat.UserID) (last time.Time) {
	for _, m := range w.messages {
		if m.forgets(w, place, u) && m.accepted.After(last) && !m.heard.IsZero() {
			last = m.accepted
		}
	}
	return last
}

// forgets reports whether message m erases the questions of user u in a conversation. If u is empty, forgets reports
// whether m erases the questions of any user.
func (m *written) forgets(w *world, place int, u chat.UserID) bool {
	return m.place == place && m.user != stranger && (m.kind == "new" || m.kind == "forget" && (w.s.private(place) || u == "" || m.user == u))
}

// remembered reports whether the history must contain the answer of a turn. The history must contain each answer that
// the model completed and nobody removed, with two exceptions. First, another process may have stored the turn's result
// without knowing that the answer was complete. Second, somebody may have stopped the turn before its result was
// stored.
func (w *world) remembered(t *turnLog) bool {
	if t.undone || t.ended.IsZero() || t.decided.IsZero() || len(t.runs) == 0 || w.commanded(t) {
		return false
	}
	last := t.runs[len(t.runs)-1]
	if !last.over || last.err != nil || last.life != t.decider || last.life.diedAt(last.ended) || w.stoppedUndecided(t) {
		return false
	}
	return !slices.ContainsFunc(w.order, func(again *turnLog) bool {
		// If /undo removed a later turn that replaced turn t, the answer of turn t is gone, too.
		return again.replaces == t.id && w.lost(again)
	})
}

// stoppedUndecided reports whether somebody stopped a turn before its result was stored, or in the same instant.
func (w *world) stoppedUndecided(t *turnLog) bool {
	return slices.ContainsFunc(w.messages, func(m *written) bool {
		return m.place == t.place && w.ends(m, w.asker(t)) && !m.accepted.Before(t.begun[0].at) && !m.heard.IsZero() && !m.heard.After(t.decided)
	})
}

// lost reports whether /undo removed turn t or a turn that replaced it.
func (w *world) lost(t *turnLog) bool {
	return t.undone || slices.ContainsFunc(w.order, func(again *turnLog) bool { return again.replaces == t.id && w.lost(again) })
}

// undone records that a command /undo removed a turn from the history. undone checks that this was the newest turn, and
// that one command removes at most one turn, even if a process died right after the removal.
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
		mine := w.s.private(t.place) || w.asker(t) == w.asker(gone) // whether the command may remove turn t
		if mine && t != gone && t.place == gone.place && !t.over() && t.decided.IsZero() && len(t.runs) > 0 && !t.void && len(w.moved) == 0 {
			w.complain("turn %s is undone, though the newer turn %s is under way", gone.id, t.id)
		}
	}
}

// forgotten records that the questions of user u in a conversation were erased. If u is empty, all questions in the
// conversation were erased.
func (w *world) forgotten(c chat.Conversation, u chat.UserID) {
	place := w.placeOf(c.Chat, c.Thread)
	for _, t := range w.order {
		if t.place == place && !t.over() && t.decided.IsZero() && (u == "" || w.asker(t) == u) {
			t.void = true
		}
	}
}

// judgeAsked checks that the model received every message that the turn answers.
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

// judgeRemembered checks the stored histories and the counted usage at the end of the schedule.
func (w *world) judgeRemembered() {
	for place := range w.s.places {
		if len(w.moved) > 0 && !w.s.private(place) {
			w.except(memoryMoved)
			continue
		}
		to := w.target(place)
		c := chat.Conversation{Endpoint: endpoint, Chat: to.Chat, Thread: to.Thread}
		session, entries, _ := w.store.Session(nil, c) //nolint:staticcheck // the store in memory needs no context
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

// judgeEntries checks that the history contains the answers in the order in which people received them. Each answer
// must have the text that people see.
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
				return // the first line of the file may be visible above the file, too
			}
		}
		w.counts.add("answers that are remembered as they were read", 1)
		said := answered(t, entries, history)
		got, want := words.FindAllString(said, -1), words.FindAllString(seen.String(), -1)
		switch {
		case slices.Equal(got, want):
		case begins(want, got) && w.s.tools && w.interrupted(t, &run{}):
			// The history must contain the results of tools. With the results, the history also contains the words
			// before them, even words that people did not see.
			w.counts.add("answers of which more is remembered than was read", 1)
		default:
			w.complain("of turn %s people read %q, the history says %q", t.id, seen.String(), said)
		}
	}
}

// answered returns the text of turn t's answer as the history contains it.
func answered(t *turnLog, entries []chat.Entry, history []agent.Message) string {
	var said []string
	for i, e := range entries {
		if e.Turn == t.id && history[i].Role == agent.Assistant {
			said = append(said, history[i].Text)
		}
	}
	return strings.Join(said, "\n\n")
}

// readAsRemembered reports whether the history must contain exactly the words of a turn's answer that people see.
func (w *world) readAsRemembered(t *turnLog) bool {
	if (!w.s.calm() || len(t.runs) > 1) && w.finalRun(t) == nil {
		return false // if no process completed the answer, the history contains only its steps
	}
	if w.s.style != plain || !w.stopless(t) || w.s.kind.caps.Edit && !w.s.kind.caps.Delete || w.waived(t) {
		return false
	}
	return !slices.ContainsFunc(w.person.of(t.id), func(m *message) bool { return m.deletedBy == "person" || m.stands() && w.excused(m) })
}

// stopless reports whether nobody stopped the delivery of the turn's final text.
func (w *world) stopless(t *turnLog) bool { return t.decided.IsZero() || !w.stopped(t, t.decided) }

// judgeUsage checks that the usage of each turn is counted exactly once. If a process died while the model wrote an
// answer, the next process counts an estimate of the usage. The number of counted tokens of a conversation must not be
// much larger than the number that the model sent.
func (w *world) judgeUsage(place int, c chat.Conversation) {
	used, _ := w.store.Used(nil, chat.UsageOf{Conversation: c}) //nolint:staticcheck // the store in memory needs no context
	sum := 0
	for _, t := range w.order {
		if t.place == place {
			sum += w.judgeUsageOf(t)
		}
	}
	if sum != used.Calls {
		w.complain("in place %d %d model calls were stored, %d are counted", place, sum, used.Calls)
	}
	most := used.Turns + 10 // estimates are not exact
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

// judgeUsageOf checks that each model call of a turn is counted once, and returns the number of counted calls. If a
// process was killed, the next process can't know whether the killed one had called the model, so the next process
// counts one call.
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

// judgeStored checks that the gateway did not store a text of message m that is too long or that a stranger wrote.
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
	if !w.knocked.IsZero() && time.Since(w.knocked) < time.Hour && w.s.replicas == 0 {
		// With several replicas, only the replica that answered knows of the pairing request.
		w.complain("a stranger is given a code twice within an hour")
	}
	w.knocked = time.Now()
	w.counts.add("strangers that are given a code", 1)
}

// A client may split a message into pieces. together is the maximum time between two pieces of one message.
const together = time.Second

// judgePieces checks that, if a client split a message into pieces, the gateway merges the pieces into one question.
func (w *world) judgePieces() {
	for place := range w.s.places {
		if len(w.moved) > 0 && !w.s.private(place) {
			continue // in a chat that got a new id, the pieces may belong to two conversations
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
			heard := slices.ContainsFunc(w.order, func(t *turnLog) bool { // a running model receives each piece when it arrives
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

// answer returns the turn that answers message n, or nil.
func (w *world) answer(n int) *turnLog {
	i := slices.IndexFunc(w.order, func(t *turnLog) bool { return t.released.IsZero() && slices.Contains(t.messages, n) })
	if i < 0 {
		return nil
	}
	return w.order[i]
}
