package preview

import (
	"context"
	"log/slog"
	"slices"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Recorder keeps what must survive the process: which messages a reply has, and what was
// last tried to make them show.
type Recorder interface {
	// Record returns once the state of one message is durable.
	Record(ctx context.Context, p chat.Part) error
}

// restore takes up a reply where an earlier process left it. What the platform acknowledged
// last is not known for sure, so that nothing counts as shown until it was acknowledged anew.
func (s *state) restore(parts []chat.Part) {
	slices.SortFunc(parts, func(a, b chat.Part) int { return a.Index - b.Index })
	for _, r := range parts {
		for len(s.parts) <= r.Index {
			s.parts = append(s.parts, part{})
		}
		p := &s.parts[r.Index]
		p.ref, p.cursor, p.unsure = r.Ref, r.Cursor, true
		p.shown = payload{plain: r.Plain, end: len(r.Source)}
		p.shown.rendered.Text = r.Text
		for _, span := range r.Spans {
			p.shown.rendered.Spans = append(p.shown.rendered.Spans, markup.Span(span))
		}
		switch r.State {
		case chat.PartIntended:
			// The create may have taken effect: at most one more follows, with the final.
			p.uncertain, s.muted = 1, true
		case chat.PartGone:
			p.gone, s.muted = true, true
		case chat.PartSealed:
			p.exists, p.sealed = true, true
			s.muted = true // where its successor begins in the new text is not known
		case chat.PartStands:
			p.exists = true
			s.muted = s.muted || r.Index > 0
		}
		if p.exists {
			s.displayed, s.source = true, r.Source
		}
	}
	s.restored = len(parts) > 0
}

// record makes durable what is about to be tried, or what came of it. A preview is not worth
// a call that a crash would make us forget: it waits. A final goes out all the same.
func (r *Reply) record(ctx context.Context, p chat.Part) bool {
	if r.recorder == nil {
		return true
	}
	err := r.recorder.Record(ctx, p)
	if err != nil {
		r.log.ErrorContext(ctx, "state of a reply was not stored", slog.Any("error", err))
	}
	return err == nil
}

// intent is the record of action a before it is tried.
func (r *Reply) intent(a action) chat.Part {
	p := chat.Part{
		Index: a.part, Key: r.partKey(a.part), State: chat.PartIntended, Cursor: a.cursor,
		Text: a.body.rendered.Text, Plain: a.body.plain,
		Source: r.view.Text[:min(a.body.end, len(r.view.Text))],
	}
	if r.ending != nil {
		p.Source = r.ending.Text
	}
	for _, s := range a.body.rendered.Spans {
		p.Spans = append(p.Spans, chat.Span(s))
	}
	if a.part < len(r.parts) && r.parts[a.part].exists {
		p.Ref, p.State = r.parts[a.part].ref, chat.PartStands
		if r.parts[a.part].sealed {
			p.State = chat.PartSealed
		}
	}
	return p
}

// result is the record p of action a after it was settled.
func (r *Reply) result(p chat.Part) chat.Part {
	now := r.parts[p.Index]
	p.Ref = now.ref
	switch {
	case now.gone, !now.exists && now.uncertain == 0:
		p.State = chat.PartGone
	case !now.exists:
		p.State = chat.PartIntended
	case now.sealed:
		p.State = chat.PartSealed
	default:
		p.State = chat.PartStands
	}
	return p
}
