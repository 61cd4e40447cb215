package agent

import (
	"context"
	"slices"
	"time"
)

// restoreSteps restores the steps of this turn that an earlier process stored before it crashed. restoreSteps emits the text
// of these steps again, and adds the steps to the history, so that the history contains them even if the turn fails. If calls
// of these steps have no result, finishCalls runs them later.
func (r *run) restoreSteps() {
	if len(r.turn.Steps) == 0 {
		return
	}
	var steps []Message
	steps, r.openCalls = mend(r.turn.Steps, r.turn.StartedCalls)
	r.newMessages, r.journaledCount, r.answerIndex = steps, len(steps), len(steps)
	earlier := newReply(nil, r.emit)
	for _, m := range steps {
		if m.Role == Assistant {
			earlier.add(Delta{Text: m.Text})
			earlier.close()
			earlier = earlier.nextAnswer()
		}
		for _, c := range m.ToolCalls {
			r.ids.markUsed(c.ID)
			r.toolCalls++
		}
	}
	r.toolCalls -= len(r.openCalls) // finishCalls counts the open calls
	r.reply.earlierText, r.reply.fenceEnd = earlier.earlierText, earlier.fenceEnd
	r.restoreFiles(steps)
}

// restoreFiles restores the files and images that the calls of an earlier process made for people. restoreFiles subtracts the
// files from the allowance first, and then the images.
func (r *run) restoreFiles(steps []Message) {
	for _, m := range steps {
		if m.Role == ToolRole {
			_, r.files[m.ToolCallID], _ = r.allowance.grant(m.Name, Output{Files: r.turn.Files[m.ToolCallID]})
		}
	}
	for _, m := range steps {
		if m.Role == ToolRole {
			images, _, _ := r.allowance.grant(m.Name, Output{Images: m.Images})
			r.files[m.ToolCallID] = slices.Concat(images, r.files[m.ToolCallID])
		}
	}
}

// awaitDecisions waits for people's decisions about those calls of an earlier process whose tools are missing now. The tools
// of an MCP server may become available late or never, so awaitDecisions does not wait for the tools. finishCalls runs the
// approved calls later.
func (r *run) awaitDecisions(ctx context.Context) error {
	if r.turn.Approver == nil {
		return nil
	}
	var remaining []ToolCall
	for _, c := range r.openCalls {
		if !slices.Contains(r.turn.ProposedCalls, c.ID) || r.offers(c) {
			remaining = append(remaining, c)
			continue
		}
		verdict, err := r.askPerson(ctx, Proposal{Call: c, Tool: c.Name})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil || verdict == Approved:
			remaining = append(remaining, c)
		default:
			r.toolCalls++
			r.refuse(ctx, c, denial(verdict))
		}
	}
	r.openCalls = remaining
	return nil
}

// offers reports whether the tool of a call is available.
func (r *run) offers(c ToolCall) bool {
	return slices.ContainsFunc(r.available(), func(d ToolDef) bool { return d.Name == c.Name })
}

// finishCalls runs the calls for which the earlier process stored no result.
func (r *run) finishCalls(ctx context.Context) error {
	if len(r.openCalls) == 0 {
		return nil
	}
	tools := r.awaitTools(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	calls := make([]parsedCall, len(r.openCalls))
	for i, c := range r.openCalls {
		calls[i] = parseCall(c, tools, false)
		r.statuses.set(c.ID, c.Name, calls[i].def.display(c.Arguments), ToolIdentified)
	}
	return r.runCalls(ctx, calls)
}

const (
	// toolWait is how long finishCalls waits for the tools of its calls, because MCP servers connect some time after the
	// start.
	toolWait = 30 * time.Second
	// toolboxWait is how long the first request of a turn waits until the toolbox knows its tools.
	toolboxWait = 5 * time.Second
	toolPoll    = 250 * time.Millisecond
)

// awaitToolbox waits briefly for the toolbox to learn its tools after the start of the process, so that the first
// messages are answered with the same tools as later ones.
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

// awaitTools waits until the tools of all open calls are available, or for toolWait, and returns the available tools. During
// this wait, the turn's clock is paused.
func (r *run) awaitTools(ctx context.Context) []ToolDef {
	r.clock.pause()
	defer r.clock.resume()
	for began := time.Now(); ; {
		tools := r.available()
		missing := slices.ContainsFunc(r.openCalls, func(c ToolCall) bool { return !r.offers(c) })
		if !missing || time.Since(began) >= toolWait || Sleep(ctx, toolPoll) != nil {
			return tools
		}
	}
}
