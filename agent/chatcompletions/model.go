package chatcompletions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"telex/agent"
	"telex/agent/provider"
	"telex/agent/sse"
)

// tailWait is how long a stream may go on after it said that the answer is at its end: the
// usage comes there, and some servers never close.
const tailWait = 5 * time.Second

var (
	errNotStreamed = errors.New("this model is asked without streaming")
	errTail        = errors.New("the stream did not end after the answer")
	errNoFinish    = errors.New("the stream ended before the answer did")
)

// Options configure a Model.
type Options = provider.Options

// Model is one model of one provider. It remembers what the provider has refused, so that each
// refusal is met once in ten minutes.
type Model struct {
	*provider.Client
	opts   Options
	shapes *provider.Shapes[shape]
}

// New returns a model. It calls nobody.
func New(o Options) (*Model, error) {
	c, err := provider.NewClient(o)
	if err != nil {
		return nil, fmt.Errorf("chat completions: %w", err)
	}
	return &Model{Client: c, opts: o, shapes: provider.NewShapes(shape{noStreaming: !o.Stream}, shape.join)}, nil
}

// Stream is agent.Model's.
func (m *Model) Stream(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	return m.ask(ctx, true, func(ctx context.Context, s shape) (agent.Completion, error) {
		return m.stream(ctx, r, s, emit)
	})
}

// Complete is agent.Model's.
func (m *Model) Complete(ctx context.Context, r agent.Request) (agent.Completion, error) {
	return m.ask(ctx, false, func(ctx context.Context, s shape) (agent.Completion, error) {
		return m.complete(ctx, r, s)
	})
}

// ask sends the request in the shape that the provider takes, and finds that shape first where
// it has to.
func (m *Model) ask(
	ctx context.Context, stream bool, send func(context.Context, shape) (agent.Completion, error),
) (agent.Completion, error) {
	return m.shapes.Ask(func(s shape) (agent.Completion, error) {
		if stream && s.noStreaming {
			return agent.Completion{}, &agent.ModelError{Kind: agent.NoStreaming, NotSent: true, Err: errNotStreamed}
		}
		return send(ctx, s)
	}, func(err error, s shape) (shape, bool) {
		return concede(err, s, stream)
	}, func(before, after shape, why error) {
		switch {
		case after.noTemperature && !before.noTemperature:
			m.Log.LogAttrs(ctx, slog.LevelWarn, "the model takes no temperature, leaving it out for ten minutes", slog.Any("error", why))
		case after.replays && !before.replays, after.extra && !before.extra:
			m.Log.LogAttrs(ctx, slog.LevelInfo, "the provider wants back what it sent with its calls, sending it for ten minutes", slog.Any("error", why))
		default:
			m.Log.LogAttrs(ctx, slog.LevelInfo, "the provider refused a part of the request, leaving it out for ten minutes", slog.Any("error", why))
		}
	})
}

// note remembers what the provider sends and wants back.
func (m *Model) note(c *consumer) { m.shapes.Note(shape{replays: c.replays, extra: c.extra}) }

func (m *Model) complete(ctx context.Context, r agent.Request, s shape) (agent.Completion, error) {
	req, fields := newRequest(&m.opts, r, s, false)
	client, x := m.Open(false, fields)
	_, err := client.CreateChatCompletion(ctx, req)
	if x.Whole == nil {
		return agent.Completion{}, err
	}
	// Read by ourselves: go-openai's types lack one name of reasoning and are strict about
	// fields that we don't need.
	return m.readWhole(x.Whole)
}

func (m *Model) readWhole(data []byte) (agent.Completion, error) {
	var k chunk
	if err := json.Unmarshal(data, &k); err != nil {
		return agent.Completion{}, m.Broken(fmt.Errorf("read the answer: %w", err), nil)
	}
	c := consumer{model: m.opts.Model}
	d := c.take(k)
	if !c.finished {
		return agent.Completion{}, &agent.ModelError{Kind: agent.Broken, Usage: c.usage.total(), Err: errors.New("the answer has no choices")}
	}
	m.note(&c)
	out := c.completion()
	out.Text, out.Reasoning, out.Refusal = d.Text, d.Reasoning, d.Refusal
	return out, nil
}

func (m *Model) stream(ctx context.Context, r agent.Request, s shape, emit func(agent.Delta)) (agent.Completion, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, fields := newRequest(&m.opts, r, s, true)
	client, x := m.Open(true, fields)
	if _, err := client.CreateChatCompletionStream(ctx, req); err != nil {
		return agent.Completion{}, err
	}
	if x.Whole != nil {
		c, err := m.readWhole(x.Whole)
		if err == nil {
			emit(agent.Delta{Text: c.Text, Reasoning: c.Reasoning, Refusal: c.Refusal})
			c.Text, c.Reasoning, c.Refusal = "", "", ""
		}
		return c, err
	}
	defer func() { _ = x.Body.Close() }() // the answer was read or is given up
	c := consumer{model: m.opts.Model}
	var tail *time.Timer
	for {
		d, err := receive(x.Events, &c)
		if err != nil {
			m.note(&c)
			return m.ended(&c, err)
		}
		emit(d)
		for i := range c.told {
			emit(agent.Delta{Call: &c.told[i]})
		}
		c.told = nil // which is the agent's now
		if c.finished && tail == nil {
			tail = time.AfterFunc(tailWait, func() { cancel(errTail) })
			defer tail.Stop()
		}
	}
}

// receive reads the next event and folds it.
func receive(in *sse.Events, c *consumer) (agent.Delta, error) {
	data, err := in.Next()
	if err != nil {
		return agent.Delta{}, err
	}
	if text, ok := plainText(data); ok {
		c.told = nil
		return agent.Delta{Text: text}, nil
	}
	var k chunk
	if err := json.Unmarshal(data, &k); err != nil {
		return agent.Delta{}, fmt.Errorf("read an event: %w", err)
	}
	return c.take(k), nil
}

// ended judges the end of a stream. Only a finish_reason makes an answer complete, and then
// nothing that happens after it matters.
func (m *Model) ended(c *consumer, err error) (agent.Completion, error) {
	if c.finished {
		return c.completion(), nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: %w", errNoFinish, err)
	}
	return agent.Completion{}, m.Broken(err, c.usage.total())
}
