package agent

import (
	"context"
	"errors"
	"log/slog"
)

// errTooLong says that the question alone does not fit the model's window.
var errTooLong = errors.New("the question does not fit the model's window")

// squeeze is how far requests of a turn were made smaller after the provider found one too long.
type squeeze uint8

const (
	asItFits     squeeze = iota
	summarized           // once more, with older messages summarized
	questionOnly         // the last try
)

// room returns how many estimated tokens a request may have; 0: any number.
func (r *run) room() int { return r.model.learned.room(r.model.Window, r.output()) }

// output returns how many tokens of the window are kept for the answer.
func (r *run) output() int {
	const share = 8 // of the window, for an answer whose limit is not known
	if r.model.MaxOutput == 0 {
		return r.model.Window / share
	}
	return r.model.MaxOutput
}

// hopeless says that the question can't fit, going by the window that the model is said to
// have. What was refused before says nothing for sure about this question.
func (r *run) hopeless(d *draft) bool {
	fitting := r.model.learned.fitting(r.model.Window, r.output())
	return r.squeezed == asItFits && fitting > 0 && d.alone() > fitting
}

// draft returns the request as it would be if everything fitted.
func (r *run) draft() *draft {
	messages := limitImages(r.messages[r.done:], mostImages, imageOlder)
	if r.blind {
		messages = limitImages(messages, 0, imageNotShown)
	}
	r.tools, r.limited = r.offer()
	if r.toolless || r.flat {
		messages = withoutCalls(messages)
	}
	return &draft{system: r.system, summary: r.summary, messages: messages, tools: specs(r.tools), question: r.question - r.done}
}

// offer returns the tools that the next answer may call. The last one that the turn may have, and the one
// after the last tool that it may call, get none, so that they answer with what there is; then limited
// is what the turn ends with.
func (r *run) offer() (tools []ToolDef, limited StopReason) {
	tools = r.unspoiled(r.available())
	if r.toolless || len(tools) == 0 || r.node {
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
// model calls of its own where older messages must be summarized. Its error is the context's, or
// errTooLong.
func (r *run) prepare(ctx context.Context) (Request, error) {
	if r.more != nil {
		more := r.more(ctx)
		r.grow(more...)
	}
	d, room := r.draft(), r.room()
	if r.squeezed == questionOnly {
		return r.lastTry(d), nil
	}
	if room == 0 || d.tokens() <= room {
		return d.request(), nil
	}
	d.shortenResults(room)
	if d.tokens() <= room {
		return d.request(), nil
	}
	if r.hopeless(d) {
		return Request{}, errTooLong
	}
	if err := r.makeRoom(ctx, d, room); err != nil {
		return Request{}, err
	}
	d, room = r.draft(), r.room() // which a summary's usage may have changed
	d.shortenResults(room)
	if dropped := d.drop(room); dropped > 0 {
		r.log.LogAttrs(ctx, slog.LevelWarn, "older messages do not fit, leaving them out of this request", slog.Int("messages", dropped))
	}
	if r.squeezed == summarized && d.tokens() >= r.refused {
		r.squeezed = questionOnly // no smaller than what was refused
		return r.lastTry(d), nil
	}
	return d.request(), nil
}

// makeRoom has the older messages summarized, so that about half of the room is free. An error
// other than the context's only means that less was done.
func (r *run) makeRoom(ctx context.Context, d *draft, room int) error {
	frame := Request{System: d.system, Tools: d.tools}.tokens() + r.mostSummary()
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

// lastTry returns the question alone, with short results of tools.
func (r *run) lastTry(d *draft) Request {
	d.forget()
	d.shortenResults(min(d.tokens(), r.refused) / 2)
	return d.request()
}

// concede makes the next request one that the provider may take, after it refused this one. It
// says whether there is a next one. As requests only get smaller, asking again ends.
func (r *run) concede(ctx context.Context, refused Request, err error) (again bool, _ error) {
	if isCut(err) || ctx.Err() != nil {
		return false, err
	}
	if t, ok := blamed(err, refused.Tools); ok { // one server's tool must not cost everybody all answers
		if r.spoiled == nil {
			r.spoiled = make(spoiled)
		}
		r.spoiled[t.Name] = string(t.Parameters)
		return true, err
	}
	switch {
	case (isKind(err, BadRequest) || isKind(err, BadImage)) && !r.blind && hasImages(refused.Messages):
		r.blind, r.badImage = true, isKind(err, BadImage)
		return true, err
	case isKind(err, NoTools) && len(refused.Tools) > 0:
		r.toolless = true
		return true, err
	case isKind(err, BadRequest) && !r.flat && hasCalls(refused.Messages):
		// Some providers take no calls without tools, or none that another model made: their ids are of
		// another form, or a signature is missing.
		r.flat = true
		r.blind = r.model.learned.takesNoImages() // which was not it
		return true, err
	case !isKind(err, ContextLength):
		return false, err
	case r.squeezed == questionOnly, !r.draft().older():
		return false, errors.Join(errTooLong, err)
	}
	r.refused = refused.tokens()
	r.model.learned.refused(r.refused)
	r.squeezed++
	r.log.LogAttrs(ctx, slog.LevelWarn, "the provider found the request too long, asking again with less of the conversation",
		slog.Int("estimated_tokens", r.refused), slog.Any("error", err))
	return true, err
}
