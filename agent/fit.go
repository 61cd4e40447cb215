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
	// errTooLong says that the question alone does not fit the model's context window.
	errTooLong = errors.New("the question does not fit the model's window")
	// errNoRoom says that the question would fit, but that the system prompt, the tools or their results are too long.
	errNoRoom = errors.New("the configuration leaves no room for a question in the model's window")
)

// window returns how many tokens a request and its answer may have together; 0: no limit.
func (r *run) window() int { return r.model.facts.within(maxWindow, r.model.Window) }

// output returns how many tokens of the window should be kept for the answer.
func (r *run) output() int {
	const share = 8 // an answer without a known limit gets one eighth of the window
	window := r.window()
	switch limit := r.model.facts.within(maxAnswer, r.model.MaxOutput); {
	case limit == 0:
		return window / share
	case window > 0 && r.model.Window != window: // the limit was configured for a window of another size
		return min(limit, window/2)
	default:
		return limit
	}
}

// room returns how many estimated tokens a request may have; 0: no limit.
func (r *run) room() int { return r.model.facts.room(r.window(), r.output()) }

// fit returns a draft of the next request, and sets draft.room, the number of tokens that the request may have. If the
// question and the longest answer together exceed the window, fit lowers the limit of the answer, but not below an eighth of
// the window.
func (r *run) fit(ctx context.Context) *draft {
	d := r.draft()
	window, output := r.window(), r.output()
	if question := d.questionTokens(); window > 0 && question > r.model.facts.fitting(window, output) {
		const margin = 0.95
		need := int(float64(r.model.facts.tokens(question))/margin) + 2
		output = max(min(output, max(window/8, 1)), min(output, window-need))
		d.questionTooLong = question > r.model.facts.fitting(window, output)
	}
	d.room = r.model.facts.room(window, output)
	if output < r.model.MaxOutput {
		d.output = output
		if r.model.facts.report("output") {
			r.log.LogAttrs(ctx, slog.LevelWarn, "the answer's limit is lowered, so that the request fits the model's window",
				slog.String("key", "models[].max_output_tokens"), slog.Int("max_output_tokens", r.model.MaxOutput), slog.Int("used", output), slog.Int("window", window))
		}
	}
	return d
}

// draft returns the next request without shortening it, even if it exceeds the model's window.
func (r *run) draft() *draft {
	messages := limitImages(r.messages[r.summarizedCount:], maxImages, imageOmitted)
	if r.leavesOut(allImages) || r.leavesOut(theseImages) {
		messages = limitImages(messages, 0, imageNotShown)
	}
	messages = limitFiles(messages, maxRequestFiles, fileOmitted)
	if r.leavesOut(allFiles) || r.leavesOut(theseFiles) {
		messages = limitFiles(messages, -1, fileNotShown)
	}
	r.tools, r.limitReached = r.offer()
	if r.leavesOut(allTools) || r.leavesOut(allCalls) {
		messages = withoutCalls(messages)
	}
	return &draft{system: r.system, summary: r.summary, messages: messages, tools: specs(r.tools), questionIndex: r.questionIndex - r.summarizedCount}
}

// offer returns the tools that the next answer may call. If the turn may make only one more model call, or no more tool
// calls, offer returns only the client's tools, so that the model answers with what it knows. limited then says which limit
// was reached.
func (r *run) offer() (tools []ToolDef, limited StopReason) {
	tools = slices.DeleteFunc(slices.Clone(r.available()), func(d ToolDef) bool { return r.leavesOut(toolKey(d.Name, d.Parameters)) })
	if r.leavesOut(allTools) || len(tools) == 0 || r.innerNode {
		return nil, ""
	}
	l := r.opts.Limits
	switch {
	case l.ToolCalls > 0 && r.toolCalls >= l.ToolCalls:
		return clientTools(tools), StopToolCalls
	case l.ModelCalls > 0 && r.modelCalls+1 >= l.ModelCalls && r.toolCalls > 0:
		return clientTools(tools), StopCalls
	case l.ModelCalls > 0 && r.modelCalls+1 >= l.ModelCalls:
		return clientTools(tools), ""
	}
	return tools, ""
}

// prepare returns the next request, which includes the messages that people wrote since the previous request, and fits the
// model's window. If older messages must be summarized first, prepare makes model calls of its own. If the provider refused the
// previous request because of its length, shrinkAfterRefusal has already reduced the maximum length of the answer, the known
// window, or the tokens that the conversation may have. If the tokens for the conversation were reduced twice, the request
// contains only the question. The error of prepare is the context's error, the provider's error, errTooLong or errNoRoom.
func (r *run) prepare(ctx context.Context) (Request, error) {
	if r.more != nil {
		r.appendHistory(r.more(ctx)...)
	}
	d := r.fit(ctx)
	if r.lengthRefusals > 1 {
		d.keepOnlyQuestion()
	}
	if !r.shrink(ctx, d) && r.lengthRefusals < 2 {
		if r.lengthRefusals == 0 && d.questionTooLong { // after a refusal, ask anyway: the known window may be wrong
			return Request{}, r.tooLongError(ctx, d)
		}
		if err := r.summarizeOlder(ctx, d); err != nil {
			return Request{}, err
		}
		d = r.fit(ctx) // the usage reported for the summary may have changed how many tokens fit
		r.shrink(ctx, d)
		if dropped := d.dropOldest(); dropped > 0 {
			r.log.LogAttrs(ctx, slog.LevelWarn, "older messages do not fit, leaving them out of this request", slog.Int("messages", dropped))
		}
	}
	if r.lengthRefusals > 0 && r.size(d.request()) >= r.refusedSize {
		d.keepOnlyQuestion()
		if r.shrink(ctx, d); r.size(d.request()) >= r.refusedSize {
			return Request{}, r.tooLongError(ctx, d)
		}
	}
	r.tools = slices.DeleteFunc(slices.Clone(r.tools), func(t ToolDef) bool {
		return !slices.ContainsFunc(d.tools, func(s ToolSpec) bool { return s.Name == t.Name })
	})
	return d.request(), nil
}

// size returns the estimated tokens of a request plus the maximum tokens of its answer.
func (r *run) size(request Request) int {
	return request.tokens() + cmp.Or(request.MaxOutput, r.model.MaxOutput)
}

// shrink shortens a draft that does not fit: first long results of tools, then the descriptions of tools. shrink reports
// whether the draft fits now.
func (r *run) shrink(ctx context.Context, d *draft) (fits bool) {
	if d.fits() {
		return true
	}
	d.shortenResults()
	tools := toolTokens(d.tools)
	maxTools := min(d.room/2, d.room-(d.questionTokens()-tools)) // leave half of the tokens for the conversation
	if tools > maxTools && !d.fits() {
		shortened, removed := d.shrinkTools(max(0, maxTools))
		if (len(shortened) > 0 || len(removed) > 0) && r.model.facts.report("tools") {
			r.log.LogAttrs(ctx, slog.LevelWarn, "the descriptions of the tools do not fit the model's window: the longest ones are shortened or left out",
				slog.String("key", "tools.enabled, mcp_servers[].deny, models[].context_window"), slog.Int("estimated_tokens", tools), slog.Int("room", d.room),
				slog.Int("shortened", len(shortened)), slog.Any("left_out", removed))
		}
	}
	return d.fits()
}

// tooLongError logs which part of the request needs the most room, and returns the error for a question that does not fit. The
// error is errTooLong only if the question is the largest part of the request. If another part than the question is the
// largest, a shorter question would not help.
func (r *run) tooLongError(ctx context.Context, d *draft) error {
	system, tools, question := EstimateTokens(d.system), toolTokens(d.tools), 0
	for _, m := range d.messages[d.questionIndex:] {
		if m.Role == User {
			question += m.tokens()
		}
	}
	results := d.questionTokens() - system - tools - question
	err, key := errTooLong, "models[].context_window"
	if largest := max(system, tools, results); largest >= question {
		err = errNoRoom
		switch largest {
		case system:
			key = "agent.system_prompt, " + key
		case tools:
			key = "tools.enabled, mcp_servers[].deny, " + key
		}
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "the request does not fit the model's window",
		slog.String("key", key), slog.Int("window", r.window()), slog.Int("configured_window", r.model.Window),
		slog.Int("system_prompt", system), slog.Int("tools", tools), slog.Int("question", question), slog.Int("steps", results))
	if isKind(r.lengthError, TooLarge) { // the request exceeds a limit of the account, not the model's window
		return r.lengthError
	}
	return err
}

// adaptRequest is called after the provider has refused a request. adaptRequest makes the next request omit the part that the
// provider probably refused, and reports whether to send the next request. The repetition of a refused request ends at some
// point, because each request has fewer parts than the one before.
func (r *run) adaptRequest(ctx context.Context, refused Request, err error) (again bool) {
	if isCut(err) || ctx.Err() != nil {
		return false
	}
	tool, ok := refusedTool(err, refused.Tools)
	switch {
	case ok: // a bad tool of one MCP server must not make all answers fail
		r.leaveOut(toolKey(tool.Name, tool.Parameters))
	case isKind(err, BadImage) && hasFiles(refused.Messages):
		r.leaveOut(theseFiles)
	case isKind(err, BadRequest) && hasFiles(refused.Messages): // omit files before images, because fewer models accept files
		r.leaveOut(allFiles)
	case isKind(err, BadImage) && hasImages(refused.Messages):
		r.leaveOut(theseImages)
	case isKind(err, BadRequest) && hasImages(refused.Messages):
		r.leaveOut(allImages)
	case isKind(err, NoTools) && len(refused.Tools) > 0:
		r.leaveOut(allTools)
	case isKind(err, BadRequest) && !r.leavesOut(allCalls) && hasCalls(refused.Messages):
		// Some providers refuse tool calls in the history if the request offers no tools. Other providers refuse the calls of
		// another model, because the form of their ids differs or a signature is missing.
		r.leaveOut(allCalls)
		delete(r.leftOut, allImages) // the images and files were not the reason for the refusal
		delete(r.leftOut, allFiles)
	case overflows(err, refused):
		r.shrinkAfterRefusal(ctx, refused, err)
	default:
		return false
	}
	return true
}

// overflows reports whether the provider refused a request because of its length, so that it may accept a shorter one.
func overflows(err error, refused Request) bool {
	return isKind(err, ContextLength, TooLarge) || modelError(err).Status == http.StatusRequestEntityTooLarge && !hasImages(refused.Messages) && !hasFiles(refused.Messages)
}

// shrinkAfterRefusal makes the next request smaller after the provider has refused a request as too long. If the error says how
// many tokens fit, shrinkAfterRefusal remembers this number. If the error names no number, and the maximum length of the answer
// exceeds the length of the request, shrinkAfterRefusal reduces this maximum. In all other cases, shrinkAfterRefusal reduces
// the tokens that the conversation may have.
func (r *run) shrinkAfterRefusal(ctx context.Context, refused Request, err error) {
	r.lengthError = err
	key, known, limit := "models[].context_window", r.window(), modelError(err).Limit
	tokens, output := refused.tokens(), cmp.Or(refused.MaxOutput, r.model.MaxOutput)
	switch minOutput := max(r.model.MaxOutput/8, 64); {
	case limit > 0 && (known == 0 || limit < known): // the error says how many tokens fit
		r.model.facts.rememberTooLong(tokens, limit)
	case output > minOutput && output > tokens:
		key = "models[].max_output_tokens"
		r.model.facts.shrinkOutput(minOutput)
	default:
		r.model.facts.rememberTooLong(tokens, 0)
		r.lengthRefusals++
		r.refusedSize = r.size(refused)
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "the provider found the request too long, asking again with a smaller one",
		slog.String("key", key), slog.Int("estimated_tokens", tokens), slog.Int("max_output_tokens", output),
		slog.Int("window", r.model.Window), slog.Int("limit", limit), slog.Any("error", err))
}
