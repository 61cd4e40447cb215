package sim

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// These checks find calls that send a text again although it is already visible.

// givenUpFor is the minimum pause before the gateway tries a reply again that it gave up for a while.
const givenUpFor = 10 * time.Minute

// runAt returns how often the turn of a call had been begun when the call was made.
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

// mayBeOverwritten reports whether a process may edit a message once more with the same text. It may if another process
// had edited that message, or created it as a preview, before this process took over. This process made its own edit
// while the other call could still take effect, and repeats it when that is impossible.
func (w *world) mayBeOverwritten(c *call, before time.Time) bool {
	const longest = 10 * time.Second // how long the gateway waits for the edit of a preview
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

// judgeRepeats checks that no call sends a text that is already visible (D2, F21).
func (w *world) judgeRepeats() {
	type place struct {
		life *life
		run  int // of the turn: the next run, in any process, may not know the visible text
		id   chat.MessageID
	}
	type sent struct {
		chat.Outgoing
		at time.Time
	}
	last := map[place]sent{}
	repeated := map[place]bool{}
	doubted := map[string]bool{} // keys whose create has an unknown outcome
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
