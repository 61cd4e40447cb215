package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

const (
	// keepTime is how long the answer to a call may take to be stored, which is done although the turn was
	// stopped: the call was carried out.
	keepTime        = 5 * time.Second
	defaultParallel = 4 // Options.MaxParallel
)

// step runs the calls of an answer, by which the history grows: the model's message, and an answer to each
// of its calls whatever happens. An error ends the turn.
func (r *run) step(ctx context.Context, c Completion) error {
	r.reply.close()
	calls := make([]parsedCall, len(c.ToolCalls))
	message := Message{Role: Assistant, Text: r.reply.own(), Reasoning: r.reply.thought.String()}
	for i, call := range c.ToolCalls {
		calls[i] = parseCall(call, r.tools, c.Finish == FinishLength)
		if calls[i].ID = r.ids.of(call.ID); slices.ContainsFunc(calls[:i], func(p parsedCall) bool { return p.ID == calls[i].ID }) {
			calls[i].ID = r.ids.fresh(call.ID) // or the answers could not be told apart
		}
		message.ToolCalls = append(message.ToolCalls, calls[i].ToolCall)
	}
	r.reply = r.reply.after()
	r.grow(message)
	told := r.grown[r.kept:]
	for _, p := range calls {
		r.grow(answerTo(p.ToolCall, resultNotRun))
		r.statuses.set(p.ID, p.Name, p.def.display(p.Arguments), ToolIdentified)
	}
	r.kept, r.place = len(r.grown), len(r.grown)
	if r.turn.Journal != nil {
		if err := r.turn.Journal.Step(ctx, slices.Clone(told), r.spent()); err != nil {
			return fmt.Errorf("store a step of the turn: %w", err)
		}
		r.unsaved = false
	}
	return r.runCalls(ctx, calls)
}

// runCalls runs calls whose messages stand in the history: those that only read side by side, the others
// one after the other, each once a person has approved it, unless the operator has.
func (r *run) runCalls(ctx context.Context, calls []parsedCall) error {
	var read, ask []parsedCall
	said := r.said()
	for _, p := range calls {
		r.toolCalls++
		switch limit := r.opts.Limits.ToolCalls; {
		case limit > 0 && r.toolCalls > limit:
			r.toolCalls--
			r.recordOutcome(ctx, p, outcome{err: fmt.Errorf("no more than %d tools may be called for one answer. Answer with what you know", limit)})
		case p.problem != "":
			r.refuse(ctx, p.ToolCall, p.problem)
		case slices.Contains(r.turn.Asked, p.ID), needsApproval(p, said):
			if why := schemaMismatch(p.def.Parameters, p.Arguments); why != "" { // nobody need be asked
				r.refuse(ctx, p.ToolCall, why)
				continue
			}
			ask = append(ask, p)
		case p.def.ReadOnly:
			read = append(read, p)
		default:
			p.approved = true
			ask = append(ask, p)
		}
	}
	if err := r.announce(ctx, false, read...); err != nil {
		return err
	}
	for i, o := range r.dispatch(ctx, read, cmp.Or(r.opts.MaxParallel, defaultParallel)) {
		if !o.started {
			r.stopped(ctx, read[i])
		}
	}
	for _, p := range ask {
		if ctx.Err() != nil {
			break
		}
		if err := r.runApproved(ctx, p); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// said returns what the model had read when it made the newest calls. What a pipeline puts in the place of a question is no
// person's words and not in it.
func (r *run) said() Said {
	s := Said{Person: r.turn.Person, Shared: r.turn.Shared, Summarized: r.summary != "", Tools: r.available()}
	s.Messages = slices.Concat(r.turn.Messages, r.grown)
	for i, m := range slices.Backward(r.grown) {
		if len(m.ToolCalls) > 0 {
			s.Messages = slices.Concat(r.turn.Messages, r.grown[:i])
			return s
		}
	}
	return s
}

// runApproved runs a call once a person has approved it, or at once where the operator has. Its error ends the turn.
func (r *run) runApproved(ctx context.Context, p parsedCall) error {
	verdict, err := Approved, error(nil)
	if !p.approved {
		verdict, err = r.decision(ctx, propose(p))
	}
	switch {
	case ctx.Err() != nil:
		return nil // the caller sees to it; nothing was decided
	case errors.Is(err, ErrUnreadable):
		r.recordOutcome(ctx, p, outcome{err: fmt.Errorf("nothing was done: the arguments have more than the %d KiB that a person can read before approving them. Split them up", maxWhole>>10)})
		return nil
	case err != nil:
		level := slog.LevelError
		if errors.Is(err, ErrNobodyToAsk) {
			level = slog.LevelInfo
		}
		r.log.LogAttrs(ctx, level, "a proposal could not be shown", slog.String("tool", p.Name), slog.Any("error", err))
		r.recordOutcome(ctx, p, outcome{err: errors.New("this call needs a person's approval, and nobody could be asked")})
		return nil
	case verdict != Approved:
		r.refuse(ctx, p.ToolCall, denial(verdict))
		return nil
	case r.changed(p.def):
		r.recordOutcome(ctx, p, outcome{err: errors.New("the tool has changed since a person was asked, so nothing was done. Call it again to ask anew")})
		return nil
	}
	if err := r.announce(ctx, !p.def.ReadOnly, p); err != nil {
		return err
	}
	switch o := r.dispatch(ctx, []parsedCall{p}, 1); {
	case o[0].started:
	case p.def.ReadOnly:
		r.stopped(ctx, p)
	default:
		r.record(ctx, answerTo(p.ToolCall, resultNotRun), nil, false) // which is known, though the journal heard that it begins
	}
	return nil
}

// announce stores that calls run now. Its error ends the turn.
func (r *run) announce(ctx context.Context, changes bool, calls ...parsedCall) error {
	if r.turn.Journal == nil || len(calls) == 0 {
		return nil
	}
	begun := make([]ToolCall, len(calls))
	for i, p := range calls {
		begun[i] = p.ToolCall
	}
	if err := r.turn.Journal.Begin(ctx, changes, begun...); err != nil {
		return fmt.Errorf("store that a call begins: %w", err)
	}
	return nil
}

// changed reports whether a tool is not what it was when a person was asked: its server may have put another in its place. One
// that is away now can't have been changed by anybody.
func (r *run) changed(d ToolDef) bool {
	return slices.ContainsFunc(r.available(), func(now ToolDef) bool { return now.Name == d.Name && now.version() != d.version() })
}

// decision lets a person decide. The turn's clock stands still meanwhile.
func (r *run) decision(ctx context.Context, p Proposal) (Verdict, error) {
	if r.turn.Approver == nil {
		return Denied, ErrNobodyToAsk
	}
	r.statuses.set(p.Call.ID, p.Tool, "", ToolInterrupted)
	r.clock.pause()
	defer r.clock.resume()
	return r.turn.Approver.Approve(ctx, p)
}

// dispatch runs calls and takes what comes of them.
func (r *run) dispatch(ctx context.Context, calls []parsedCall, parallel int) []outcome {
	jobs := make([]job, len(calls))
	for i, p := range calls {
		jobs[i] = job{def: p.def, input: Input{Arguments: p.Arguments, Person: r.turn.Person, Conversation: r.turn.Conversation}}
	}
	return dispatch(ctx, jobs, parallel, func(i int) {
		r.statuses.set(calls[i].ID, calls[i].Name, calls[i].def.display(calls[i].Arguments), ToolExecuting)
	}, func(n note) {
		if n.ended == nil {
			r.statuses.set(calls[n.call].ID, calls[n.call].Name, n.text, ToolExecuting)
			return
		}
		r.recordOutcome(ctx, calls[n.call], *n.ended)
	})
}

// recordOutcome adds the outcome of a call to the history, the journal and the turn's files.
func (r *run) recordOutcome(ctx context.Context, p parsedCall, o outcome) {
	state, text := ToolCompleted, ""
	var files []File
	cut := ctx.Err() != nil && o.err != nil // not the call's own end: it is run again, or said to be unknown
	switch {
	case o.err == nil:
		o.Output = r.limitTurnImages(limitOutput(o.Output))
		var images []File
		images, files, text = r.left.give(p.Name, o.Output)
		r.files[p.ID] = slices.Concat(images, files)
	case !p.def.ReadOnly && (cut || errors.Is(o.err, errDeadline)):
		state, text = ToolFailed, resultUnknown
	case cut:
		state, text = ToolFailed, resultStopped
	default:
		state, text = ToolFailed, "Error: "+Clip(o.err.Error(), maxError)+"."
	}
	if o.err != nil {
		r.log.LogAttrs(ctx, slog.LevelInfo, "a tool call failed",
			slog.String("tool", p.Name), slog.String("error", o.logText(ctx)), slog.String("trace", o.trace))
	}
	answer := answerTo(p.ToolCall, text)
	answer.Images = o.Images
	if o.started && p.def.Outside != OutsideNothing {
		answer.Sources = nil
	}
	r.record(ctx, answer, files, cut)
	if cut && p.def.ReadOnly {
		r.stopped(ctx, p)
	}
	r.statuses.set(p.ID, p.Name, "", state)
}

// limitTurnImages removes the images of an output that exceed the turn's limit.
func (r *run) limitTurnImages(o Output) Output {
	for i, image := range o.Images {
		if r.imageBytes += len(image.Data); r.imageBytes > maxTurnImages {
			o.Text += fmt.Sprintf("\n[%d images were left out: those of one answer may have %d MiB together]", len(o.Images)-i, maxTurnImages>>20)
			o.Images = o.Images[:i]
			break
		}
	}
	return o
}

// stopped stores that a call which only reads ended with the turn and without a result, and so killed no process.
func (r *run) stopped(ctx context.Context, p parsedCall) {
	r.keep(ctx, p.Name, func(ctx context.Context, j Journal) error {
		return j.Stopped(ctx, p.ToolCall)
	})
}

// refuse answers a call that is not run.
func (r *run) refuse(ctx context.Context, c ToolCall, why string) {
	r.statuses.set(c.ID, c.Name, "", ToolFailed)
	r.record(ctx, answerTo(c, why), nil, false)
}

// record takes the answer to a call into the history, and into the journal unless the call was cut off.
func (r *run) record(ctx context.Context, answer Message, files []File, cut bool) {
	r.amend(answer)
	if !cut {
		r.keep(ctx, answer.Name, func(ctx context.Context, j Journal) error { return j.End(ctx, answer, files) })
	}
}

// keep stores in the journal how a call of a tool ended, although the turn was stopped.
func (r *run) keep(ctx context.Context, tool string, store func(context.Context, Journal) error) {
	if r.turn.Journal == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer cancel()
	if err := store(ctx, r.turn.Journal); err != nil {
		r.log.LogAttrs(ctx, slog.LevelError, "the end of a tool call was not stored; it will not be repeated", slog.String("tool", tool), slog.Any("error", err))
	}
}

// createdFiles returns what the tools made for people, in the order of their calls.
func (r *run) createdFiles() []File {
	var out []File
	for _, m := range r.grown {
		for _, c := range m.ToolCalls {
			out = append(out, r.files[c.ID]...)
		}
	}
	return out
}

// maxTools is how many tools one request may offer: a provider refuses the request that has more
// (https://platform.openai.com/docs/api-reference/chat/create, tools), and then there would be no answer at all.
const maxTools = 128

// available returns the tools that the turn may use now: the first ones, where there are too many.
func (r *run) available() []ToolDef {
	var all []ToolDef
	if r.opts.Tools != nil && !r.turn.Params.MustCall {
		all = available(r.opts.Tools.Tools(), r.turn.Tools)
	}
	all = withClientTools(r.turn.ClientTools, all)
	if surplus := len(all) - maxTools; surplus > 0 {
		if r.model.learned.report("surplus") {
			r.log.Warn("there are more tools than a model may be offered, the last ones are left out", slog.Int("offered", maxTools), slog.Int("left_out", surplus))
		}
		all = all[:maxTools]
	}
	return all
}
