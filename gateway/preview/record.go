package preview

import (
	"context"
	"log/slog"
	"time"

	"telex/internal/chat"
)

// Recorder stores the state of a reply's messages, so that the next process can continue the reply after a crash.
type Recorder interface {
	// Record stores the states of messages in one transaction and returns when they are durable.
	Record(ctx context.Context, parts ...chat.Part) error
	// Edited returns at once. Edited stores the content of an edited preview some time later.
	Edited(p chat.Part)
	// Moved moves all stored data of the chat to the chat's new id, and returns when the change is durable.
	Moved(ctx context.Context, to chat.ChatID) error
}

// record stores which call is about to be made, or a call's outcome. record returns false if storing failed. If storing
// failed, a preview is not sent yet, because after a crash the next process would have no record of the call. A final
// is sent even if storing failed.
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

// storeNewChat stores the chat's new id before anything is sent to the new chat.
func (r *Reply) storeNewChat(ctx context.Context) {
	if r.recorder == nil {
		return
	}
	if err := r.recorder.Moved(ctx, r.moved); err != nil {
		r.log.ErrorContext(ctx, "the chat's new id was not stored", slog.Any("error", err))
	}
}

// mayRecordLater reports whether action a is an edit that may be stored after its call. If the process crashes before
// the edit is stored, only the record of the newest text is lost. mayRecordLater returns false for questions and for
// the first text of a message. Without a record of a message's first text, the next process would believe that the
// message shows no text.
func (r *Reply) mayRecordLater(a action) bool {
	if a.kind != doEdit && a.kind != doAppend || r.ending != nil || a.part < 0 || a.seal || a.keepsText {
		return false
	}
	before := r.at(a.part).shown
	return before.frame.below == "" && a.frame.below == "" && !before.body.blank()
}

// recordIntent stores the change that action a is about to make to a message of the reply. recordIntent returns false
// if storing failed.
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

// recordOutcome stores the outcome of action a, if the outcome differs from what was stored before the call. The
// parameter plan contains the earlier record.
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
	if shows && !r.relaid { // after resend, the sources are already set
		r.at(a.part).source = plan.Source
	}
	switch now := r.outcomeRecord(a.part, plan); {
	case a.creates() || now.State != plan.State:
		r.record(ctx, now)
	case !shows && a.kind == doEdit && r.ending != nil && r.at(a.part).exists(): // the platform refused the edit
		r.record(ctx, r.visibleRecord(a.part, r.at(a.part).shown))
	case shows && r.mayRecordLater(a) && r.recorder != nil:
		r.recorder.Edited(now)
	}
}

// recordVisible is called when the bot gives up the final. For each message, recordVisible stores the visible content
// or, if the message is laid out again, its new text. The new records replace records that contain the final, which
// people will not see.
//
// All records are stored in one transaction, because text may move from one message to another. If a process died
// between two transactions, the records of both messages could contain the text.
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

// intendedRecord returns the record to store before the call of action a.
func (r *Reply) intendedRecord(a action) chat.Part {
	now := *r.at(a.part)
	if a.kind == doDelete || a.kind == doFind { // neither a delete nor a search changes the content
		a.display, a.keepsText = now.shown, true
	}
	if a.part >= 0 && a.body.blank() && !now.blank() && !a.keepsText {
		// If the process dies during the call, the message may still show its earlier text.
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
		// An earlier create call with the same key may already have made the message, with other content. If one of the calls
		// sent a cursor and no call began a stream, the record contains a cursor. If the record contained no cursor, the next
		// process would take the message for a stream.
		framed := now.attempt.resolution == byKey && now.shown.cursor && a.kind != doStart
		p.Cursor = (p.Cursor || framed) && !now.attempt.streams
	}
	if now.exists() && !a.creates() { // a create call replaces an existing message that has no id
		p.Ref, p.State = now.ref, r.stateOf(&now)
	}
	p.File = now.file && a.kind != doSend || p.File
	return p
}

// sourceAndNote returns the Markdown that the message of action a shows and earlier messages don't, and the note below
// this text.
func (r *Reply) sourceAndNote(a action) (source, note string) {
	if source, ok := r.previewSource(a); ok {
		return source, ""
	}
	if a.part == r.noteAt {
		note = r.noteText
	}
	switch {
	case a.part >= r.textCount: // the message shows only the note, or a file
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

// previewSource returns the Markdown that the message of action a shows and earlier previews don't. previewSource
// returns false if the action shows the final.
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
	if r.final != nil { // some messages are laid out again, from the Markdown of the final (see type seam)
		text = r.markdown
	}
	start := 0 // text that two messages show belongs to the source of the first message
	for _, p := range r.parts[:min(a.part, len(r.parts))] {
		start = max(start, p.shown.body.end)
	}
	return cut(text, start, a.body.end), true
}

// cut returns text[start:end]. An end beyond the end of the text counts as the end of the text.
func cut(text string, start, end int) string {
	end = min(end, len(text))
	return text[min(start, end):end]
}

// stateOf returns the state that the record of message m must contain. The message exists.
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
	now, previews := r.at(i), r.relaid || r.ending != nil && r.ending.Keep // all messages of the reply are previews
	p.File = now.file
	if now.givenUp() && r.ending != nil && !r.ending.Keep { // because of maxTries, the next process doesn't try again either
		p.Tries = maxTries
	}
	switch {
	case now.exists():
		p.Ref, p.State = now.ref, r.stateOf(now)
	case p.State != chat.PartIntended:
		p.State = chat.PartGone
	case now.abandoned && (i < 0 && !now.doubtful() || i >= 0 && !previews):
		// If the platform refused a part of a final, the next process does not send this part again, even if an earlier
		// create call may have made it. If the platform refused a preview, the next process tries again, because the
		// model writes another text when the turn runs again.
		p.State = chat.PartRefused
	case now.doubtful(): // the record stays PartIntended, even if a person deleted the message
	case now.phase == gone:
		p.State = chat.PartGone
	default: // a search found no message, so the next create call has a new key
		p.State, p.Key = chat.PartAbsent, r.partKey(i)
	}
	if p.State != chat.PartIntended {
		p.Create = nil
	}
	return p
}
