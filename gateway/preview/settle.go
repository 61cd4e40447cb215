package preview

import (
	"time"

	"telex/internal/chat"
)

// settle applies the outcome of action a to the state. The action ended at the time now.
func (s *state) settle(a action, r chat.Receipt, err error, now time.Time) {
	defer s.layoutFinal() // a failed call may have discarded the layout of the final, so lay it out again
	switch a.kind {
	case doSkip:
		s.unchangedAt, s.laidOutLength, s.shownFrame = now, a.size, a.frame
		return
	case doMessages:
		s.draftFor, s.streamFor = 0, 0
		if s.drafted() { // the platform will remove the draft, so a message must show its text even without the question
			s.laidOutLength, s.shownFrame = 0, frame{}
		}
		return
	case doType:
		s.settleTyping(a, err, now)
		return
	case doProbe:
		s.probedAt = now // a successful probe is recorded in lastSuccess, and a failed one is no new information
		return
	}
	for len(s.parts) <= a.part && a.kind != doDraft {
		s.parts = append(s.parts, message{start: a.start})
	}
	if err != nil {
		s.fail(a, chat.AsSendError(err), now)
		return
	}
	if a.kind != doFind || r.Ref.ID != "" { // a search that finds no message is no progress
		s.failuresInRow, s.holdUntil = 0, time.Time{}
		s.extend(now.Add(finalDeadline)) // a call that makes progress extends the deadline
	}
	if a.kind == doDraft {
		s.settleDraft(a)
		return
	}
	p := s.at(a.part)
	switch {
	case a.creates():
		a.display = s.settleCreate(a, p, r.Ref)
	case a.kind == doFind:
		s.settleFind(a.part, r.Ref, now)
		if a.part > supersededAt {
			s.replaceIfAbove(a.part)
		}
		return
	case p.role != roleText && (a.kind == doDelete || a.kind == doSeal):
		s.forget(a.part)
		return
	case a.kind == doDelete:
		p.renew()
		p.earlierBody = payload{}
		return
	case a.kind == doStop:
		p.phase = standing
		if p.unsure() {
			// After the stream has been stopped, an edit sends the whole text and the frame, unless the ending keeps
			// the message's current content.
			if s.ending != nil && s.ending.Keep {
				p.certainty = sure
			}
			s.laidOutLength, s.shownFrame = 0, frame{}
			return
		}
	default:
		p.certainty = sure
		if !s.lastCall.Before(p.foreignEdits) {
			p.foreignEdits = time.Time{}
		}
	}
	if p.unsure() {
		p.replace(a.display)
	} else {
		p.shown, p.earlierBody = a.display, payload{}
	}
	if a.creates() {
		s.replaceIfAbove(a.part)
	}
	switch {
	case p.role != roleText:
	case a.seal:
		p.nextStart = &a.next
	default:
		s.laidOutLength, s.shownFrame = a.size, a.frame
	}
}

// extend moves the deadline of the final to the time until, unless the deadline is already later.
func (s *state) extend(until time.Time) {
	if s.ending != nil && until.After(s.deadline) {
		s.deadline = until
	}
}

// settleTyping records whether the typing indicator works. Before the last permitted create call of a message, a typing
// indicator is also sent as a probe. The bot repeats this typing indicator until the platform answers.
func (s *state) settleTyping(a action, err error, now time.Time) {
	switch {
	case a.class == chat.ClassTyping:
		if err != nil {
			s.typing = 0
		}
	case err == nil:
		s.probed, s.failuresInRow = true, 0
	default:
		switch e := chat.AsSendError(err); e.Kind {
		case chat.Uncertain, chat.Temporary, chat.RateLimited:
			s.recordFailure(e, now)
			s.backoff(now)
		default: // the platform answered, even though it refused the call
			s.probed = true
		}
	}
}

// settleCreate records a created message and returns the display that the message may show. A message without an id
// can't be edited, so it counts as part of the reply only if it shows the final.
func (s *state) settleCreate(a action, p *message, ref chat.MessageRef) display {
	if s.draft = (draft{}); p.role == roleText { // the platform removes the draft when a message arrives
		s.displayed = true
	} else {
		s.laidOutLength = 0
	}
	p.ref, p.phase, p.streamStart = ref, standing, s.lastCall
	if p.certainty, p.file = p.certaintyAfter(a.display), a.kind == doFile; p.file { // the caption of a file can't be edited
		p.certainty = sure
	}
	// An earlier create call for the message may have started a stream.
	stream := p.attempt.resolution == byKey && p.attempt.streams
	p.attempt.resolve()
	switch {
	case ref.ID == "":
		s.mute(p)
		if s.nameless = true; p.role == roleText && s.ending == nil {
			p.phase = absent
		}
		if a.frame.below != "" {
			s.recordPreviewQuestion(a.frame)
		}
	case a.kind == doStart:
		p.phase = streaming
	case stream:
		p.phase, p.certainty = streaming, unsure
		a.cursor = true // if an earlier create call made no stream, it may have made a message with a frame
	}
	s.findSeam()
	return a.display
}

// restart handles a reply whose text starts over. A full part shows the discarded text, and only the final may edit
// this part. If a part is full, the reply therefore shows no more previews. If no part is full, previews show the new
// text in place of the old one.
func (s *state) restart() {
	s.laidOutLength, s.shownFrame = 0, frame{}
	for i := range s.parts {
		p := &s.parts[i]
		s.muted = s.muted || p.sealed()
		if p.streams() {
			p.certainty = unsure
		}
	}
}

// The method end records how the reply ends. The backoff after failed previews does not delay the final. The final is
// sent with markup, even if the platform refused the markup of a preview.
func (s *state) end(e *Ending, now time.Time) {
	s.ending, s.endedAt = e, now
	if !e.At.IsZero() && e.At.Before(now) {
		s.endedAt = e.At
	}
	if s.deadline = s.endedAt.Add(finalDeadline); s.deadline.Before(now.Add(lastChance)) {
		s.deadline = now.Add(lastChance)
	}
	s.holdUntil, s.failuresInRow = time.Time{}, 0
	for i := range s.parts {
		p := &s.parts[i]
		p.plain = p.plain && e.Keep
		p.abandoned = p.abandoned && !(e.Keep && p.exists()) // the message still shows its text from before the refusal
	}
	if e.Keep && s.resent > 0 {
		s.resend()
	}
	s.layoutFinal()
	s.findSeam()
}
