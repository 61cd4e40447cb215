package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
)

var (
	// errTooLong: the question alone does not fit the model's window.
	errTooLong = errors.New("the question does not fit the model's window")
	// errNoRoom: the question would fit, but the system prompt, tools or results need too much room.
	errNoRoom = errors.New("the configuration leaves no room for a question in the model's window")
)

// window returns how many tokens a request and its answer may have together; 0: any number.
func (r *run) window() int { return r.model.learned.within(maxWindow, r.model.Window) }

// output returns how many tokens of the window should be kept for the answer.
func (r *run) output() int {
	const share = 8 // of the window, for an answer whose limit is not known
	window := r.window()
	switch most := r.model.learned.within(maxAnswer, r.model.MaxOutput); {
	case most == 0:
		return window / share
	case window > 0 && r.model.Window != window: // the limit is configured for another window
		return min(most, window/2)
	default:
		return most
	}
}

// room returns how many estimated tokens a request may have; 0: any number.
func (r *run) room() int { return r.model.learned.room(r.window(), r.output()) }

// fit returns a draft of the next request with everything in it, and the room that it may take. The answer gets less of the window
// if the question would not fit beside it, but never less than an eighth.
func (r *run) fit(ctx context.Context) *draft {
	d := r.draft()
	window, output := r.window(), r.output()
	if alone := d.alone(); window > 0 && alone > r.model.learned.fitting(window, output) {
		const margin = 0.95
		need := int(float64(r.model.learned.tokens(alone))/margin) + 2
		output = max(min(output, max(window/8, 1)), min(output, window-need))
		d.hopeless = alone > r.model.learned.fitting(window, output)
	}
	d.room = r.model.learned.room(window, output)
	if output < r.model.MaxOutput {
		d.output = output
		if r.model.learned.report("output") {
			r.log.LogAttrs(ctx, slog.LevelWarn, "the longest answer is made shorter, so that the request fits the model's window",
				slog.String("key", "models[].max_output_tokens"), slog.Int("max_output_tokens", r.model.MaxOutput), slog.Int("used", output), slog.Int("window", window))
		}
	}
	return d
}

// draft returns a request with everything in it, whether or not it fits.
func (r *run) draft() *draft {
	messages := limitImages(r.messages[r.done:], maxImages, imageOlder)
	if r.leavesOut(allImages) || r.leavesOut(theseImages) {
		messages = limitImages(messages, 0, imageNotShown)
	}
	messages = limitFiles(messages, maxRequestFiles, fileOlder)
	if r.leavesOut(allFiles) || r.leavesOut(theseFiles) {
		messages = limitFiles(messages, -1, fileNotShown)
	}
	r.tools, r.limited = r.offer()
	if r.leavesOut(allTools) || r.leavesOut(allCalls) {
		messages = withoutCalls(messages)
	}
	return &draft{system: r.system, summary: r.summary, messages: messages, tools: specs(r.tools), question: r.question - r.done}
}

// offer returns the tools that the next answer may call. It offers none when the turn may ask for only one more answer, or may call
// no more tools, so that the model answers with what it knows. Then limited is the reason.
func (r *run) offer() (tools []ToolDef, limited StopReason) {
	tools = slices.DeleteFunc(slices.Clone(r.available()), func(d ToolDef) bool { return r.leavesOut(toolKey(d.Name, d.Parameters)) })
	if r.leavesOut(allTools) || len(tools) == 0 || r.node {
		return nil, ""
	}
	l := r.opts.Limits
	switch {
	case l.ToolCalls > 0 && r.toolCalls >= l.ToolCalls:
		return clientTools(tools), StopToolCalls
	case l.ModelCalls > 0 && r.calls+1 >= l.ModelCalls && r.toolCalls > 0:
		return clientTools(tools), StopCalls
	case l.ModelCalls > 0 && r.calls+1 >= l.ModelCalls:
		return clientTools(tools), ""
	}
	return tools, ""
}

// prepare returns the next request: with what people said meanwhile, and made to fit its room. It makes model calls of its own
// where older messages must be summarized. After a refusal for length the room is smaller, and after a second one only the
// question stays. The error is the context's, errTooLong or errNoRoom.
func (r *run) prepare(ctx context.Context) (Request, error) {
	if r.more != nil {
		r.grow(r.more(ctx)...)
	}
	d := r.fit(ctx)
	if r.refusals > 1 {
		d.forget()
	}
	if !r.shrink(ctx, d) && r.refusals < 2 {
		if r.refusals == 0 && d.hopeless { // after a refusal the window is not known for sure
			return Request{}, r.tooLong(ctx, d)
		}
		if err := r.makeRoom(ctx, d); err != nil {
			return Request{}, err
		}
		d = r.fit(ctx) // a summary's usage may have changed the room
		r.shrink(ctx, d)
		if dropped := d.drop(); dropped > 0 {
			r.log.LogAttrs(ctx, slog.LevelWarn, "older messages do not fit, leaving them out of this request", slog.Int("messages", dropped))
		}
	}
	if r.refusals > 0 && r.size(d.request()) >= r.refused {
		d.forget()
		if r.shrink(ctx, d); r.size(d.request()) >= r.refused {
			return Request{}, r.tooLong(ctx, d)
		}
	}
	r.tools = slices.DeleteFunc(slices.Clone(r.tools), func(t ToolDef) bool {
		return !slices.ContainsFunc(d.tools, func(s ToolSpec) bool { return s.Name == t.Name })
	})
	return d.request(), nil
}

// size returns the tokens of a request and its longest answer.
func (r *run) size(request Request) int {
	return request.tokens() + cmp.Or(request.MaxOutput, r.model.MaxOutput)
}

// shrink makes a draft smaller: first long results of tools, then the descriptions of tools. It reports whether the draft fits.
func (r *run) shrink(ctx context.Context, d *draft) (fits bool) {
	if d.fits() {
		return true
	}
	d.shortenResults()
	tools := toolTokens(d.tools)
	most := min(d.room/2, d.room-(d.alone()-tools)) // the conversation needs room, too
	if tools > most && !d.fits() {
		shortened, left := d.shrinkTools(max(0, most))
		if (len(shortened) > 0 || len(left) > 0) && r.model.learned.report("tools") {
			r.log.LogAttrs(ctx, slog.LevelWarn, "the descriptions of the tools do not fit the model's window: the longest ones are shortened or left out",
				slog.String("key", "tools.enabled, mcp_servers[].deny, models[].context_window"), slog.Int("estimated_tokens", tools), slog.Int("room", d.room),
				slog.Int("shortened", len(shortened)), slog.Any("left_out", left))
		}
	}
	return d.fits()
}

// tooLong logs what needs the room and returns the error for a question that does not fit. People read that their
// question is too long only if it needs the most room.
func (r *run) tooLong(ctx context.Context, d *draft) error {
	system, tools, asked := EstimateTokens(d.system), toolTokens(d.tools), 0
	for _, m := range d.messages[d.question:] {
		if m.Role == User {
			asked += m.tokens()
		}
	}
	results := d.alone() - system - tools - asked
	err, key := errTooLong, "models[].context_window"
	if most := max(system, tools, results); most >= asked {
		err = errNoRoom
		switch most {
		case system:
			key = "agent.system_prompt, " + key
		case tools:
			key = "tools.enabled, mcp_servers[].deny, " + key
		}
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "the request does not fit the model's window",
		slog.String("key", key), slog.Int("window", r.window()), slog.Int("configured_window", r.model.Window),
		slog.Int("system_prompt", system), slog.Int("tools", tools), slog.Int("question", asked), slog.Int("steps", results))
	if isKind(r.overflow, TooLarge) { // the account's limit, not the model's
		return r.overflow
	}
	return err
}

// concede changes the next request after the provider refused one. It reports whether there is a next one. The loop ends,
// because requests only lose things.
func (r *run) concede(ctx context.Context, refused Request, err error) (again bool) {
	if isCut(err) || ctx.Err() != nil {
		return false
	}
	tool, ok := refusedTool(err, refused.Tools)
	switch {
	case ok: // one server's tool must not cost everybody all answers
		r.leaveOut(toolKey(tool.Name, tool.Parameters))
	case isKind(err, BadImage) && hasFiles(refused.Messages):
		r.leaveOut(theseFiles)
	case isKind(err, BadRequest) && hasFiles(refused.Messages): // fewer models take files than images
		r.leaveOut(allFiles)
	case isKind(err, BadImage) && hasImages(refused.Messages):
		r.leaveOut(theseImages)
	case isKind(err, BadRequest) && hasImages(refused.Messages):
		r.leaveOut(allImages)
	case isKind(err, NoTools) && len(refused.Tools) > 0:
		r.leaveOut(allTools)
	case isKind(err, BadRequest) && !r.leavesOut(allCalls) && hasCalls(refused.Messages):
		// Some providers take no calls without tools, or none that another model made: their ids are of
		// another form, or a signature is missing.
		r.leaveOut(allCalls)
		delete(r.leftOut, allImages) // which were not it
		delete(r.leftOut, allFiles)
	case overflows(err, refused):
		r.overflowed(ctx, refused, err)
	default:
		return false
	}
	return true
}

// overflows reports whether a smaller request may be taken.
func overflows(err error, refused Request) bool {
	return isKind(err, ContextLength, TooLarge) || modelError(err).Status == http.StatusRequestEntityTooLarge && !hasImages(refused.Messages) && !hasFiles(refused.Messages)
}

// overflowed makes the next request smaller after one was too long: by a shorter answer if that was the largest part,
// else by less of the conversation.
func (r *run) overflowed(ctx context.Context, refused Request, err error) {
	r.overflow = err
	key, known, limit := "models[].context_window", r.window(), modelError(err).Limit
	tokens, output := refused.tokens(), cmp.Or(refused.MaxOutput, r.model.MaxOutput)
	switch least := max(r.model.MaxOutput/8, 64); {
	case limit > 0 && (known == 0 || limit < known): // now it is known what fits
		r.model.learned.tooLong(tokens, limit)
	case output > least && output > tokens:
		key = "models[].max_output_tokens"
		r.model.learned.shrinkOutput(least)
	default:
		r.model.learned.tooLong(tokens, 0)
		r.refusals++
		r.refused = r.size(refused)
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "the provider found the request too long, asking again with a smaller one",
		slog.String("key", key), slog.Int("estimated_tokens", tokens), slog.Int("max_output_tokens", output),
		slog.Int("window", r.model.Window), slog.Int("limit", limit), slog.Any("error", err))
}
