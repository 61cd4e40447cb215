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

// Recorder stores what must survive the process: the messages of a reply and their last tried content.
type Recorder interface {
	// Record returns once the state of one message is durable.
	Record(ctx context.Context, p chat.Part) error
	// Edited stores the content of a preview edit some time later. It does not block.
	Edited(p chat.Part)
	// Moved returns once all data of the chat is durably moved to its new id.
	Moved(ctx context.Context, to chat.ChatID) error
}

// restore continues a reply of an earlier process. What the platform last acknowledged is uncertain, so no
// content counts as shown until it is acknowledged again.
func (s *state) restore(parts []chat.Part, now time.Time) {
	slices.SortFunc(parts, func(a, b chat.Part) int { return a.Index - b.Index })
	end := 0
	for _, r := range parts {
		switch {
		case r.Index <= questionIndex:
			s.restoreQuestion(r, now)
			continue
		case r.Index < 0:
			s.restoreSuperseded(r, now)
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
			if end += len(r.Source); r.Source == "" && !p.blank() { // a part of the final, whose Markdown the ending has
				s.begun, end = true, end+len(r.Text)
			}
			p.shown.body.end = end
		}
	}
	for _, m := range s.superseded {
		s.mayStandAbove(m.place)
	}
	s.recovered = len(s.source)
}

// remember makes certain what the restored messages show, where an earlier run in this process knew it.
func (s *state) remember(known []message) {
	for i := range s.parts[:min(len(s.parts), len(known))] {
		p, k := &s.parts[i], &known[i]
		if p.phase == standing && k.phase == standing && p.ref == k.ref {
			end := p.shown.body.end
			p.certainty, p.shown, p.before = k.certainty, k.shown, k.before
			p.shown.body.end = end
		}
	}
}

// restoreMessage restores a message from its record.
func (s *state) restoreMessage(m *message, r chat.Part, now time.Time) {
	m.ref, m.certainty, m.shown = r.Ref, unsure, display{body: recorded(r), cursor: r.Cursor}
	m.attempt.first, m.file, m.attempt.create = r.First, r.File, r.Create
	switch r.State {
	case chat.PartIntended:
		// The create may have taken effect: at most one more follows, with the final.
		m.attempt.streams = m.role == roleText && s.can(chat.OpStart) && !r.Cursor // a stream has no cursor
		s.doubt(m, now)
		if m.attempt.processes = max(1, r.Tries); m.attempt.processes >= maxTries && m.attempt.unresolved > 0 {
			m.attempt.unresolved = uncertainCreates
		}
		m.attempt.mixed = m.attempt.resolution == byKey // the payloads that were tried are unknown
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
		s.mute(m) // the start of its successor in the new text is unknown
	case chat.PartStands:
		m.phase = standing
	}
	if m.exists() && r.Ref.Target.Chat != s.to.Chat {
		m.renew()
	}
}

// recorded returns the payload in the record of a message.
func recorded(r chat.Part) payload {
	b := payload{rendered: markup.Rendered{Text: r.Text}, plain: cmp.Or(r.Plain, r.Text)}
	for _, span := range r.Spans {
		b.rendered.Spans = append(b.rendered.Spans, markup.Span(span))
	}
	return b
}

// restoreStanding restores messages that can't be edited. A message without an id shows the content of its
// create. The parts keep their cuts: this is required where nothing can be edited, and elsewhere it saves calls.
func (s *state) restoreStanding(p *message, r chat.Part) {
	if p.file { // the caption of a file can't be edited
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

// generation parses from key how many messages the part had before.
func generation(key string) int {
	_, n, _ := strings.Cut(key, "+")
	gen, _ := strconv.Atoi(n) // 0 without one
	return gen
}

// record stores what is about to be tried, or its outcome. If storing fails, a preview waits, because a crash
// would make us forget the call. A final is sent anyway.
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

// follows stores the chat's new id before anything is sent there.
func (r *Reply) follows(ctx context.Context) {
	if r.recorder == nil {
		return
	}
	if err := r.recorder.Moved(ctx, r.moved); err != nil {
		r.log.ErrorContext(ctx, "the chat's new id was not stored", slog.Any("error", err))
	}
}

// behind reports whether the record of an edit may be stored after the edit: a crash then loses only a moment's
// text. This excludes a question, and the first text of a message: without its record the next process would
// assume that the message has no text.
func (r *Reply) behind(a action) bool {
	if a.kind != doEdit && a.kind != doAppend || r.ending != nil || a.part < 0 || a.seal || a.stands {
		return false
	}
	before := r.at(a.part).shown
	return before.frame.below == "" && a.frame.below == "" && !before.body.blank()
}

// recordIntent stores the change that action a is about to try, if a creates or changes a message of the reply.
// It returns false if storing failed.
func (r *Reply) recordIntent(ctx context.Context, a action) (chat.Part, bool) {
	r.trying = r.asTried(a)
	switch a.kind {
	case doSend, doEdit, doDelete, doFile, doStart, doAppend, doStop:
		if a.part <= supersededAt {
			break
		}
		p := r.intent(a)
		return p, r.behind(a) || r.record(ctx, p)
	case doFind:
		if a.part <= supersededAt {
			break
		}
		return r.intent(a), true
	}
	return chat.Part{}, true
}

// note stores the outcome of action a if it differs from the plan.
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

// recordStanding stores what each message is to show when the final is given up: its visible content, or the text behind
// the seam. The records hold the final's content until then, and the next process must not take it for what people see.
func (r *Reply) recordStanding(ctx context.Context) {
	for i := range r.parts {
		m := &r.parts[i]
		if !m.editable() {
			continue
		}
		d := desired{part: i, display: m.shown, stands: true}
		if n := i - r.seam.first; n >= 0 && n < r.seam.behind() {
			d.display = r.behindSeam(i).display // blank where the message is to be deleted
		}
		r.record(ctx, r.intent(action{kind: doEdit, desired: d}))
	}
}

// intent returns the record of action a before it is tried.
func (r *Reply) intent(a action) chat.Part {
	now := *r.at(a.part)
	if a.kind == doDelete || a.kind == doFind { // neither call changes the content
		a.display, a.stands = now.shown, true
	}
	if a.part >= 0 && a.body.blank() && !now.blank() && !a.stands { // if the process dies, the text that the message may still show counts
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
	if p.Create = now.attempt.create; a.creates() {
		p.Create = r.trying
	}
	if p.First = now.attempt.first; p.First.IsZero() {
		p.First = time.Now()
	}
	if a.creates() {
		// Either create under the key may have taken effect. Assume the one with a cursor: a stream never has
		// one. The next process takes a message without a cursor for a stream.
		framed := now.attempt.resolution == byKey && now.shown.cursor && a.kind != doStart
		p.Cursor = (p.Cursor || framed) && !now.attempt.streams
	}
	if now.exists() && !a.creates() { // a message without an id is replaced by another one
		p.Ref, p.State = now.ref, now.state()
	}
	p.File = now.file && a.kind != doSend || p.File
	return p
}

// origin returns the Markdown that a shows and earlier messages don't, and the note below it.
func (r *Reply) origin(a action) (source, note string) {
	if source, ok := r.previewSource(a); ok {
		return source, ""
	}
	if a.part == r.noteAt {
		note = r.remark
	}
	switch {
	case a.part >= r.texts: // it shows only the note, or a file
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

// previewSource returns the Markdown that a preview shows and earlier ones don't; false if a shows the final.
func (r *Reply) previewSource(a action) (string, bool) {
	switch {
	case a.part < 0:
		return "", true
	case a.stands:
		return r.at(a.part).source, true
	case r.ending != nil && !r.ending.Keep:
		return "", false
	}
	text := r.view.Text
	if r.final != nil { // what stands behind the seam is from there
		text = r.markdown
	}
	start := 0 // text that is parsed differently later may be shown twice: its Markdown counts once
	for _, p := range r.parts[:min(a.part, len(r.parts))] {
		start = max(start, p.shown.body.end)
	}
	return cut(text, start, a.body.end), true
}

// cut returns text[start:end], limited to the length of text.
func cut(text string, start, end int) string {
	end = min(end, len(text))
	return text[min(start, end):end]
}

// state returns the record state of a message that exists.
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

// result returns the record p, updated with the settled outcome of the action on message i.
func (r *Reply) result(i int, p chat.Part) chat.Part {
	now := r.at(i)
	p.File = now.file
	if now.attempt.unresolved >= uncertainCreates && r.ending != nil && !r.ending.Keep { // the next process does not try it again either
		p.Tries = maxTries
	}
	switch {
	case now.exists():
		p.Ref, p.State = now.ref, now.state()
	case p.State != chat.PartIntended:
		p.State = chat.PartGone
	case now.abandoned && (i >= 0 || !now.doubtful()): // a part is not tried again, whatever came of an earlier create
		p.State = chat.PartRefused
	case now.doubtful(): // also where an earlier message was deleted
	case now.phase == gone:
		p.State = chat.PartGone
	default: // after a search in vain it has a new key
		p.State, p.Key = chat.PartAbsent, r.partKey(i)
	}
	if p.State != chat.PartIntended {
		p.Create = nil
	}
	return p
}
