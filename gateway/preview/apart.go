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
	p := &s.question
	question, code := s.questionText()
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

func newQuestion(gen int) message { return message{role: roleQuestion, gen: gen} }

// asking is the create of a message apart.
func (s *state) asking(text string, code Span, asks string) action {
	return action{
		kind: doSend, part: questionAt, class: chat.ClassFirst,
		display: display{
			body: payload{rendered: s.dialect.Render(lines(text, code)), plain: text}, cursor: asks != "", frame: frame{asks: asks},
		},
	}
}

// askedBy takes what a preview without an id asked for the message questionAt, so that it is not asked again.
func (s *state) askedBy(f frame) {
	if f.below != "" {
		a := s.asking(f.below, f.code, f.asks)
		s.question = newQuestion(s.question.gen + 1)
		s.question.phase, s.question.shown = standing, a.display
	}
}

// removable says that the message can be deleted.
func (s *state) removable(p *message) bool { return s.can(chat.OpDelete) && p.ref.ID != "" }

// dismiss returns the call that the message apart needs once its question is over. False is none.
func (s *state) dismiss(now time.Time) (action, bool) {
	p := &s.question
	a := action{kind: doSeal, part: questionAt, display: display{body: p.shown.body}, stands: true, class: chat.ClassPreview}
	if s.ending != nil {
		a.class = chat.ClassFinal
	}
	if s.can(chat.OpDelete) || s.can(chat.OpFind) { // else what a create under the same key shows could not be taken away
		if found, ok := s.seek(questionAt, now); ok {
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

// settleBeside folds in that action a on a message succeeded that is not of the text.
func (s *state) settleBeside(a action, ref chat.MessageRef) {
	m := s.at(a.part)
	switch a.kind {
	case doFind:
		if ref.ID == "" {
			m.attempt.forget()
			return
		}
		m.attempt.learned()
		m.ref, m.phase, m.certainty = ref, standing, unsure
		return
	case doDelete, doSeal:
		s.forget(a.part)
		return
	case doSend:
		m.ref, m.phase, m.certainty = ref, standing, m.after(a.display)
		m.attempt.learned()
		s.nameless = s.nameless || ref.ID == ""
		s.draft, s.drawn = draft{}, 0 // it is gone where a message arrives
	default:
		m.certainty = sure
	}
	m.shown = a.display
}

// index is the index of the record of a message.
func (s *state) index(i int) int {
	if i == questionAt {
		return apartIndex - s.question.gen
	}
	return i
}

// restoreApart takes up a question of an earlier process. Nobody waits for its answer any more.
func (s *state) restoreApart(r chat.Part, now time.Time) {
	gen := apartIndex - r.Index
	if gen < s.question.gen {
		return
	}
	p := message{role: roleQuestion, ref: r.Ref, gen: gen, certainty: unsure, shown: display{body: recorded(r), cursor: r.Cursor}, attempt: attempt{first: r.First}}
	here := r.Ref.ID == "" || r.Ref.Target.Chat == s.to.Chat
	switch {
	case r.State == chat.PartStands && here:
		p.phase = standing
	case r.State == chat.PartIntended && (s.keyFor > 0 && now.Sub(p.attempt.first) < s.keyFor || s.can(chat.OpFind)):
		s.doubt(&p, now)
		p.attempt.mixed = p.attempt.resolution == byKey
	default:
		p = newQuestion(gen + 1)
	}
	s.question = p
}
