package preview

import (
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Span is a range of bytes in a text.
type Span struct{ From, To int }

// The function lines returns the given text, in which the bytes in the range code are formatted as code. The text
// contains the lines of a status.
func lines(text string, code Span) markup.Piece {
	p := markup.Piece{Text: text}
	if code.From < code.To {
		p.Formats = []markup.Format{{Style: markup.Pre, Start: code.From, End: code.To}}
	}
	return p
}

// codeIn returns the range of whole lines that must be formatted as code in a shortened question. These lines describe
// what the model wants to do, so no part of them must become a link, a mention or a command. If it is unclear which
// lines these are, codeIn returns the range of the whole question.
func codeIn(shortened, question string, code Span) Span {
	if code.From >= code.To {
		return Span{}
	}
	before, after := question[:code.From], question[code.To:]
	if len(shortened) < len(before)+len(after) || !strings.HasPrefix(shortened, before) || !strings.HasSuffix(shortened, after) {
		return Span{0, len(shortened)}
	}
	in := Span{strings.LastIndexByte(before, '\n') + 1, len(shortened)}
	if i := strings.IndexByte(after, '\n'); i >= 0 {
		in.To = len(shortened) - len(after) + i
	}
	return in
}

// questionText returns as much of the question as fits into a message, and the range of this text that is formatted as
// code.
func (s *state) questionText() (text string, code Span) {
	whole := strings.Join(s.view.Status.Lines, "\n")
	find := func(text string) Span { return codeIn(text, whole, s.view.Status.Code) }
	text = clip(whole, func(text string) bool { return s.fits(s.dialect.Render(lines(text, find(text)))) })
	return text, find(text)
}

// Shows reports whether the cursor and the whole question, with a part of it as code, fit into one message.
func Shows(e Endpoint, to chat.Target, cursor, question string, code Span) bool {
	dialect := e.Sender.Dialect(to)
	room := e.Sender.Profile(to).TextLimit - dialect.Len(markup.Rendered{Text: cursor})
	return dialect.Len(dialect.Render(lines(question, codeIn(question, question, code)))) <= room
}

// questionIndex is the record index of the first question message. Later question messages have the indexes
// questionIndex-1, questionIndex-2 and so on.
const questionIndex = -1 << 30

// planQuestion plans a separate message for a question that no preview can show. A separate message is needed if the
// platform can't edit messages, if the reply has no more previews, or if the rest of the reply will be sent as a file.
// The message is deleted when the question is answered.
func (s *state) planQuestion(now time.Time, separate bool) action {
	d := desired{part: questionAt, aim: aimGone, class: chat.ClassPreview}
	if separate {
		text, code := s.questionText()
		m, want := &s.question, s.questionMessage(text, code, s.view.Status.actionIDs())
		outdated := !m.shown.like(want.display) && (m.exists() || m.abandoned) // people notice a new message, but not an edit
		unsure := m.exists() && m.unsure() && !(s.can(chat.OpEdit) && m.editable())
		if !outdated && !unsure {
			d = want
		}
	}
	return s.plan(d, now)
}

func newQuestion(gen int) message { return message{role: roleQuestion, gen: gen} }

// questionMessage returns the desired message for a question.
func (s *state) questionMessage(text string, code Span, asks string) desired {
	return desired{part: questionAt, aim: aimShow, class: chat.ClassFirst, display: display{
		body: payload{rendered: s.dialect.Render(lines(text, code)), plain: text}, cursor: asks != "", frame: frame{actionIDs: asks, asksPerson: true},
	}}
}

// recordPreviewQuestion records that a preview without a message id already asked the question, so that the question is
// not asked again.
func (s *state) recordPreviewQuestion(f frame) {
	s.question = newQuestion(s.question.gen + 1)
	s.question.phase, s.question.shown = standing, s.questionMessage(f.below, f.code, f.actionIDs).display
}

// recordIndex returns the record index of a message.
func (s *state) recordIndex(i int) int {
	if i == questionAt {
		return questionIndex - s.question.gen
	}
	return i
}

// restoreQuestion restores the message of a question that an earlier process asked. The restored message will be
// deleted, since the earlier process no longer waits for the answer.
func (s *state) restoreQuestion(r chat.Part, now time.Time) {
	if gen := questionIndex - r.Index; gen >= s.question.gen {
		s.question = newQuestion(gen)
		if s.restoreMessage(&s.question, r, now); !s.question.exists() && !s.question.attempt.open() {
			s.question = newQuestion(gen + 1)
		}
	}
}
