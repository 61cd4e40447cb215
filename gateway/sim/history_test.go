package sim

import (
	"slices"
	"strings"
	"time"

	"telex/agent"
)

// private says that a place has one person only.
func (s schedule) private(place int) bool { return place != 1 && place != 2 }

// judgeHistory judges what the model is told of what came before: everything that was answered
// since the conversation began, once and in order, and nothing of an earlier one (F37, F40).
func (w *world) judgeHistory(r *run) {
	t := w.turns[r.turn]
	if t == nil || r.life.isDead() || len(w.moved) > 0 {
		return
	}
	var fresh time.Time // when the conversation began
	for _, m := range w.messages {
		if m.place == t.place && m.kind == "new" && m.accepted.After(fresh) {
			fresh = m.accepted
		}
	}
	if fresh.Equal(time.Now()) {
		return // which came first can't be told
	}
	var known []int
	for _, m := range r.seen[:len(r.seen)-1] {
		if m.Role != agent.User {
			continue
		}
		for _, n := range asked(m.Text) {
			if slices.Contains(known, n) {
				w.complain("F10: m%d stands twice in the history of turn %s", n, t.id)
			}
			if w.messages[n].place != t.place {
				w.complain("F40: m%d of another conversation is in the history of turn %s", n, t.id)
			}
			if w.messages[n].accepted.Before(fresh) {
				w.complain("F37: m%d of an earlier conversation is in the history of turn %s", n, t.id)
			}
			known = append(known, n)
		}
	}
	for _, old := range w.order {
		if old == t || old.place != t.place || old.ended.IsZero() || old.decided.IsZero() || len(old.runs) == 0 || w.commanded(old) {
			continue
		}
		last := old.runs[len(old.runs)-1]
		if !last.over || last.err != nil || last.life != old.begun[len(old.begun)-1].life || last.life.diedAt(last.ended) {
			continue
		}
		for _, n := range old.messages {
			if w.messages[n].accepted.After(fresh) && !slices.Contains(known, n) {
				w.complain("m%d, which was answered, is not in the history of turn %s", n, t.id)
			}
		}
	}
}

// judgeDeletion judges that the bot never takes away all that a person sees of a reply (F05).
func (w *world) judgeDeletion(gone *message) {
	for _, m := range w.person.of(gone.turn) {
		if m.stands() || m.deletedBy == "person" { // of which nobody tells the bot
			return
		}
	}
	w.complain("F05: the bot deletes all that a person sees of turn %s", gone.turn)
}

// patience is how long a preview may take when nothing goes wrong: the narrowest limits let a
// few calls through each 20 seconds, and two conversations may share them.
const patience = time.Minute

// draftLife is how long clients show a draft.
const draftLife = 30 * time.Second

// judgeFresh judges that all that was said a while ago is visible, but for the last word: the
// timer shows what no other delta pushes out, and nobody starves (D12).
func (w *world) judgeFresh(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.s.kind.caps
	if !w.s.calm() || w.s.style != plain || !w.s.config.Enabled || !c.Edit && !c.Draft || len(r.said) > 1 || w.s.measure.length(r.said[0])+2 > w.s.profile.TextLimit {
		return
	}
	t := w.turns[r.turn]
	if c.Draft && !w.s.private(t.place) {
		return // a chat shows one draft
	}
	if w.interrupted(t, r) || len(t.begun) > 1 {
		return
	}
	var text strings.Builder
	for _, m := range w.person.of(r.turn) {
		text.WriteString(m.text())
	}
	if d := w.person.drafts[w.target(t.place)]; strings.HasPrefix(d.Key, t.id+".") && time.Since(d.at) <= draftLife {
		text.WriteString(d.Text)
	}
	w.counts.add("pauses in which everything was visible", 1)
	seen, all := words.FindAllString(text.String(), -1), words.FindAllString(r.said[0], -1)
	if !begins(seen, all) || len(seen) < len(all)-1 {
		w.complain("D12: %v after %q was said, the person sees %q of it", patience, r.said[0], text.String())
	}
}
