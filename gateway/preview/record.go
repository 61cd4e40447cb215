package preview

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Recorder keeps what must survive the process: which messages a reply has, and what was
// last tried to make them show.
type Recorder interface {
	// Record returns once the state of one message is durable.
	Record(ctx context.Context, p chat.Part) error
	// Edited stores, some time later, what an edit of a preview showed. It does not block.
	Edited(p chat.Part)
	// Moved returns once everything of the chat is durably carried over to its new id.
	Moved(ctx context.Context, to chat.ChatID) error
}

// restore takes up a reply where an earlier process left it. What the platform acknowledged
// last is not known for sure, so that nothing counts as shown until it was acknowledged anew.
func (s *state) restore(parts []chat.Part, now time.Time) {
	slices.SortFunc(parts, func(a, b chat.Part) int { return a.Index - b.Index })
	for _, r := range parts {
		switch {
		case r.Index <= questionIndex:
			s.restoreQuestion(r, now)
			continue
		case r.Index < 0:
			s.restoreSuperseded(r)
			continue
		}
		for len(s.parts) <= r.Index {
			s.parts = append(s.parts, message{})
		}
		p := &s.parts[r.Index]
		p.gen, p.source = generation(r.Key), r.Source
		s.restoreMessage(p, r, now)
		if r.State == chat.PartStands {
			s.muted = s.muted || r.Index > 0
		}
		if s.isSuperseded(r.Ref) {
			p.renew()
		}
		s.restoreStanding(p, r)
		if p.exists() {
			s.displayed, s.source = true, s.source+r.Source
			p.shown.body.end = len(s.source)
		}
	}
	for _, m := range s.superseded {
		s.mayStandAbove(m.place)
	}
	s.recovered = len(s.source)
}

// restoreMessage takes up a message as far as its record tells.
func (s *state) restoreMessage(m *message, r chat.Part, now time.Time) {
	m.ref, m.certainty, m.shown = r.Ref, unsure, display{body: recorded(r), cursor: r.Cursor}
	m.attempt.first, m.file = r.First, r.File
	switch r.State {
	case chat.PartIntended:
		// The create may have taken effect: at most one more follows, with the final.
		m.attempt.streams = m.role == roleText && s.can(chat.OpStart) && !r.Cursor // which no stream has
		s.doubt(m, now)
		if m.attempt.processes = max(1, r.Tries); m.attempt.processes >= maxTries && m.attempt.unresolved > 0 {
			m.attempt.unresolved = uncertainCreates
		}
		m.attempt.mixed = m.attempt.resolution == byKey // which payloads were tried is not known
	case chat.PartStreams:
		if m.phase = standing; s.can(chat.OpStart) {
			m.phase = streaming
		}
	case chat.PartRefused:
		m.abandoned = true
	case chat.PartGone:
		m.phase = gone
		m.gen++
		s.mute(m)
	case chat.PartSealed:
		m.phase, m.next = standing, new(markup.Mark)
		s.mute(m) // where its successor begins in the new text is not known
	case chat.PartStands:
		m.phase = standing
	}
	if m.exists() && r.Ref.Target.Chat != s.to.Chat {
		m.renew()
	}
}

// recorded is what the record of a message says that it shows.
func recorded(r chat.Part) payload {
	b := payload{rendered: markup.Rendered{Text: r.Text}, plain: cmp.Or(r.Plain, r.Text)}
	for _, span := range r.Spans {
		b.rendered.Spans = append(b.rendered.Spans, markup.Span(span))
	}
	return b
}

// restoreStanding takes up what can't be edited: a message without an id shows what it was
// sent with, and the parts stay as they were cut: where nothing can be edited they must, elsewhere
// it saves calls.
func (s *state) restoreStanding(p *message, r chat.Part) {
	if p.file { // nobody can change what it shows
		p.certainty = sure
	}
	if p.exists() && p.ref.ID == "" {
		p.certainty, s.muted, s.nameless = sure, true, true
	}
	if r.Cut <= 0 || !p.exists() && !p.doubtful() && !p.abandoned {
		return
	}
	if !s.can(chat.OpEdit) && p.exists() {
		p.certainty = sure
	}
	if r.Index == len(s.cuts) {
		s.cuts = append(s.cuts, r.Cut)
	}
	s.limit = min(s.limit, r.Cut)
}

// generation reads how many messages a part had before the one that was made with key.
func generation(key string) int {
	_, n, _ := strings.Cut(key, "+")
	gen, _ := strconv.Atoi(n) // 0 without one
	return gen
}

// record makes durable what is about to be tried, or what came of it. A preview is not worth
// a call that a crash would make us forget: it waits. A final goes out all the same.
func (r *Reply) record(ctx context.Context, p chat.Part) bool {
	if r.recorder == nil {
		return true
	}
	err := r.recorder.Record(ctx, p)
	switch {
	case err != nil && !r.unstored:
		r.log.ErrorContext(ctx, "state of a reply was not stored", slog.Any("error", err))
	case err != nil:
		r.log.DebugContext(ctx, "state of a reply was not stored again", slog.Any("error", err))
	}
	r.unstored = r.unstored || err != nil
	return err == nil
}

// follows stores that the chat has a new id, before anything is sent there.
func (r *Reply) follows(ctx context.Context) {
	if r.recorder == nil {
		return
	}
	if err := r.recorder.Moved(ctx, r.moved); err != nil {
		r.log.ErrorContext(ctx, "the chat's new id was not stored", slog.Any("error", err))
	}
}

// behind says that the record of an edit need not be durable before it: it is worth no more than a moment's text. What asks
// a person is worth more, and so is the first text of a message, which the next process would take for one without any.
func (r *Reply) behind(a action) bool {
	if a.kind != doEdit && a.kind != doAppend || r.ending != nil || a.part < 0 || a.seal || a.stands {
		return false
	}
	before := r.at(a.part).shown
	return before.frame.below == "" && a.frame.below == "" && !before.body.blank()
}

// recordIntent stores what action a is about to try, when it makes or changes a message of the reply.
// It returns false when that was not possible.
func (r *Reply) recordIntent(ctx context.Context, a action) (chat.Part, bool) {
	switch a.kind {
	case doSend, doEdit, doDelete, doFile, doStart, doAppend, doStop:
		if a.part <= supersededAt {
			break
		}
		p := r.intent(a)
		return p, r.behind(a) || r.record(ctx, p)
	case doFind:
		return r.intent(a), true
	}
	return chat.Part{}, true
}

// note stores what came of action a, where that is more than what was planned.
func (r *Reply) note(ctx context.Context, a action, plan chat.Part) {
	for i := range r.superseded {
		if m := &r.superseded[i]; !m.stored {
			m.stored = r.record(ctx, m.supersededRecord())
		}
	}
	if plan.Key == "" {
		return
	}
	shows := r.at(a.part).shown.body.equal(a.body)
	if shows {
		r.at(a.part).source = plan.Source
	}
	switch now := r.result(a.part, plan); {
	case a.creates() || now.State != plan.State:
		r.record(ctx, now)
	case shows && r.behind(a) && r.recorder != nil:
		r.recorder.Edited(now)
	}
}

// recordStanding stores what stands where the records say what a final was about to show: the final is given up, and a process that
// goes on from here must not take it for what people see.
func (r *Reply) recordStanding(ctx context.Context) {
	for i := range r.parts {
		if m := &r.parts[i]; m.editable() {
			r.record(ctx, r.intent(action{kind: doEdit, desired: desired{part: i, display: m.shown, stands: true}}))
		}
	}
}

// intent is the record of action a before it is tried.
func (r *Reply) intent(a action) chat.Part {
	now := *r.at(a.part)
	if a.kind == doDelete || a.kind == doFind { // neither changes what stands, if it does
		a.display, a.stands = now.shown, true
	}
	if a.part >= 0 && a.body.blank() && !now.blank() { // should the process die, the text that the message may show still counts
		a.body, a.cursor, a.stands = now.standing(), true, true
	}
	p := chat.Part{
		Index: r.index(a.part), Key: r.partKey(a.part), State: chat.PartIntended, Cursor: a.cursor,
		Text: a.body.rendered.Text, Cut: r.cutOf(a.part), File: a.kind == doFile, Spans: spansOf(a.body.rendered),
	}
	if a.body.plain != p.Text {
		p.Plain = a.body.plain
	}
	p.Source, _ = r.previewSource(a)
	if p.Tries = now.attempt.processes; a.creates() {
		p.Tries++
	}
	if p.First = now.attempt.first; p.First.IsZero() {
		p.First = time.Now()
	}
	if a.creates() {
		// Whichever create under the key took effect may stand: with a cursor it is none of a stream's, without one the next
		// process takes it for one.
		framed := now.attempt.resolution == byKey && now.shown.cursor && a.kind != doStart
		p.Cursor = (p.Cursor || framed) && !now.attempt.streams
	}
	if now.exists() && !a.creates() { // another one takes the place of a message without an id
		p.Ref, p.State = now.ref, now.state()
	}
	p.File = now.file && a.kind != doSend || p.File
	return p
}

// origin is the Markdown that a shows and those before it do not, and the note below it.
func (r *Reply) origin(a action) (source, note string) {
	if source, ok := r.previewSource(a); ok {
		return source, ""
	}
	if a.part == r.noteAt {
		note = r.remark
	}
	switch {
	case a.part >= r.texts: // the note alone, or a file
		return "", note
	case r.literal && a.part == 0:
		return r.ending.Text, note
	case r.literal:
		return "", note
	}
	start := 0
	for _, p := range r.final[:a.part] {
		start = max(start, p.End)
	}
	return cut(r.ending.Text, start, a.body.end), note
}

// previewSource is the Markdown that a preview shows and those before it do not; false where a shows the final.
func (r *Reply) previewSource(a action) (string, bool) {
	switch {
	case a.part < 0:
		return "", true
	case a.stands:
		return r.at(a.part).source, true
	case r.ending != nil && !r.ending.Keep:
		return "", false
	}
	start := 0 // text that turned out to be another construct may be shown again: its Markdown counts once
	for _, p := range r.parts[:min(a.part, len(r.parts))] {
		start = max(start, p.shown.body.end)
	}
	return cut(r.view.Text, start, a.body.end), true
}

// cut is text from start to end, as far as there is any.
func cut(text string, start, end int) string {
	end = min(end, len(text))
	return text[min(start, end):end]
}

// state is what is known of a message that stands.
func (m *message) state() chat.PartState {
	switch {
	case m.streams():
		return chat.PartStreams
	case m.sealed():
		return chat.PartSealed
	default:
		return chat.PartStands
	}
}

// result is the record p of the action on message i after it was settled.
func (r *Reply) result(i int, p chat.Part) chat.Part {
	now := r.at(i)
	p.File = now.file
	if now.attempt.unresolved >= uncertainCreates && r.ending != nil && !r.ending.Keep { // nor does the next process try it again
		p.Tries = maxTries
	}
	switch {
	case now.exists():
		p.Ref, p.State = now.ref, now.state()
	case p.State != chat.PartIntended:
		p.State = chat.PartGone
	case now.doubtful(): // also where an earlier one was deleted
	case now.phase == gone:
		p.State = chat.PartGone
	case now.abandoned:
		p.State = chat.PartRefused
	default:
		p.State = chat.PartAbsent
	}
	return p
}
