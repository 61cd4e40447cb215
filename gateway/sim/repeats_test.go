package sim

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// The checks in this file find calls that send a text again although the message already shows the same text.

// If the gateway stops trying to show a reply for a while, givenUpFor is the minimum time until it tries again.
const givenUpFor = 10 * time.Minute

// runAt returns how often processes had begun the turn of call c when the call was made.
func (w *world) runAt(c *call) (n int) {
	if t := w.turns[c.turn]; t != nil {
		for _, b := range t.begun {
			if !b.at.After(c.at) {
				n++
			}
		}
	}
	return n
}

// mayBeOverwritten reports whether a process may edit a message once more with the same text. A process may repeat its
// edit if another process had edited the message, or created it as a preview, before this process took over the turn.
// The call of the other process might have taken effect after the edit of this process. Therefore, this process repeats
// its edit when the call of the other process can no longer take effect.
func (w *world) mayBeOverwritten(c *call, before time.Time) bool {
	const longest = 10 * time.Second // the gateway's timeout for the edit of a preview
	t := w.turns[c.turn]
	if w.s.replicas == 0 || t == nil || c.m.Preview {
		return false
	}
	return slices.ContainsFunc(t.taken[c.life], func(at time.Time) bool {
		return !before.Before(at) && before.Sub(at) < longest && c.at.Sub(at) >= longest && slices.ContainsFunc(w.calls, func(o *call) bool {
			return o.life != c.life && !o.at.After(at) && o.id == c.id && o.to.Chat == c.to.Chat && o.m.Preview && (o.op == chat.OpEdit || o.creates())
		})
	})
}

// judgeRepeats checks that no call sends a text to a message that already shows the same text (D2, F21).
func (w *world) judgeRepeats() {
	type place struct {
		life *life
		run  int // number of times that the turn had begun; after the turn began again, the gateway may not know the visible text
		id   chat.MessageID
	}
	type sent struct {
		chat.Outgoing
		at time.Time
	}
	last := map[place]sent{}
	repeated := map[place]bool{}
	doubted := map[string]bool{} // keys of create calls whose outcome is unknown
	for _, t := range w.order {
		for p, s := range t.states {
			doubted[p.key] = doubted[p.key] || s == chat.PartIntended
		}
	}
	for _, c := range w.calls {
		if c.op != chat.OpSend && c.op != chat.OpEdit {
			if c.op != chat.OpTyping && c.op != chat.OpDraft && c.op != chat.OpFind {
				delete(last, place{c.life, w.runAt(c), c.id})
			}
			continue
		}
		if c.creates() && c.unknown() {
			doubted[c.m.Key] = true
		}
		p := place{c.life, w.runAt(c), c.id}
		old, known := last[p]
		again := known && c.op == chat.OpEdit && old.Text == c.m.Text && slices.Equal(old.Spans, c.m.Spans) && slices.Equal(old.Actions, c.m.Actions)
		switch {
		case again && c.at.Sub(old.at) >= givenUpFor:
			w.except(editedAgain)
		case again && w.mayBeOverwritten(c, old.at) && !repeated[p]:
			repeated[p] = true
			w.except(editedBySeveral)
		case again:
			w.complain("D2: %s is sent again what it shows: %s", c.id, c)
		}
		switch {
		case c.creates() && doubted[c.m.Key]:
			delete(last, p)
		case c.err == nil && !c.done.IsZero():
			last[p] = sent{c.m, c.at}
		default:
			delete(last, p)
		}
	}
}
