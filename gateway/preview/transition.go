package preview

import (
	"time"

	"telex/internal/chat"
)

// failedCall is a failed call and its message.
type failedCall struct {
	action
	message *message // unset for a draft
	err     *chat.SendError
	now     time.Time
}

// transition applies a failed call to the state.
type transition func(*state, failedCall)

// transitions are the transitions for one kind of call, by kind of error.
type transitions struct{ uncertain, rejected, tooLong, gone, frozen transition }

// failuresOf returns the transitions for a kind of call, which differ for messages of the text and others.
func failuresOf(kind actionKind, text bool) transitions {
	stream := transitions{streamUncertain, endStream, endStream, recordGone, endStream}
	find := transitions{tryLater, endFinds, endFinds, endFinds, endFinds}
	if text {
		return map[actionKind]transitions{
			doSend:   {createUncertain, dropMarkup, cutShorter, giveUp, giveUp},
			doFile:   {createUncertain, refuseFile, refuseFile, refuseFile, refuseFile},
			doStart:  {createUncertain, endStreams, cutShorter, endStreams, endStreams},
			doEdit:   {editUncertain, dropMarkup, cutShorter, recordGone, supersede},
			doDelete: {tryLater, giveUp, giveUp, recordGone, recordGone},
			doDraft:  {tryLater, endDrafts, cutDraftShorter, endDrafts, endDrafts},
			doAppend: stream, doStop: stream, doFind: find,
		}[kind]
	}
	return map[actionKind]transitions{
		doSend:   {createUncertain, giveUp, giveUp, giveUp, giveUp},
		doEdit:   {editUncertain, replaceQuestion, replaceQuestion, forgetMessage, replaceQuestion},
		doDelete: {tryLater, forgetMessage, forgetMessage, forgetMessage, forgetMessage},
		doFind:   find,
	}[kind]
}

// fail applies the failure of action a.
func (s *state) fail(a action, e *chat.SendError, now time.Time) {
	s.recordFailure(e, now)
	f := failedCall{action: a, message: s.at(a.part), err: e, now: now}
	switch e.Kind {
	case chat.Rejected, chat.TooLong, chat.Gone, chat.Frozen:
		switch m := f.message; {
		case a.repeats && e.Kind != chat.Gone: // the message already shows the content, unless an edit of another process took effect
			m.foreignEdits = time.Time{}
			return
		case a.mark != "": // the mark may be the cause
			s.cfg.StopMark = ""
			return
		case a.creates() && m.attempt.resolution == byKey && s.can(chat.OpFind):
			m.attempt.resolution = byFind // the platform refuses the key, so search for the message of an earlier try
			return
		}
	}
	f.transition()(s, f)
}

// transition returns the transition for a failed call.
func (f failedCall) transition() transition {
	t := failuresOf(f.kind, f.part >= 0)
	switch f.err.Kind {
	case chat.RateLimited:
		return obeyLimit
	case chat.Temporary, chat.Conflict:
		return tryLater
	case chat.Forbidden, chat.Auth:
		return suspend
	case chat.Moved:
		return followChat
	case chat.Rejected:
		return t.rejected
	case chat.TooLong:
		return t.tooLong
	case chat.Gone:
		return t.gone
	case chat.Frozen:
		return t.frozen
	default:
		return t.uncertain
	}
}

// obeyLimit leaves the waiting to the budget, which delays all replies.
func obeyLimit(s *state, f failedCall) {
	if s.failuresInRow > maxObeyedLimits {
		s.backoff(f.now)
	}
}

func tryLater(s *state, f failedCall) { s.backoff(f.now) }

// suspend waits and repeats the call: a refusal may be a mistake of the platform or soon be undone.
func suspend(s *state, f failedCall) { s.pauseFor(maxSuspension, f.now) }

// followChat continues the reply under the chat's new id, at most once. Old message ids are not valid there, and a
// create that is repeated there does not find a message of the old chat.
func followChat(s *state, f failedCall) {
	to := f.err.Moved
	if s.moved != "" || to == "" {
		s.unreachable = true
		return
	}
	s.to.Chat, s.moved, s.muted, s.replyTo = to, to, true, ""
	s.superseded, s.question = nil, newQuestion(s.question.gen+1)
	for i := range s.parts {
		if p := &s.parts[i]; p.exists() && p.ref.Target.Chat != to || !p.exists() && p.attempt.open() {
			p.renew()
		}
	}
}

// createUncertain records a create that may have taken effect.
func createUncertain(s *state, f failedCall) {
	m := f.message
	m.attempt.streams, m.file = m.attempt.streams || f.kind == doStart, f.kind == doFile
	m.attempt.mixed = m.attempt.mixed || m.attempt.resolution == byKey && !m.shown.like(f.display)
	m.replace(f.display)
	m.attempt.create = s.currentCreate
	if m.attempt.firstAt.IsZero() {
		m.attempt.firstAt = s.lastCall
	}
	s.recordUncertainCreate(m, f.now)
	s.backoff(f.now)
	if s.ending != nil && !s.ending.Keep && m.givenUp() {
		s.restoreSupersededFor(m)
	}
}

// editUncertain records an edit that may have taken effect. The edit is repeated.
func editUncertain(s *state, f failedCall) {
	f.message.replace(f.display)
	f.message.certainty = unsure
	s.backoff(f.now)
}

// streamUncertain records a call on a stream that may have taken effect. An append can't be repeated; a stop can.
func streamUncertain(s *state, f failedCall) {
	if f.added != "" {
		f.message.certainty = unsure
	}
	s.backoff(f.now)
}

// dropMarkup tries refused content again without its markup, and then gives up.
func dropMarkup(s *state, f failedCall) {
	if m := f.message; !m.plain && !f.body.equal(plainPayload(f.body)) {
		m.plain = true
		return
	}
	giveUp(s, f)
}

// cutShorter halves the length of messages. Parts of the final before the part that was too long stay as they are: they
// may have been sent, and some platforms can't edit them.
func cutShorter(s *state, f failedCall) {
	known := s.cutOf(f.part) > s.limit // it was cut before the limit was known, perhaps by an earlier process
	if s.ending != nil && s.ending.Keep && (known || s.limit > minLimit) {
		s.limit = max(minLimit, s.limit/2)
		s.resend()
		return
	}
	if f.message.abandoned { // its new text was refused before, and now its earlier text is refused as well
		giveUp(s, f)
		return
	}
	if !known && s.limit <= minLimit || s.ending != nil && f.part >= len(s.final) {
		giveUp(s, f)
		return
	}
	if s.ending != nil {
		s.keptParts, s.final = s.final[:min(f.part, s.textCount)], nil
	}
	if known {
		s.cuts = s.cuts[:f.part]
		return
	}
	s.halve(f.part)
}

// cutDraftShorter halves the length for a draft.
func cutDraftShorter(s *state, f failedCall) {
	if s.limit <= minLimit {
		endDrafts(s, f)
		return
	}
	s.halve(f.part)
}

// giveUp stops calls that can't succeed: the previews of this reply, this message of the final, or the question.
func giveUp(s *state, f failedCall) {
	m := f.message
	switch s.mute(m); {
	case m.role == roleQuestion:
		m.shown = f.display
	case s.ending == nil:
		return
	case m.revert(f.body):
	case f.kind == doEdit && f.keepsText && m.shortenText():
		return
	case m.abandoned, f.kind == doEdit && f.keepsText: // its current content is refused too
		m.shown.cursor, m.certainty = false, sure
	}
	m.abandoned = true
	s.restoreSupersededFor(m)
}

// refuseFile handles a refused file. A file with the rest of the text is sent as messages instead. Any other
// file is left out, since the text is the answer.
func refuseFile(s *state, f failedCall) {
	if s.restFile != nil && f.part == s.restAt {
		s.restAsText, s.final = true, nil
		return
	}
	giveUp(s, f)
}

// recordGone records that a message does not exist. Unless the failed call was a delete, a person deleted it.
func recordGone(s *state, f failedCall) {
	f.message.renew()
	if s.muted = true; f.kind != doDelete {
		f.message.phase = gone
	}
	s.markAbove(f.part)
}

// supersede replaces a message that can't be edited any more.
func supersede(s *state, f failedCall) { s.supersede(f.part) }

// endStreams makes previews edits from now on, because the platform refuses streams.
func endStreams(s *state, _ failedCall) { s.streamFor = 0 }

// endStream handles a refused append by stopping the stream, and a refused stop by editing the message.
func endStream(_ *state, f failedCall) {
	if f.message.certainty = unsure; f.added == "" {
		f.message.phase = standing
	}
}

// endDrafts makes previews edits from now on, because the platform refuses drafts. The text so far must be shown again.
func endDrafts(s *state, _ failedCall) { s.draftFor, s.laidOutLength, s.shownFrame = 0, 0, frame{} }

// endFinds records that the platform can't tell whether a create took effect.
func endFinds(s *state, f failedCall) {
	s.mute(f.message)
	s.cannot(chat.OpFind)
	f.message.attempt.giveUp()
}

// replaceQuestion handles a question that can't be edited: it is deleted before another is asked. For an
// answered question, the removal of its buttons is tried once more without markup.
func replaceQuestion(s *state, f failedCall) {
	switch m := f.message; {
	case !f.keepsText:
		m.shown = display{body: m.shown.body, cursor: true}
	case f.err.Kind == chat.Rejected && !m.plain:
		m.plain = true
	default:
		forgetMessage(s, f)
	}
}

// forgetMessage stops tracking a message that is not part of the text. The next question gets a new message.
func forgetMessage(s *state, f failedCall) {
	s.failuresInRow = 0
	s.forget(f.part)
}
