package gateway

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"telex/agent"
	"telex/gateway/approval"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// finish decides how the reply ends. finish stores the ending, and what the turn adds to the history, before the last
// edits of the reply. The ending of an interrupted reply is stored later, when the turn has ended. If the process dies
// before the ending is stored, the next process runs the turn again. The message that interrupted the turn then
// interrupts the turn again, because the store still has this message.
func (a *actor) finish(ctx context.Context, t *turn) {
	e := a.ending(ctx, t)
	if e.Keep {
		t.slot.Finish(e)
		return
	}
	t.slot.Decide(e, func() { // a panic must not leave this function, because the reply would then never end
		t.broken = caught(func() { a.keep(t, e) })
	})
}

// keep stores how a turn ends, and what the turn adds to its session.
func (a *actor) keep(t *turn, e preview.Ending) {
	growth, err := t.history.Growth(t.said(e), t.result, t.replaces != "")
	if err != nil {
		a.log.Error("history was not stored", slog.String("turn", t.id), slog.Any("error", err))
	}
	t.delivery.growth = chat.Growth{Undecided: growth.Usage} // used only if the ending can't be stored
	if a.decide(t.id, e, growth); t.slot.IsCut() {
		a.cut(t.id, e) // the slot's method Cut was called while the ending was being stored
	}
}

// ending decides how the reply of a turn ends.
func (a *actor) ending(ctx context.Context, t *turn) preview.Ending {
	switch {
	case t.err == nil && t.withoutAnswer():
		return preview.Ending{Note: t.result.Text} // no model was asked
	case t.err == nil:
		return preview.Ending{Text: t.result.Text, Note: a.g.texts()[gapLine(t.approvals.Gap())], Files: files(t.result)}
	case ctx.Err() != nil:
		shutdown := errors.Is(context.Cause(ctx), errShutdown)
		return preview.Ending{Keep: true, Stopped: shutdown, Stand: shutdown && (t.approvals.Waiting() || a.g.handsOver())}
	}
	why := failure(t.result.Stop)
	if t.journal.Failed() { // the store has failed, not the model
		why = TextFailed
	}
	e := preview.Ending{Text: t.result.Text, Cut: true, Note: a.g.texts().line(why, t.id), Files: files(t.result)}
	if e.Text == "" {
		e.Text = t.slot.Text()
	}
	e.Note = lined(e.Note, a.carriedOut(t))
	return e
}

// gapLine returns the key of the text that tells people why a tool call was not run although nobody denied the call.
func gapLine(g approval.Gap) TextKey {
	return map[approval.Gap]TextKey{approval.NobodyToAsk: TextUnasked, approval.NobodyDecided: TextUndecided}[g]
}

// files returns the files that the turn's tools made for people.
func files(r agent.Result) []chat.File {
	var out []chat.File
	for _, f := range r.Files {
		out = append(out, chat.File(f))
	}
	return out
}

// withoutAnswer reports whether people get a fixed text instead of an answer, because no model read the question. If
// tools ran before the conversation became too long for the model, withoutAnswer returns false. The history must then
// record what the tools did, and people get the tools' files.
func (t *turn) withoutAnswer() bool {
	tooLong := t.result.Stop == agent.StopTooLong || t.result.Stop == agent.StopNoRoom
	return t.fixed || tooLong && len(t.result.Files) == 0 &&
		!slices.ContainsFunc(t.result.Append, func(m agent.Message) bool { return m.Role == agent.ToolRole })
}

// said returns the messages that the turn adds to the history: the question, and the answer that people saw.
func (t *turn) said(e preview.Ending) []agent.Message {
	if t.withoutAnswer() { // the history must not contain the question, because the model would read it in every later turn
		return nil
	}
	if t.err == nil && !e.Keep {
		return append([]agent.Message{t.question}, t.result.Append...)
	}
	if slices.ContainsFunc(t.result.Append, func(m agent.Message) bool { return m.Role == agent.ToolRole }) {
		// The history must record what the tools did, even if the messages with the tool calls contain text that people
		// did not see.
		return append([]agent.Message{t.question}, t.result.Append...)
	}
	text := strings.TrimSpace(e.Text)
	if text == "" {
		return nil
	}
	said := append([]agent.Message{t.question}, t.offers.Messages()...)
	return append(said, agent.Message{Role: agent.Assistant, Text: text})
}
