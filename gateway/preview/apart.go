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

// askBeside plans the message that holds a question beside the text: to show what is asked, or to be gone.
func (s *state) askBeside(now time.Time, asked bool) action {
	d := desired{part: questionAt, aim: aimGone, class: chat.ClassPreview}
	if asked {
		text, code := s.questionText()
		m, want := &s.question, s.asking(text, code, s.view.Status.asks())
		other := !m.shown.like(want.display) && (m.exists() || m.abandoned) // a new message, which people notice
		vague := m.exists() && m.unsure() && !(s.can(chat.OpEdit) && m.editable())
		if !other && !vague {
			d = want
		}
	}
	return s.plan(d, now)
}

func newQuestion(gen int) message { return message{role: roleQuestion, gen: gen} }

// asking is the message of a question.
func (s *state) asking(text string, code Span, asks string) desired {
	return desired{part: questionAt, aim: aimShow, class: chat.ClassFirst, display: display{
		body: payload{rendered: s.dialect.Render(lines(text, code)), plain: text}, cursor: asks != "", frame: frame{asks: asks},
	}}
}

// askedBy takes what a preview without an id asked for the message questionAt, so that it is not asked again.
func (s *state) askedBy(f frame) {
	if f.below != "" {
		a := s.asking(f.below, f.code, f.asks)
		s.question = newQuestion(s.question.gen + 1)
		s.question.phase, s.question.shown = standing, a.display
	}
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
