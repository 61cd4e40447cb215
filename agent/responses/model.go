package responses

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"telex/agent"
	"telex/agent/provider"
)

// tailWait is how long a stream may go on after the event that ended the answer. Nothing is
// missing then; a connection whose stream was read to its end can be used again.
const tailWait = time.Second

var errNoEnd = errors.New("the stream ended before the answer did")

// Options configure a Model.
type Options = provider.Options

// Model is one model of one provider. It remembers what the provider has refused, so that each
// refusal is met once in ten minutes.
type Model struct {
	*provider.Client
	opts   Options
	shapes *provider.Shapes
	phased atomic.Bool // it says which of its messages are remarks on the way
}

// New returns a model. It calls nobody.
func New(o Options) (*Model, error) {
	c, err := provider.NewClient(o)
	if err != nil {
		return nil, fmt.Errorf("responses: %w", err)
	}
	m := &Model{Client: c, opts: o, shapes: provider.NewShapes(o)}
	if !o.Summaries {
		m.shapes.Note(noSummary)
	}
	return m, nil
}

// Stream is agent.Model's.
func (m *Model) Stream(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	return m.ask(ctx, true, func(s shape) (agent.Completion, error) { return m.stream(ctx, r, s, emit) })
}

// Complete is agent.Model's.
func (m *Model) Complete(ctx context.Context, r agent.Request) (agent.Completion, error) {
	return m.ask(ctx, false, func(s shape) (agent.Completion, error) { return m.complete(ctx, r, s) })
}

// ask sends the request in the shape that the provider takes.
func (m *Model) ask(ctx context.Context, stream bool, send func(shape) (agent.Completion, error)) (agent.Completion, error) {
	return m.shapes.Ask(ctx, m.Log, stream, func(s shape) (agent.Completion, error) {
		c, err := send(s)
		if provider.Named(err, "invalid_encrypted_content") && !s.Has(noEcho) {
			// Of another key or organization, or too old. What is encrypted from now on may be good again.
			m.Log.LogAttrs(ctx, slog.LevelInfo, "the provider can't read its reasoning, asking again without", slog.Any("error", err))
			return send(s | noEcho)
		}
		return c, err
	}, concede)
}

func (m *Model) complete(ctx context.Context, r agent.Request, s shape) (agent.Completion, error) {
	client, x := m.Open(false, nil)
	_, err := client.CreateResponse(ctx, newRequest(&m.opts, r, s, m.phased.Load()))
	if x.Whole == nil {
		return agent.Completion{}, err
	}
	return m.readWhole(x.Whole)
}

// readWhole reads an answer in one piece.
func (m *Model) readWhole(data []byte) (agent.Completion, error) {
	var text, reasoning, refusal string
	c := consumer{model: m.opts.Model}
	err := c.takeWhole(data, func(d agent.Delta) {
		text, reasoning, refusal = text+d.Text, reasoning+d.Reasoning, refusal+d.Refusal
	})
	if err != nil {
		return agent.Completion{}, m.failed(&c, err)
	}
	out := m.completion(&c)
	out.Text, out.Reasoning, out.Refusal = text, reasoning, refusal
	return out, nil
}

func (m *Model) stream(ctx context.Context, r agent.Request, s shape, emit func(agent.Delta)) (agent.Completion, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	client, x := m.Open(true, nil)
	if _, err := client.CreateResponseStream(ctx, newRequest(&m.opts, r, s, m.phased.Load())); err != nil {
		return agent.Completion{}, err
	}
	if x.Whole != nil {
		c, err := m.readWhole(x.Whole)
		if err != nil {
			return c, err
		}
		return provider.Tell(c, emit), nil
	}
	c := consumer{model: m.opts.Model}
	err := x.Read(tailWait, cancel, func(event []byte) (bool, error) {
		if c.finished {
			return true, nil
		}
		err := c.take(event, emit)
		return c.finished, err
	})
	if err != nil {
		return agent.Completion{}, m.failed(&c, err)
	}
	return m.completion(&c), nil
}

// completion returns what a finished answer came to.
func (m *Model) completion(c *consumer) agent.Completion {
	if c.phased {
		m.phased.Store(true)
	}
	return c.completion()
}

// failed judges what ended an answer before its end.
func (m *Model) failed(c *consumer, err error) error {
	if e, ok := errors.AsType[*provider.APIError](err); ok {
		if _, judged := errors.AsType[*agent.ModelError](err); !judged {
			return m.Failed(e, c.usage.total())
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: %w", errNoEnd, err)
	}
	return m.Broken(err, c.usage.total())
}
