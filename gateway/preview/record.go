package preview

import (
	"context"
	"log/slog"
	"time"

	"telex/internal/chat"
)

// Recorder stores the messages of a reply and the content of their last calls, for the next process.
type Recorder interface {
	// Record returns once the states of messages are durable, all or none.
	Record(ctx context.Context, parts ...chat.Part) error
	// Edited stores the content of a preview edit some time later. It does not block.
	Edited(p chat.Part)
	// Moved returns once all data of the chat is durably moved to its new id.
	Moved(ctx context.Context, to chat.ChatID) error
}

// record stores calls before they are made, or their outcomes. If storing fails, a preview waits: after a crash, the next
// process would not know of the call. A final is sent anyway.
func (r *Reply) record(ctx context.Context, parts ...chat.Part) bool {
	if r.recorder == nil {
		return true
	}
	err := r.recorder.Record(ctx, parts...)
	switch {
	case err != nil && !r.storeFailed:
		r.log.ErrorContext(ctx, "state of a reply was not stored", slog.Any("error", err))
	case err != nil:
		r.log.DebugContext(ctx, "state of a reply was not stored again", slog.Any("error", err))
	}
	r.storeFailed = r.storeFailed || err != nil
	return err == nil
}

// storeNewChat stores the chat's new id before anything is sent there.
func (r *Reply) storeNewChat(ctx context.Context) {
	if r.recorder == nil {
		return
	}
	if err := r.recorder.Moved(ctx, r.moved); err != nil {
		r.log.ErrorContext(ctx, "the chat's new id was not stored", slog.Any("error", err))
	}
}

// mayRecordLater reports whether the record of an edit may be stored after the edit. A crash then loses only the newest
// text. It excludes questions and the first text of a message: without its record the next process would take the message
// for blank.
func (r *Reply) mayRecordLater(a action) bool {
	if a.kind != doEdit && a.kind != doAppend || r.ending != nil || a.part < 0 || a.seal || a.keepsText {
		return false
	}
	before := r.at(a.part).shown
	return before.frame.below == "" && a.frame.below == "" && !before.body.blank()
}

// recordIntent stores the change that action a is about to try, if the action creates or changes a message of the
// reply. It returns false if storing failed.
func (r *Reply) recordIntent(ctx context.Context, a action) (chat.Part, bool) {
	r.currentCreate = r.createForFind(a)
	switch a.kind {
	case doSend, doEdit, doDelete, doFile, doStart, doAppend, doStop:
		if a.part <= supersededAt {
			break
		}
		p := r.intendedRecord(a)
		return p, r.mayRecordLater(a) || r.record(ctx, p)
	case doFind:
		if a.part <= supersededAt {
			break
		}
		return r.intendedRecord(a), true
	}
	return chat.Part{}, true
}

// recordOutcome stores the outcome of action a if it differs from the plan.
func (r *Reply) recordOutcome(ctx context.Context, a action, plan chat.Part) {
	for i := range r.superseded {
		if m := &r.superseded[i]; !m.stored {
			m.stored = r.record(ctx, m.supersededRecord())
		}
	}
	if plan.Key == "" {
		return
	}
	shows := r.at(a.part).shown.body.equal(a.body)
	if shows && !r.relaid { // resend has set the sources
		r.at(a.part).source = plan.Source
	}
	switch now := r.outcomeRecord(a.part, plan); {
	case a.creates() || now.State != plan.State:
		r.record(ctx, now)
	case !shows && a.kind == doEdit && r.ending != nil && r.at(a.part).exists(): // the edit was refused
		r.record(ctx, r.visibleRecord(a.part, r.at(a.part).shown))
	case shows && r.mayRecordLater(a) && r.recorder != nil:
		r.recorder.Edited(now)
	}
}

// recordVisible is called when the final is given up. It stores what each message shows: its visible content or, if the
// message is laid out again, its new text. Before that, the records contain the final, which people don't see.
//
// All records are stored at once: the text of one message may move to another one, and a process that dies in between
// would leave it in both.
func (r *Reply) recordVisible(ctx context.Context) {
	var records []chat.Part
	for i := range r.parts {
		m := &r.parts[i]
		if !m.editable() {
			continue
		}
		shown := m.shown
		if r.seam.covers(i) {
			shown = r.aimBehindSeam(i).display // blank where the message is to be deleted
		}
		records = append(records, r.visibleRecord(i, shown))
	}
	if len(records) > 0 {
		r.record(ctx, records...)
	}
}

// visibleRecord returns the record of what message i shows.
func (r *Reply) visibleRecord(i int, shown display) chat.Part {
	return r.intendedRecord(action{kind: doEdit, desired: desired{part: i, display: shown, keepsText: true}})
}

// intendedRecord returns the record of action a before the call.
func (r *Reply) intendedRecord(a action) chat.Part {
	now := *r.at(a.part)
	if a.kind == doDelete || a.kind == doFind { // neither call changes the content
		a.display, a.keepsText = now.shown, true
	}
	if a.part >= 0 && a.body.blank() && !now.blank() && !a.keepsText { // if the process dies, the text that the message may still show counts
		a.body, a.cursor, a.keepsText = now.visibleText(), true, true
	}
	p := chat.Part{
		Index: r.recordIndex(a.part), Key: r.partKey(a.part), State: chat.PartIntended, Cursor: a.cursor,
		Text: a.body.rendered.Text, Cut: r.cutOf(a.part), File: a.kind == doFile, Spans: spansOf(a.body.rendered),
		Ref: chat.MessageRef{Target: r.to},
	}
	if a.body.plain != p.Text {
		p.Plain = a.body.plain
	}
	if p.Source, _ = r.previewSource(a); r.relaid {
		p.Source = now.source
	}
	if p.Tries = now.attempt.processes; a.creates() {
		p.Tries++
	}
	if p.Create = now.attempt.create; a.creates() {
		p.Create = r.currentCreate
	}
	if p.First = now.attempt.firstAt; p.First.IsZero() {
		p.First = time.Now()
	}
	if a.creates() {
		// Either create under the key may have taken effect. Assume the one with a cursor: a stream never has
		// one. The next process takes a message without a cursor for a stream.
		framed := now.attempt.resolution == byKey && now.shown.cursor && a.kind != doStart
		p.Cursor = (p.Cursor || framed) && !now.attempt.streams
	}
	if now.exists() && !a.creates() { // a message without an id is replaced by another one
		p.Ref, p.State = now.ref, r.stateOf(&now)
	}
	p.File = now.file && a.kind != doSend || p.File
	return p
}

// sourceAndNote returns the Markdown that action a shows and earlier messages don't, and the note below it.
func (r *Reply) sourceAndNote(a action) (source, note string) {
	if source, ok := r.previewSource(a); ok {
		return source, ""
	}
	if a.part == r.noteAt {
		note = r.noteText
	}
	switch {
	case a.part >= r.textCount: // it shows only the note, or a file
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

// previewSource returns the Markdown that action a shows and earlier previews don't, or false if the action shows the
// final.
func (r *Reply) previewSource(a action) (string, bool) {
	switch {
	case a.part < 0:
		return "", true
	case a.keepsText:
		return r.at(a.part).source, true
	case r.ending != nil && !r.ending.Keep:
		return "", false
	}
	text := r.view.Text
	if r.final != nil { // text that is laid out again comes from the final
		text = r.markdown
	}
	start := 0 // overlapping text in two messages counts once
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

// stateOf returns the record state of a message that exists.
func (s *state) stateOf(m *message) chat.PartState {
	switch {
	case m.streams():
		return chat.PartStreams
	case s.relaid && m.role == roleText:
		return chat.PartResent
	case m.sealed():
		return chat.PartSealed
	default:
		return chat.PartStands
	}
}

// outcomeRecord returns the record p, updated with the settled outcome of the action on message i.
func (r *Reply) outcomeRecord(i int, p chat.Part) chat.Part {
	now, previews := r.at(i), r.relaid || r.ending != nil && r.ending.Keep // all that the reply shows are previews
	p.File = now.file
	if now.givenUp() && r.ending != nil && !r.ending.Keep { // the next process does not try it again either
		p.Tries = maxTries
	}
	switch {
	case now.exists():
		p.Ref, p.State = now.ref, r.stateOf(now)
	case p.State != chat.PartIntended:
		p.State = chat.PartGone
	case now.abandoned && (i < 0 && !now.doubtful() || i >= 0 && !previews):
		// A refused part of a final is not tried again, even if an earlier create may have made it. A refused preview is,
		// because the model writes another text when the turn runs again.
		p.State = chat.PartRefused
	case now.doubtful(): // takes precedence over a deletion
	case now.phase == gone:
		p.State = chat.PartGone
	default: // a search found nothing, so the next create has a new key
		p.State, p.Key = chat.PartAbsent, r.partKey(i)
	}
	if p.State != chat.PartIntended {
		p.Create = nil
	}
	return p
}
