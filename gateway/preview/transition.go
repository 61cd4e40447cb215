package preview

import (
	"time"

	"telex/internal/chat"
)

// failedCall is a failed call and the message that the call should have changed.
type failedCall struct {
	action
	message *message // nil for a draft
	err     *chat.SendError
	now     time.Time
}

// A transition changes the state of a reply because of a failed call.
type transition func(*state, failedCall)

// transitions contains, for one kind of call, the transition that each kind of error causes.
type transitions struct{ uncertain, rejected, tooLong, gone, frozen transition }

// failuresOf returns the transitions for a kind of call. text is true if the call's message is part of the text, and
// false if the message is a question or superseded.
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
		case a.repeats && e.Kind != chat.Gone:
			// The platform refuses to repeat an edit that it accepted before, so don't try again.
			m.foreignEdits = time.Time{}
			return
		case a.mark != "": // the stop mark may be the cause of the failure, so repeat the call without it
			s.cfg.StopMark = ""
			return
		case a.creates() && m.attempt.resolution == byKey && s.can(chat.OpFind):
			// The platform refuses the idempotency key, so search for the message that an earlier create call may have
			// made.
			m.attempt.resolution = byFind
			return
		}
	}
	f.transition()(s, f)
}

// The method transition returns the change of the state that a failed call causes. The table failuresOf contains the
// changes that depend on the kind of call.
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

// obeyLimit handles a rate limit. The budget already delays the calls of all replies, so this reply adds a backoff of
// its own only after several failures in a row.
func obeyLimit(s *state, f failedCall) {
	if s.failuresInRow > maxObeyedLimits {
		s.backoff(f.now)
	}
}

func tryLater(s *state, f failedCall) { s.backoff(f.now) }

// suspend waits and then repeats the call, because the platform may refuse access by mistake, or an administrator may
// soon restore it.
func suspend(s *state, f failedCall) { s.pauseFor(maxSuspension, f.now) }

// followChat continues the reply under the chat's new id, at most once. The ids of old messages are not valid in the
// new chat. A create call that is repeated in the new chat can't return the message that it may have made in the old
// chat.
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

// createUncertain records a create call that failed but may have made its message.
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

// editUncertain records an edit that failed but may have taken effect. The edit is repeated.
func editUncertain(s *state, f failedCall) {
	f.message.replace(f.display)
	f.message.certainty = unsure
	s.backoff(f.now)
}

// streamUncertain records a call on a stream that failed but may have taken effect. A call that appends text must not
// be repeated, because the text could appear twice.
func streamUncertain(s *state, f failedCall) {
	if f.added != "" {
		f.message.certainty = unsure
	}
	s.backoff(f.now)
}

// dropMarkup sends the refused content again without markup. If the content had no markup, dropMarkup gives up.
func dropMarkup(s *state, f failedCall) {
	if m := f.message; !m.plain && !f.body.equal(plainPayload(f.body)) {
		m.plain = true
		return
	}
	giveUp(s, f)
}

// cutShorter halves the maximum length of messages. The parts of the final before the part that was too long stay
// unchanged, because they may have been sent, and some platforms can't edit messages.
func cutShorter(s *state, f failedCall) {
	known := s.cutOf(f.part) > s.limit // the part was cut before the lower limit was known, perhaps by an earlier process
	if s.ending != nil && s.ending.Keep && (known || s.limit > minLimit) {
		s.limit = max(minLimit, s.limit/2)
		s.resend()
		return
	}
	if f.message.abandoned { // the platform refused the message's new text before, and now refuses its earlier text as well
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

// cutDraftShorter halves the maximum length of a draft, or stops the use of drafts if the length is already minimal.
func cutDraftShorter(s *state, f failedCall) {
	if s.limit <= minLimit {
		endDrafts(s, f)
		return
	}
	s.halve(f.part)
}

// giveUp stops the bot from making calls that can't succeed. Depending on the failed call, the reply shows no more
// previews, or the bot stops trying to show one message of the final or one question.
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
	case m.abandoned, f.kind == doEdit && f.keepsText: // the platform refuses the message's current content too
		m.shown.cursor, m.certainty = false, sure
	}
	m.abandoned = true
	s.restoreSupersededFor(m)
}

// refuseFile handles a file that the platform refuses. If the file contains the rest of the text, that text is sent as
// messages instead. Any other file is left out.
func refuseFile(s *state, f failedCall) {
	if s.restFile != nil && f.part == s.restAt {
		s.restAsText, s.final = true, nil
		return
	}
	giveUp(s, f)
}

// recordGone records that a message does not exist any more. If the failed call was not a deletion, a person must have
// deleted the message.
func recordGone(s *state, f failedCall) {
	f.message.renew()
	if s.muted = true; f.kind != doDelete {
		f.message.phase = gone
	}
	s.markAbove(f.part)
}

// supersede replaces a message that can't be edited any more.
func supersede(s *state, f failedCall) { s.supersede(f.part) }

// endStreams shows previews as edited messages from now on, because the platform refuses streams.
func endStreams(s *state, _ failedCall) { s.streamFor = 0 }

// endStream handles a refused append by stopping the stream, and a refused stop by editing the message.
func endStream(_ *state, f failedCall) {
	if f.message.certainty = unsure; f.added == "" {
		f.message.phase = standing
	}
}

// endDrafts shows previews as edited messages from now on, because the platform refuses drafts. The current text must
// then be shown again.
func endDrafts(s *state, _ failedCall) { s.draftFor, s.laidOutLength, s.shownFrame = 0, 0, frame{} }

// endFinds records that a search of the platform can't show whether a create call made its message.
func endFinds(s *state, f failedCall) {
	s.mute(f.message)
	s.cannot(chat.OpFind)
	f.message.attempt.giveUp()
}

// replaceQuestion handles a question message that can't be edited: the message is deleted before another question is
// asked. If the failed edit should have removed the buttons of an answered question, the edit is tried once more
// without markup.
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

// forgetMessage stops tracking a question message or a superseded message. The next question of the reply gets a new
// message.
func forgetMessage(s *state, f failedCall) {
	s.failuresInRow = 0
	s.forget(f.part)
}
