package preview

import (
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
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
	switch same := p.tried(&want); {
	case same && (p.given || p.exists && !p.unsure):
		return action{}, false
	case p.given, p.exists && !same: // another question is a new message, which people notice
		return s.dismiss(now)
	case p.exists && s.canEdit && p.editable():
		want.kind = doEdit
		return want, true
	case p.exists:
		return s.dismiss(now)
	}
	want = s.create(want, now)
	return want, want.kind != doEnd
}

// asking is the create of a message apart.
func (s *state) asking(text string, code Span, asks string) action {
	return action{
		kind: doSend, part: apart, body: payload{rendered: s.dialect.Render(lines(text, code)), plain: text},
		cursor: asks != "", frame: frame{asks: asks}, class: chat.ClassFirst,
	}
}

// leave takes what a preview without an id asked for the message apart, so that it is not asked again.
func (s *state) leave(f frame) {
	if f.below != "" {
		a := s.asking(f.below, f.code, f.asks)
		s.apart = part{gen: s.apart.gen + 1, exists: true, shown: a.body, cursor: a.cursor, frame: a.frame}
	}
}

// removable says that the message can be deleted.
func (s *state) removable(p *part) bool { return s.canDelete && p.ref.ID != "" }

// dismiss returns the call that the message apart needs once its question is over. False is none.
func (s *state) dismiss(now time.Time) (action, bool) {
	p := &s.apart
	a := action{kind: doSeal, part: apart, body: p.shown, stands: true, class: chat.ClassPreview}
	if s.ending != nil {
		a.class = chat.ClassFinal
	}
	if s.canDelete || s.canFind { // else what a create under the same key shows could not be taken away
		if found, ok := s.seek(apart, now); ok {
			found.class = a.class
			return found, true
		}
	}
	switch {
	case p.exists && s.removable(p):
		a.kind = doDelete
	case p.exists && s.canEdit && p.editable() && (p.cursor || p.unsure):
		if a.kind = doEdit; p.plain {
			a.body = plainPayload(a.body)
		}
	case !p.exists && !p.given && p.uncertain == 0 && !p.doubted && !p.lost:
		return action{}, false
	}
	return a, true
}

// settleApart folds in that action a on the message apart succeeded.
func (s *state) settleApart(a action, ref chat.MessageRef) {
	p := &s.apart
	switch a.kind {
	case doFind:
		if p.lost, p.doubted, p.mixed = false, false, false; ref.ID == "" {
			p.first = time.Time{} // the next create is the first under its key
			return
		}
		p.ref, p.exists, p.unsure = ref, true, true
		return
	case doDelete, doSeal: // the next one is another message
		s.stray = s.stray || p.uncertain > 0 || p.doubted && !p.exists
		*p = part{gen: p.gen + 1}
		return
	case doSend:
		p.ref, p.exists, p.unsure = ref, true, p.doubted && (p.mixed || !p.tried(&a))
		p.doubted, p.mixed = false, false
		s.nameless = s.nameless || ref.ID == ""
		s.draft, s.drawn = draft{}, 0 // it is gone where a message arrives
	default:
		p.unsure = false
	}
	p.shown, p.cursor, p.frame = a.body, a.cursor, a.frame
}

// apartError folds in that action a on the message apart failed.
func (s *state) apartError(a action, e *chat.SendError, now time.Time) {
	p := &s.apart
	switch {
	case a.kind == doFind && e.Kind != chat.Temporary && e.Kind != chat.Uncertain: // it can't be learned
		p.lost, p.doubted, s.canFind = false, false, false
		p.uncertain++
	case e.Kind == chat.Uncertain:
		muted := s.muted
		s.unknown(a, p, now)
		s.muted = muted // what becomes of it is not the reply's concern
		s.backoff(now)
	case e.Kind == chat.Temporary, e.Kind == chat.Conflict:
		s.backoff(now)
	case a.creates() && p.doubted && s.canFind:
		p.doubted, p.lost = false, true // the key leads nowhere
	case a.creates():
		p.given = true
		p.shown, p.cursor, p.frame = a.body, a.cursor, a.frame
	case a.kind == doEdit && a.stands && e.Kind == chat.Rejected && !p.plain:
		p.plain = true // once more, without markup: its buttons must not stay
	case a.kind == doEdit && e.Kind == chat.Frozen && s.removable(p): // whatever it shows, it is deleted first
		p.shown, p.cursor, p.frame = payload{}, false, frame{}
	default: // it is gone, or it stays: another one takes its place
		*p = part{gen: p.gen + 1}
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
	text := payload{rendered: markup.Rendered{Text: r.Text}, plain: r.Text}
	if r.Plain != "" {
		text.plain = r.Plain
	}
	for _, span := range r.Spans {
		text.rendered.Spans = append(text.rendered.Spans, markup.Span(span))
	}
	p := part{ref: r.Ref, gen: gen, cursor: r.Cursor, unsure: true, shown: text, first: r.First}
	here := r.Ref.ID == "" || r.Ref.Target.Chat == s.to.Chat
	switch {
	case r.State == chat.PartStands && here:
		p.exists = true
	case r.State == chat.PartIntended && (s.keyFor > 0 && now.Sub(p.first) < s.keyFor || s.canFind):
		s.doubt(&p, now)
		p.mixed = p.doubted
	default:
		p = part{gen: gen + 1}
	}
	s.apart = p
}
