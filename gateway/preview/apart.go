package preview

import (
	"time"

	"telex/internal/chat"
)

// A question that no preview can show stands apart: in a message of its own, which is nothing of the reply.
// It is there where the platform can't edit, where the reply has no more previews, and where its rest will be
// a file. Once it is over it is deleted, or loses its buttons, or is left as it stands, whichever the platform can.

// apartIndex and below are the records of such messages, by generation.
const apartIndex = -1 << 30

// askApart returns the call that the message apart needs: to show what is asked, or to be gone. False is none.
func (s *state) askApart(now time.Time, asked bool) (action, bool) {
	if !asked {
		return s.dismiss(now)
	}
	p := &s.apart
	question, code := s.question()
	want := s.asking(question, code, s.view.Status.asks())
	switch same := p.shown.like(want.display); {
	case same && (p.abandoned || p.exists() && !p.unsure()):
		return action{}, false
	case p.abandoned, p.exists() && !same: // another question is a new message, which people notice
		return s.dismiss(now)
	case p.exists() && s.can(chat.OpEdit) && p.editable():
		want.kind = doEdit
		return want, true
	case p.exists():
		return s.dismiss(now)
	}
	want = s.create(want, now)
	return want, want.kind != doEnd
}

// asking is the create of a message apart.
func (s *state) asking(text string, code Span, asks string) action {
	return action{
		kind: doSend, part: apart, class: chat.ClassFirst,
		display: display{
			body: payload{rendered: s.dialect.Render(lines(text, code)), plain: text}, cursor: asks != "", frame: frame{asks: asks},
		},
	}
}

// leave takes what a preview without an id asked for the message apart, so that it is not asked again.
func (s *state) leave(f frame) {
	if f.below != "" {
		a := s.asking(f.below, f.code, f.asks)
		s.apart = message{gen: s.apart.gen + 1, phase: standing, shown: a.display}
	}
}

// removable says that the message can be deleted.
func (s *state) removable(p *message) bool { return s.can(chat.OpDelete) && p.ref.ID != "" }

// dismiss returns the call that the message apart needs once its question is over. False is none.
func (s *state) dismiss(now time.Time) (action, bool) {
	p := &s.apart
	a := action{kind: doSeal, part: apart, display: display{body: p.shown.body}, stands: true, class: chat.ClassPreview}
	if s.ending != nil {
		a.class = chat.ClassFinal
	}
	if s.can(chat.OpDelete) || s.can(chat.OpFind) { // else what a create under the same key shows could not be taken away
		if found, ok := s.seek(apart, now); ok {
			found.class = a.class
			return found, true
		}
	}
	switch {
	case p.exists() && s.removable(p):
		a.kind = doDelete
	case p.exists() && s.can(chat.OpEdit) && p.editable() && p.unfinished():
		if a.kind = doEdit; p.plain {
			a.body = plainPayload(a.body)
		}
	case !p.exists() && !p.abandoned && !p.doubtful():
		return action{}, false
	}
	return a, true
}

// settleApart folds in that action a on the message apart succeeded.
func (s *state) settleApart(a action, ref chat.MessageRef) {
	p := &s.apart
	switch a.kind {
	case doFind:
		if ref.ID == "" {
			p.attempt.forget()
			return
		}
		p.attempt.learned()
		p.ref, p.phase, p.certainty = ref, standing, unsure
		return
	case doDelete, doSeal: // the next one is another message
		s.stray = s.stray || p.doubtful()
		*p = message{gen: p.gen + 1}
		return
	case doSend:
		p.ref, p.phase, p.certainty = ref, standing, p.after(a.display)
		p.attempt.learned()
		s.nameless = s.nameless || ref.ID == ""
		s.draft, s.drawn = draft{}, 0 // it is gone where a message arrives
	default:
		p.certainty = sure
	}
	p.shown = a.display
}

// apartError folds in that action a on the message apart failed.
func (s *state) apartError(a action, e *chat.SendError, now time.Time) {
	p := &s.apart
	switch {
	case a.kind == doFind && e.Kind != chat.Temporary && e.Kind != chat.Uncertain: // it can't be learned
		s.cannot(chat.OpFind)
		p.attempt.giveUp()
	case e.Kind == chat.Uncertain:
		muted := s.muted
		s.unknown(a, p, now)
		s.muted = muted // what becomes of it is not the reply's concern
		s.backoff(now)
	case e.Kind == chat.Temporary, e.Kind == chat.Conflict:
		s.backoff(now)
	case a.creates() && p.attempt.resolution == byKey && s.can(chat.OpFind):
		p.attempt.resolution = byFind // the key leads nowhere
	case a.creates():
		p.abandoned, p.shown = true, a.display
	case a.kind == doEdit && !a.stands && e.Kind != chat.Gone: // it stands all the same, and goes before another is asked
		p.shown = display{body: p.shown.body, cursor: true}
	case a.kind == doEdit && a.stands && e.Kind == chat.Rejected && !p.plain:
		p.plain = true // once more, without markup: its buttons must not stay
	default: // it is gone, or it stays: another one takes its place
		*p = message{gen: p.gen + 1}
	}
}

// index is the index of the record of a message.
func (s *state) index(i int) int {
	if i == apart {
		return apartIndex - s.apart.gen
	}
	return i
}

// restoreApart takes up a question of an earlier process. Nobody waits for its answer any more.
func (s *state) restoreApart(r chat.Part, now time.Time) {
	gen := apartIndex - r.Index
	if gen < s.apart.gen {
		return
	}
	p := message{ref: r.Ref, gen: gen, certainty: unsure, shown: display{body: recorded(r), cursor: r.Cursor}, attempt: attempt{first: r.First}}
	here := r.Ref.ID == "" || r.Ref.Target.Chat == s.to.Chat
	switch {
	case r.State == chat.PartStands && here:
		p.phase = standing
	case r.State == chat.PartIntended && (s.keyFor > 0 && now.Sub(p.attempt.first) < s.keyFor || s.can(chat.OpFind)):
		s.doubt(&p, now)
		p.attempt.mixed = p.attempt.resolution == byKey
	default:
		p = message{gen: gen + 1}
	}
	s.apart = p
}
