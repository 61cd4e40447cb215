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
	// storeEndTimeout is how long storing the end of a call may take. The end is stored even if the turn was stopped, because
	// the call has already run.
	storeEndTimeout = 5 * time.Second
	defaultParallel = 4 // default of Options.MaxParallel
)

// step runs the tool calls of an answer. step adds to the history the model's message and exactly one result for each call.
// If step returns an error, the turn ends.
func (r *run) step(ctx context.Context, c Completion) error {
	r.reply.close()
	calls := make([]parsedCall, len(c.ToolCalls))
	message := Message{Role: Assistant, Text: r.reply.answerText(), Reasoning: r.reply.reasoning.String()}
	for i, call := range c.ToolCalls {
		calls[i] = parseCall(call, r.tools, c.Finish == FinishLength)
		if calls[i].ID = r.ids.turnID(call.ID); slices.ContainsFunc(calls[:i], func(p parsedCall) bool { return p.ID == calls[i].ID }) {
			calls[i].ID = r.ids.unique(call.ID) // if two calls had the same id, their results would be ambiguous
		}
		message.ToolCalls = append(message.ToolCalls, calls[i].ToolCall)
	}
	r.reply = r.reply.nextAnswer()
	r.appendHistory(message)
	stepMessages := r.newMessages[r.journaledCount:]
	for _, p := range calls {
		r.appendHistory(answerTo(p.ToolCall, resultNotRun))
		r.statuses.set(p.ID, p.Name, p.def.display(p.Arguments), ToolIdentified)
	}
	r.journaledCount, r.answerIndex = len(r.newMessages), len(r.newMessages)
	if r.turn.Journal != nil {
		if err := r.turn.Journal.Step(ctx, slices.Clone(stepMessages), r.usageByModel()); err != nil {
			return fmt.Errorf("store a step of the turn: %w", err)
		}
		r.usageUnsaved = false
	}
	return r.runCalls(ctx, calls)
}

// runCalls runs calls that the history already contains. Read-only calls run in parallel. All calls that are not read-only run
// one after the other. A call that is not read-only needs a person's approval, unless the configuration approves its tool.
func (r *run) runCalls(ctx context.Context, calls []parsedCall) error {
	var parallel, sequential []parsedCall
	callContext := r.callContext()
	for _, p := range calls {
		r.toolCalls++
		switch limit := r.opts.Limits.ToolCalls; {
		case limit > 0 && r.toolCalls > limit:
			r.toolCalls--
			r.recordOutcome(ctx, p, outcome{err: fmt.Errorf("no more than %d tools may be called for one answer. Answer with what you know", limit)})
		case p.problem != "":
			r.refuse(ctx, p.ToolCall, p.problem)
		case slices.Contains(r.turn.ProposedCalls, p.ID), needsApproval(p, callContext):
			if mismatch := schemaMismatch(p.def.Parameters, p.Arguments); mismatch != "" { // nobody should be asked about a call that can't run
				r.refuse(ctx, p.ToolCall, mismatch)
				continue
			}
			sequential = append(sequential, p)
		case p.def.ReadOnly:
			parallel = append(parallel, p)
		default:
			p.approved = true
			sequential = append(sequential, p)
		}
	}
	if err := r.storeBegin(ctx, false, parallel...); err != nil {
		return err
	}
	for i, o := range r.dispatch(ctx, parallel, cmp.Or(r.opts.MaxParallel, defaultParallel)) {
		if !o.started {
			r.storeStopped(ctx, parallel[i])
		}
	}
	for _, p := range sequential {
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

// callContext returns what the model had read when it made the newest calls. The result contains the person's question even
// if a pipeline has replaced the question in the request.
func (r *run) callContext() CallContext {
	s := CallContext{Person: r.turn.Person, Shared: r.turn.Shared, Summarized: r.summary != "", Tools: r.available()}
	s.Messages = slices.Concat(r.turn.Messages, r.newMessages)
	for i, m := range slices.Backward(r.newMessages) {
		if len(m.ToolCalls) > 0 {
			s.Messages = slices.Concat(r.turn.Messages, r.newMessages[:i])
			return s
		}
	}
	return s
}

// runApproved runs a call after a person has approved it, or at once if the configuration approves it. If runApproved returns
// an error, the turn ends.
func (r *run) runApproved(ctx context.Context, p parsedCall) error {
	verdict, err := Approved, error(nil)
	if !p.approved {
		verdict, err = r.askPerson(ctx, propose(p))
	}
	switch {
	case ctx.Err() != nil:
		return nil // the turn ended before a person decided; the caller handles the end of ctx
	case errors.Is(err, ErrUnreadable):
		r.recordOutcome(ctx, p, outcome{err: fmt.Errorf("nothing was done: the arguments have more than the %d KiB that a person can read before approving them. Split them up", maxFullText>>10)})
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
	case r.toolChanged(p.def):
		r.recordOutcome(ctx, p, outcome{err: errors.New("the tool has changed since a person was asked, so nothing was done. Call it again to ask anew")})
		return nil
	}
	if err := r.storeBegin(ctx, !p.def.ReadOnly, p); err != nil {
		return err
	}
	switch o := r.dispatch(ctx, []parsedCall{p}, 1); {
	case o[0].started:
	case p.def.ReadOnly:
		r.storeStopped(ctx, p)
	default:
		r.record(ctx, answerTo(p.ToolCall, resultNotRun), nil, false) // the call did not run, although the journal says that it began
	}
	return nil
}

// storeBegin stores in the journal that calls begin to run. changes says whether the calls change something. If storeBegin
// returns an error, the turn ends.
func (r *run) storeBegin(ctx context.Context, changes bool, calls ...parsedCall) error {
	if r.turn.Journal == nil || len(calls) == 0 {
		return nil
	}
	toolCalls := make([]ToolCall, len(calls))
	for i, p := range calls {
		toolCalls[i] = p.ToolCall
	}
	if err := r.turn.Journal.Begin(ctx, changes, toolCalls...); err != nil {
		return fmt.Errorf("store that a call begins: %w", err)
	}
	return nil
}

// toolChanged reports whether a tool has changed since a person was asked about a call of it: an MCP server may have changed
// the tool. A tool that is missing now counts as unchanged.
func (r *run) toolChanged(d ToolDef) bool {
	return slices.ContainsFunc(r.available(), func(now ToolDef) bool { return now.Name == d.Name && now.version() != d.version() })
}

// askPerson asks a person to decide about a call. The turn's clock is paused until the person has decided.
func (r *run) askPerson(ctx context.Context, p Proposal) (Verdict, error) {
	if r.turn.Approver == nil {
		return Denied, ErrNobodyToAsk
	}
	r.statuses.set(p.Call.ID, p.Tool, "", ToolInterrupted)
	r.clock.pause()
	defer r.clock.resume()
	return r.turn.Approver.Approve(ctx, p)
}

// dispatch runs calls, and records their progress and their outcomes.
func (r *run) dispatch(ctx context.Context, calls []parsedCall, parallel int) []outcome {
	jobs := make([]job, len(calls))
	for i, p := range calls {
		jobs[i] = job{def: p.def, input: Input{Arguments: p.Arguments, Person: r.turn.Person, Conversation: r.turn.Conversation}}
	}
	return dispatch(ctx, jobs, parallel, func(i int) {
		r.statuses.set(calls[i].ID, calls[i].Name, calls[i].def.display(calls[i].Arguments), ToolExecuting)
	}, func(n report) {
		if n.outcome == nil {
			r.statuses.set(calls[n.call].ID, calls[n.call].Name, n.text, ToolExecuting)
			return
		}
		r.recordOutcome(ctx, calls[n.call], *n.outcome)
	})
}

// recordOutcome adds the outcome of a call to the history, the journal and the turn's files.
func (r *run) recordOutcome(ctx context.Context, p parsedCall, o outcome) {
	state, text := ToolCompleted, ""
	var files []File
	interrupted := ctx.Err() != nil && o.err != nil // the end of the turn stopped the call, so its outcome may be unknown
	switch {
	case o.err == nil:
		o.Output = r.limitTurnImages(limitOutput(o.Output))
		var images []File
		images, files, text = r.allowance.grant(p.Name, o.Output)
		r.files[p.ID] = slices.Concat(images, files)
	case !p.def.ReadOnly && (interrupted || errors.Is(o.err, errDeadline)):
		state, text = ToolFailed, resultUnknown
	case interrupted:
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
	r.record(ctx, answer, files, interrupted)
	if interrupted && p.def.ReadOnly {
		r.storeStopped(ctx, p)
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

// storeStopped stores in the journal that the end of the turn stopped a read-only call. If the call was stored as stopped, a
// later process may run it again, because it is certain that the call did not crash this process.
func (r *run) storeStopped(ctx context.Context, p parsedCall) {
	r.storeEnd(ctx, p.Name, func(ctx context.Context, j Journal) error {
		return j.Stopped(ctx, p.ToolCall)
	})
}

// refuse records reason as the result of a call that is not run.
func (r *run) refuse(ctx context.Context, c ToolCall, reason string) {
	r.statuses.set(c.ID, c.Name, "", ToolFailed)
	r.record(ctx, answerTo(c, reason), nil, false)
}

// record adds the result of a call to the history. record also stores the result in the journal, unless the end of the turn
// interrupted the call.
func (r *run) record(ctx context.Context, answer Message, files []File, interrupted bool) {
	r.replaceAnswer(answer)
	if !interrupted {
		r.storeEnd(ctx, answer.Name, func(ctx context.Context, j Journal) error { return j.End(ctx, answer, files) })
	}
}

// storeEnd stores in the journal how a call ended, even if the turn was stopped.
func (r *run) storeEnd(ctx context.Context, tool string, store func(context.Context, Journal) error) {
	if r.turn.Journal == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeEndTimeout)
	defer cancel()
	if err := store(ctx, r.turn.Journal); err != nil {
		r.log.LogAttrs(ctx, slog.LevelError, "the end of a tool call was not stored; it will not be repeated", slog.String("tool", tool), slog.Any("error", err))
	}
}

// createdFiles returns the files that the tools made for people, in the order of their calls.
func (r *run) createdFiles() []File {
	var out []File
	for _, m := range r.newMessages {
		for _, c := range m.ToolCalls {
			out = append(out, r.files[c.ID]...)
		}
	}
	return out
}

// maxTools is how many tools one request may offer. Providers refuse a request with more tools
// (https://platform.openai.com/docs/api-reference/chat/create, tools).
const maxTools = 128

// available returns the tools that the turn may use now. If there are more than maxTools, available returns the first
// maxTools.
func (r *run) available() []ToolDef {
	var all []ToolDef
	if r.opts.Tools != nil && !r.turn.Params.MustCall {
		all = available(r.opts.Tools.Tools(), r.turn.Tools)
	}
	all = withClientTools(r.turn.ClientTools, all)
	if surplus := len(all) - maxTools; surplus > 0 {
		if r.model.facts.report("surplus") {
			r.log.Warn("there are more tools than a model may be offered, the last ones are left out", slog.Int("offered", maxTools), slog.Int("left_out", surplus))
		}
		all = all[:maxTools]
	}
	return all
}
