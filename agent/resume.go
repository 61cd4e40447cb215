package agent

import (
	"context"
	"slices"
	"time"
)

// restoreSteps restores the steps of this turn that an earlier process made. Their text is emitted again, and they become part of
// the history, however this run ends. finishCalls runs their unanswered calls.
func (r *run) restoreSteps() {
	if len(r.turn.Steps) == 0 {
		return
	}
	var steps []Message
	steps, r.open = mend(r.turn.Steps, r.turn.Begun)
	r.grown, r.kept, r.place = steps, len(steps), len(steps)
	said := newReply(nil, r.emit)
	for _, m := range steps {
		if m.Role == Assistant {
			said.add(Delta{Text: m.Text})
			said.close()
			said = said.after()
		}
		for _, c := range m.ToolCalls {
			r.ids.use(c.ID)
			r.toolCalls++
		}
	}
	r.toolCalls -= len(r.open) // they are counted as they are run
	r.reply.before, r.reply.fence = said.before, said.fence
	r.restoreFiles(steps)
}

// restoreFiles restores the files and images that the calls made for people. Files count first against the allowance.
func (r *run) restoreFiles(steps []Message) {
	for _, m := range steps {
		if m.Role == ToolRole {
			_, r.files[m.ToolCallID], _ = r.left.give(m.Name, Output{Files: r.turn.Files[m.ToolCallID]})
		}
	}
	for _, m := range steps {
		if m.Role == ToolRole {
			images, _, _ := r.left.give(m.Name, Output{Images: m.Images})
			r.files[m.ToolCallID] = slices.Concat(images, r.files[m.ToolCallID])
		}
	}
}

// awaitDecisions waits for the decisions about those calls of an earlier process whose tools are not there: the tools of servers
// may need a while, or be gone for good, and people who decide must not wait for that. What is approved is left for finishCalls.
func (r *run) awaitDecisions(ctx context.Context) error {
	if r.turn.Approver == nil {
		return nil
	}
	var left []ToolCall
	for _, c := range r.open {
		if !slices.Contains(r.turn.Asked, c.ID) || r.offers(c) {
			left = append(left, c)
			continue
		}
		verdict, err := r.decision(ctx, Proposal{Call: c, Tool: c.Name})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil || verdict == Approved:
			left = append(left, c)
		default:
			r.toolCalls++
			r.refuse(ctx, c, denial(verdict))
		}
	}
	r.open = left
	return nil
}

// offers reports whether the tool of a call is there.
func (r *run) offers(c ToolCall) bool {
	return slices.ContainsFunc(r.available(), func(d ToolDef) bool { return d.Name == c.Name })
}

// finishCalls runs the calls that the earlier process left.
func (r *run) finishCalls(ctx context.Context) error {
	if len(r.open) == 0 {
		return nil
	}
	tools := r.awaitTools(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	calls := make([]parsedCall, len(r.open))
	for i, c := range r.open {
		calls[i] = parseCall(c, tools, false)
		r.statuses.set(c.ID, c.Name, calls[i].def.display(c.Arguments), ToolIdentified)
	}
	return r.runCalls(ctx, calls)
}

const (
	// toolWait is how long the tools of calls that were left are waited for: right after a start, those of
	// servers are not there yet.
	toolWait = 30 * time.Second
	// toolboxWait is how long the first request of a turn waits for a toolbox.
	toolboxWait = 5 * time.Second
	toolLook    = 250 * time.Millisecond // from one look to the next
)

// awaitToolbox gives the toolbox a moment to know its tools, should the process have begun just now: what waited
// for the start is answered with the same tools as what comes later.
func (r *run) awaitToolbox(ctx context.Context) {
	box, ok := r.opts.Tools.(Awaiter)
	if !ok {
		return
	}
	r.clock.pause()
	defer r.clock.resume()
	ctx, cancel := context.WithTimeout(ctx, toolboxWait)
	defer cancel()
	box.Await(ctx)
}

// awaitTools returns the tools there are, once those of the calls that were left are among them or were waited
// for long enough. The turn's clock stands still meanwhile.
func (r *run) awaitTools(ctx context.Context) []ToolDef {
	r.clock.pause()
	defer r.clock.resume()
	for began := time.Now(); ; {
		tools := r.available()
		missing := slices.ContainsFunc(r.open, func(c ToolCall) bool { return !r.offers(c) })
		if !missing || time.Since(began) >= toolWait || Sleep(ctx, toolLook) != nil {
			return tools
		}
	}
}
