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

// finish decides how the reply ends: durably, with all that depends on it, before the last
// edits are made. An interrupted reply is not decided: until it has ended, whatever interrupted
// it waits in the store and would do so again after a restart.
func (a *actor) finish(ctx context.Context, t *turn) {
	e := a.ending(ctx, t)
	if e.Keep {
		t.slot.Finish(e)
		return
	}
	t.slot.Decide(e, func() { // which must return, or the reply never ends
		t.broken = caught(func() { a.keep(t, e) })
	})
}

// keep stores the ending of a turn, and what the session grows by.
func (a *actor) keep(t *turn, e preview.Ending) {
	growth, err := t.history.Growth(t.said(e), t.result, t.replaces != "")
	if err != nil {
		a.log.Error("history was not stored", slog.String("turn", t.id), slog.Any("error", err))
	}
	t.delivery.growth = chat.Growth{Undecided: growth.Usage} // its session may have been forgotten
	if a.decide(t.id, e, growth); t.slot.IsCut() {
		a.cut(t.id) // which came while that was being stored
	}
}

// ending says how the reply ends.
func (a *actor) ending(ctx context.Context, t *turn) preview.Ending {
	switch {
	case t.err == nil && t.withoutAnswer():
		return preview.Ending{Note: t.result.Text} // nobody asked a model
	case t.err == nil:
		return preview.Ending{Text: t.result.Text, Note: a.g.Texts[gapLine(t.approvals.Gap())], Files: files(t.result)}
	case ctx.Err() != nil:
		shutdown := errors.Is(context.Cause(ctx), errShutdown)
		return preview.Ending{Keep: true, Stopped: shutdown, Stand: shutdown && t.approvals.Waiting()}
	}
	why := failure(t.result.Stop)
	if t.journal.Failed() { // the model did nothing wrong
		why = TextFailed
	}
	e := preview.Ending{Text: t.result.Text, Cut: true, Note: a.g.Texts.line(why, t.id), Files: files(t.result)}
	if e.Text == "" {
		e.Text = t.slot.Text()
	}
	e.Note = lined(e.Note, a.carriedOut(t))
	return e
}

// gapLine returns the line that says why a call was not run although nobody said no.
func gapLine(g approval.Gap) TextKey {
	return map[approval.Gap]TextKey{approval.NobodyToAsk: TextUnasked, approval.NobodyDecided: TextUndecided}[g]
}

// files are what the turn's tools made for people.
func files(r agent.Result) []chat.File {
	var out []chat.File
	for _, f := range r.Files {
		out = append(out, chat.File(f))
	}
	return out
}

// withoutAnswer says that a line stands for the answer: no model read the question. Where tools ran before it got too
// long, what they did is part of the history and their files go out.
func (t *turn) withoutAnswer() bool {
	tooLong := t.result.Stop == agent.StopTooLong || t.result.Stop == agent.StopNoRoom
	return t.fixed || tooLong && len(t.result.Files) == 0 &&
		!slices.ContainsFunc(t.result.Append, func(m agent.Message) bool { return m.Role == agent.ToolRole })
}

// said is what the history grows by: what the person asked and saw.
func (t *turn) said(e preview.Ending) []agent.Message {
	if t.withoutAnswer() { // or the model would meet it again in every turn
		return nil
	}
	if t.err == nil && !e.Keep {
		return append([]agent.Message{t.question}, t.result.Append...)
	}
	if slices.ContainsFunc(t.result.Append, func(m agent.Message) bool { return m.Role == agent.ToolRole }) {
		// What was done must be known, also where that is a few words more than people saw.
		return append([]agent.Message{t.question}, t.result.Append...)
	}
	text := strings.TrimSpace(e.Text)
	if text == "" {
		return nil
	}
	said := append([]agent.Message{t.question}, t.offers.Taken()...)
	return append(said, agent.Message{Role: agent.Assistant, Text: text})
}
