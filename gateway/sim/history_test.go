package sim

import (
	"strings"
	"time"
)

// private reports whether only one person writes in a conversation. The parameter place is the number of the
// conversation.
func (s schedule) private(place int) bool { return place != 1 && place != 2 }

// judgeDeletion checks that the bot never deletes all visible messages of a reply (F05).
func (w *world) judgeDeletion(gone *message) {
	// The id of a question may look like a word of an answer, such as a9w5x.
	said := questionID.ReplaceAllString(gone.text(), "")
	if apart(gone.key()) || w.s.tools && !words.MatchString(said) {
		return // a message with only a question or a line about tools is not part of the reply
	}
	for _, m := range w.person.of(gone.turn) {
		if m.stands() || m.deletedBy == "person" {
			// A message that a person deleted counts as visible, because the platform does not tell the bot about it.
			return
		}
	}
	if gone.mixed == takenByOther { // the other reply, to which the message belonged, sends its text again
		w.except(mixedUp)
		return
	}
	w.complain("F05: the bot deletes all that a person sees of turn %s", gone.turn)
}

// patience is how long text of the model may stay invisible in a schedule without faults. The time is long because the
// strictest limits allow only a few calls per 20 seconds, and two conversations may have to share these calls.
const patience = time.Minute

// draftLife is how long people see a draft after the bot sent it.
const draftLife = 30 * time.Second

// judgeFresh checks that the model's text, except for its last word, is visible once the model has paused for as long as
// the constant patience says. The gateway must show new text even if no delta follows, and must not neglect a
// conversation (D12).
func (w *world) judgeFresh(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.s.kind.caps
	if !w.s.calm() || w.s.style != plain || !w.s.config.Enabled || !c.Edit && !c.Draft || len(r.said) > 1 || w.s.measure.length(r.said[0])+2 > w.s.profile.TextLimit {
		return
	}
	t := w.turns[r.turn]
	if c.Draft && !w.s.private(t.place) {
		return // a chat shows only one draft, and this draft may belong to another conversation of the chat
	}
	if c.Stream && w.s.measure.length(r.said[0]) > w.s.profile.TextLimit*4/5 {
		return // a stream can't remove text, so the gateway holds back text that may belong to the next part
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
