package sim

import (
	"strings"
	"time"
)

// private reports whether only one person writes in a place.
func (s schedule) private(place int) bool { return place != 1 && place != 2 }

// judgeDeletion checks that the bot never deletes all visible messages of a reply (F05).
func (w *world) judgeDeletion(gone *message) {
	said := questionID.ReplaceAllString(gone.text(), "") // an id may look like a word of an answer: a9w5x
	if apart(gone.key()) || w.s.tools && !words.MatchString(said) {
		return // neither a question nor a line about tools is part of the reply
	}
	for _, m := range w.person.of(gone.turn) {
		if m.stands() || m.deletedBy == "person" { // the platform does not report the person's deletions to the bot
			return
		}
	}
	if gone.mixed == takenByOther { // the reply whose message it was sends it again
		w.except(mixedUp)
		return
	}
	w.complain("F05: the bot deletes all that a person sees of turn %s", gone.turn)
}

// patience is the maximum age of a preview without faults. The strictest limits allow a few calls per 20 seconds, and
// two conversations may share them.
const patience = time.Minute

// draftLife is how long clients show a draft.
const draftLife = 30 * time.Second

// judgeFresh checks that the model's text is visible after a while, except for its last word. Text that no later delta
// follows must be shown by a timer, and no conversation may starve (D12).
func (w *world) judgeFresh(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.s.kind.caps
	if !w.s.calm() || w.s.style != plain || !w.s.config.Enabled || !c.Edit && !c.Draft || len(r.said) > 1 || w.s.measure.length(r.said[0])+2 > w.s.profile.TextLimit {
		return
	}
	t := w.turns[r.turn]
	if c.Draft && !w.s.private(t.place) {
		return // a chat shows only one draft
	}
	if c.Stream && w.s.measure.length(r.said[0]) > w.s.profile.TextLimit*4/5 {
		return // text that may belong in the next part is held back, because a stream can't remove text
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
