package preview

import (
	"time"

	"telex/internal/chat"
)

// settle folds the outcome of action a, which ended at now, into the state.
func (s *state) settle(a action, r chat.Receipt, err error, now time.Time) {
	switch {
	case a.kind == doType:
		s.settleTyping(a, err, now)
		return
	case a.kind == doProbe:
		s.asked = now // a success is in answered, and a failure says nothing new
		return
	case a.part == old:
		s.settleFrozen(a, err, now)
		return
	}
	for len(s.parts) <= a.part && a.kind != doDraft {
		s.parts = append(s.parts, part{start: a.start})
	}
	if err != nil {
		s.settleError(a, chat.AsSendError(err), now)
		return
	}
	if a.kind != doFind || r.Ref.ID != "" { // to learn that nothing stands is no progress
		s.trouble, s.hold = 0, time.Time{}
		s.progress(now)
	}
	if a.kind == doDraft {
		s.settleDraft(a)
		return
	}
	if a.part == apart {
		s.settleApart(a, r.Ref)
		return
	}
	p := &s.parts[a.part]
	switch a.kind {
	case doSend, doFile, doStart:
		s.settleCreate(a, p, r.Ref)
	case doDelete:
		p.renew()
		p.text = payload{}
		return
	case doFind:
		s.settleFind(p, r.Ref)
		s.lower(a.part)
		return
	case doStop:
		p.streams = false
		if p.broken { // the whole text follows as an edit, unless what stands is wanted as it is
			p.broken, p.unsure = false, s.ending == nil || !s.ending.Keep
			s.drawn, s.told = 0, frame{} // and so what is around it
			return
		}
		p.unsure = false
	default:
		p.unsure = false
	}
	if p.unsure {
		p.replace(&a)
	} else {
		p.show(&a)
		p.text = payload{}
	}
	if a.creates() {
		s.lower(a.part)
	}
	if a.seal {
		p.sealed, p.next = true, a.next
	} else {
		s.drawn, s.told = a.size, a.frame
	}
}

// progress moves the deadline of a final: what gets on is not given up.
func (s *state) progress(now time.Time) {
	if d := now.Add(finalDeadline); s.ending != nil && d.After(s.deadline) {
		s.deadline = d
	}
}

// settleTyping notes whether typing works. Before a last try it is a probe, repeated until the
// platform answers.
func (s *state) settleTyping(a action, err error, now time.Time) {
	switch {
	case a.class == chat.ClassTyping:
		s.canType = err == nil
	case err == nil:
		s.probed, s.trouble = true, 0
	default:
		switch e := chat.AsSendError(err); e.Kind {
		case chat.Uncertain, chat.Temporary, chat.RateLimited:
			s.fails(e, now)
			s.backoff(now)
		default: // it answers, if not as wished
			s.probed = true
		}
	}
}

// settleCreate notes a message that was created. One without an id can't be edited, so that
// it must not count as the reply unless it is the final.
func (s *state) settleCreate(a action, p *part, ref chat.MessageRef) {
	s.displayed, s.draft = true, draft{}
	p.ref, p.exists, p.gone = ref, true, false
	p.unsure = p.doubted && (p.mixed || !p.tried(&a)) && a.kind != doFile // nobody can change what a file shows
	p.file = a.kind == doFile
	p.streams, p.begun = a.kind == doStart || p.doubted && p.started, s.lastCall
	p.broken = p.streams && (p.unsure || a.kind != doStart)
	p.doubted, p.mixed, p.started = false, false, false
	if ref.ID == "" {
		s.muted, s.nameless, p.streams = true, true, false
		p.exists = s.ending != nil
		s.leave(a.frame)
	}
}

// settleFind notes whether a create of unknown outcome made a message. What it says is one of
// the payloads that were tried.
func (s *state) settleFind(p *part, ref chat.MessageRef) {
	p.lost, p.doubted, p.mixed = false, false, false
	if ref.ID == "" {
		p.started, p.first = false, time.Time{} // the next create is the first under its key
		return
	}
	s.displayed = true
	p.ref, p.exists, p.gone, p.unsure = ref, true, false, true
	p.streams, p.broken = p.started, p.started
}

// restart reacts to a text that starts over. Parts that are full belong to the void text; only
// the final may touch them, so previews end here. Without such parts the new text simply
// replaces the old one.
func (s *state) restart() {
	s.drawn, s.told = 0, frame{}
	for i := range s.parts {
		p := &s.parts[i]
		s.muted = s.muted || p.sealed
		p.broken = p.broken || p.streams
	}
}

// end takes up the ending. What held previews back holds no final back, and markup that was
// refused in an unfinished text gets another chance.
func (s *state) end(e *Ending, now time.Time) {
	s.ending, s.ended = e, now
	if !e.At.IsZero() && e.At.Before(now) {
		s.ended = e.At
	}
	if s.deadline = s.ended.Add(finalDeadline); s.deadline.Before(now.Add(lastChance)) {
		s.deadline = now.Add(lastChance)
	}
	s.hold, s.trouble = time.Time{}, 0
	for i := range s.parts {
		s.parts[i].plain = s.parts[i].plain && e.Keep
	}
}
