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

// maxRefusals is how many requests of a turn may be refused as too long.
const maxRefusals = 6

// squeeze says how much smaller the requests of a turn become after the provider found one too long.
type squeeze uint8

const (
	asItFits     squeeze = iota
	summarized           // once more, with older messages summarized
	questionOnly         // as little as possible, and less each time
)

// fit is the room that a request has.
type fit struct {
	room   int // estimated tokens; 0: any number
	output int // tokens of the answer, as the provider counts; 0: no matter
}

// window returns how many tokens a request and its answer may have together; 0: any number.
func (r *run) window() int { return r.model.learned.limited(r.model.Window) }

// output returns how many tokens of the window should be kept for the answer.
func (r *run) output() int {
	const share = 8 // of the window, for an answer whose limit is not known
	window := r.window()
	switch most := r.model.learned.maxOutput(r.model.MaxOutput); {
	case most == 0:
		return window / share
	case window > 0 && r.model.Window != window: // what is configured was not meant for this window
		return min(most, window/2)
	default:
		return most
	}
}

// room returns how many estimated tokens a request may have; 0: any number.
func (r *run) room() int { return r.model.learned.room(r.window(), r.output()) }

// fit returns the room for a draft. The answer gets less of the window where the question would not fit beside it, but
// never less than an eighth.
func (r *run) fit(ctx context.Context, d *draft) fit {
	window, output := r.window(), r.output()
	if alone := d.alone(); window > 0 && alone > r.model.learned.fitting(window, output) {
		const margin = 0.95
		need := int(float64(r.model.learned.tokens(alone))/margin) + 2
		output = max(min(output, max(window/8, 1)), min(output, window-need))
	}
	f := fit{room: r.model.learned.room(window, output)}
	if output < r.model.MaxOutput {
		f.output = output
		if r.model.learned.report("output") {
			r.log.LogAttrs(ctx, slog.LevelWarn, "the longest answer is made shorter, so that the request fits the model's window",
				slog.String("key", "models[].max_output_tokens"), slog.Int("max_output_tokens", r.model.MaxOutput), slog.Int("used", output), slog.Int("window", window))
		}
	}
	return f
}

// draft returns the request as it would be if everything fitted.
func (r *run) draft() *draft {
	messages := limitImages(r.messages[r.done:], maxImages, imageOlder)
	if r.noImages {
		messages = limitImages(messages, 0, imageNotShown)
	}
	r.tools, r.limited = r.offer()
	if r.noTools || r.callsAsText {
		messages = withoutCalls(messages)
	}
	return &draft{system: r.system, summary: r.summary, messages: messages, tools: specs(r.tools), question: r.question - r.done}
}

// offer returns the tools that the next answer may call. The last one that the turn may have, and the one
// after the last tool that it may call, get none, so that they answer with what there is; then limited
// is what the turn ends with.
func (r *run) offer() (tools []ToolDef, limited StopReason) {
	tools = r.acceptedTools(r.available())
	if r.noTools || len(tools) == 0 || r.node {
		return nil, ""
	}
	l := r.opts.Limits
	switch {
	case l.ToolCalls > 0 && r.toolCalls >= l.ToolCalls:
		return nil, StopToolCalls
	case l.ModelCalls > 0 && r.calls+1 >= l.ModelCalls && r.toolCalls > 0:
		return nil, StopCalls
	case l.ModelCalls > 0 && r.calls+1 >= l.ModelCalls:
		return nil, ""
	}
	return tools, ""
}

// prepare returns the next request: with what people said meanwhile, and made to fit. It makes
// model calls of its own where older messages must be summarized. Its error is the context's, errTooLong or errNoRoom.
func (r *run) prepare(ctx context.Context) (Request, error) {
	if r.more != nil {
		more := r.more(ctx)
		r.grow(more...)
	}
	d := r.draft()
	f := r.fit(ctx, d)
	if r.squeezed == questionOnly {
		return r.lastTry(ctx, d, f)
	}
	if f.room == 0 || d.tokens() <= f.room {
		return r.request(d, f), nil
	}
	r.shrink(ctx, d, f.room)
	if d.tokens() <= f.room {
		return r.request(d, f), nil
	}
	if r.squeezed == asItFits && r.hopeless(d, f) {
		return Request{}, r.tooLong(ctx, d)
	}
	if err := r.makeRoom(ctx, d, f.room); err != nil {
		return Request{}, err
	}
	d = r.draft() // a summary's usage may have changed the room
	f = r.fit(ctx, d)
	r.shrink(ctx, d, f.room)
	if dropped := d.drop(f.room); dropped > 0 {
		r.log.LogAttrs(ctx, slog.LevelWarn, "older messages do not fit, leaving them out of this request", slog.Int("messages", dropped))
	}
	if r.squeezed == summarized && d.tokens() >= r.refused {
		r.squeezed = questionOnly // no smaller than what was refused
		return r.lastTry(ctx, d, f)
	}
	return r.request(d, f), nil
}

// hopeless reports whether the question can't fit, going by the window that the model is said to have. What was refused before
// says nothing for sure about this question.
func (r *run) hopeless(d *draft, f fit) bool {
	window := r.window()
	return window > 0 && d.alone() > r.model.learned.fitting(window, max(f.output, min(r.output(), window/8)))
}

// request returns the request that a draft came to.
func (r *run) request(d *draft, f fit) Request {
	r.tools = slices.DeleteFunc(slices.Clone(r.tools), func(t ToolDef) bool {
		return !slices.ContainsFunc(d.tools, func(s ToolSpec) bool { return s.Name == t.Name })
	})
	request := d.request()
	request.MaxOutput = f.output
	return request
}

// shrink makes a draft smaller: first long results of tools, then the descriptions of tools.
func (r *run) shrink(ctx context.Context, d *draft, room int) {
	d.shortenResults(room)
	tools := toolTokens(d.tools)
	most := min(room/2, room-(d.alone()-tools)) // the conversation needs room, too
	if tools <= most || d.tokens() <= room {
		return
	}
	shortened, left := d.shrinkTools(max(0, most))
	if (len(shortened) > 0 || len(left) > 0) && r.model.learned.report("tools") {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the descriptions of the tools do not fit the model's window: the longest ones are shortened or left out",
			slog.String("key", "tools.enabled, mcp_servers[].deny, models[].context_window"), slog.Int("estimated_tokens", tools), slog.Int("room", room),
			slog.Int("shortened", len(shortened)), slog.Any("left_out", left))
	}
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

// makeRoom lets the model summarize the older messages, so that about half of the room is free. It returns only the
// context's error; others are logged.
func (r *run) makeRoom(ctx context.Context, d *draft, room int) error {
	frame := Request{System: d.system, Tools: d.tools}.tokens() + r.maxSummary()
	upTo := r.done + d.newest(min(room/2, room-frame))
	if upTo == r.done {
		return nil
	}
	err := r.compact(ctx, upTo)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.log.LogAttrs(ctx, slog.LevelWarn, "older messages were not summarized", slog.Any("error", err))
	}
	return nil
}

// lastTry returns a request with the question alone, short results and short descriptions of tools. Each time it is smaller.
func (r *run) lastTry(ctx context.Context, d *draft, f fit) (Request, error) {
	d.forget()
	if size := d.tokens(); size >= r.refused {
		target := min(size, r.refused) / 2
		d.shortenResults(target)
		if over := d.tokens() - target; over > 0 {
			d.shrinkTools(max(0, toolTokens(d.tools)-over))
		}
	}
	if d.tokens() >= r.refused && (f.output == 0 || f.output >= r.refusedOutput) {
		return Request{}, r.tooLong(ctx, d)
	}
	return r.request(d, f), nil
}

// concede changes the next request after the provider refused one. It reports whether there is a next one. The loop ends,
// because requests only lose things.
func (r *run) concede(ctx context.Context, refused Request, err error) (again bool, _ error) {
	if isCut(err) || ctx.Err() != nil {
		return false, err
	}
	if t, ok := blamed(err, refused.Tools); ok { // one server's tool must not cost everybody all answers
		r.refusedTools = append(r.refusedTools, t)
		return true, err
	}
	switch {
	case (isKind(err, BadRequest) || isKind(err, BadImage)) && !r.noImages && hasImages(refused.Messages):
		r.noImages, r.badImage = true, isKind(err, BadImage)
		return true, err
	case isKind(err, NoTools) && len(refused.Tools) > 0:
		r.noTools = true
		return true, err
	case isKind(err, BadRequest) && !r.callsAsText && hasCalls(refused.Messages):
		// Some providers take no calls without tools, or none that another model made: their ids are of
		// another form, or a signature is missing.
		r.callsAsText = true
		r.noImages = r.model.learned.refuses(allImages) // which was not it
		return true, err
	case !overflows(err, refused):
		return false, err
	case r.refusals == maxRefusals:
		return false, r.tooLong(ctx, r.draft())
	}
	r.overflowed(ctx, refused, err)
	return true, err
}

// overflows reports whether a smaller request may be taken.
func overflows(err error, refused Request) bool {
	me, ok := errors.AsType[*ModelError](err)
	return ok && (me.Kind == ContextLength || me.Kind == TooLarge ||
		me.Status == http.StatusRequestEntityTooLarge && !hasImages(refused.Messages))
}

// overflowed makes the next request smaller after one was too long: by a shorter answer if that was the largest part,
// else by less of the conversation.
func (r *run) overflowed(ctx context.Context, refused Request, err error) {
	r.refusals++
	r.overflow = err
	limit := 0
	if me, ok := errors.AsType[*ModelError](err); ok {
		limit = me.Limit
	}
	key, known := "models[].context_window", r.window()
	size, output := refused.tokens(), cmp.Or(refused.MaxOutput, r.model.MaxOutput)
	r.refusedOutput = output
	switch least := max(r.model.MaxOutput/8, 64); {
	case limit > 0 && limit != known && (known == 0 || limit < known): // now it is known what fits
		r.model.learned.tooLong(size, limit)
	case output > least && output > size:
		key = "models[].max_output_tokens"
		r.model.learned.shrinkOutput(least)
	default:
		r.model.learned.tooLong(size, 0)
		r.squeezed = min(r.squeezed+1, questionOnly)
		r.refused = size
	}
	r.log.LogAttrs(ctx, slog.LevelWarn, "the provider found the request too long, asking again with a smaller one",
		slog.String("key", key), slog.Int("estimated_tokens", size), slog.Int("max_output_tokens", output),
		slog.Int("window", r.model.Window), slog.Int("limit", limit), slog.Any("error", err))
}
