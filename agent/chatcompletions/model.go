package chatcompletions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"telex/agent"
	"telex/agent/provider"
)

// tailWait is how long a stream may go on after it said that the answer is at its end: the
// usage comes there, and some servers never close.
const tailWait = 5 * time.Second

var errNoFinish = errors.New("the stream ended before the answer did")

// Options configure a Model.
type Options = provider.Options

// Model is one model of one provider. It remembers what the provider has refused, so that each
// refusal is met once in ten minutes.
type Model struct {
	*provider.Client
	opts   Options
	shapes *provider.Shapes
}

// New returns a model. It calls nobody.
func New(o Options) (*Model, error) {
	c, err := provider.NewClient(o)
	if err != nil {
		return nil, fmt.Errorf("chat completions: %w", err)
	}
	m := &Model{Client: c, opts: o, shapes: provider.NewShapes(o)}
	m.shapes.Wanted = wantsReasoning | wantsExtra
	return m, nil
}

// Stream is agent.Model's.
func (m *Model) Stream(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	return m.shapes.Ask(ctx, m.Log, true, func(s shape) (agent.Completion, error) { return m.stream(ctx, r, s, emit) }, concede)
}

// Complete is agent.Model's.
func (m *Model) Complete(ctx context.Context, r agent.Request) (agent.Completion, error) {
	return m.shapes.Ask(ctx, m.Log, false, func(s shape) (agent.Completion, error) { return m.complete(ctx, r, s) }, concede)
}

// note remembers what the provider sends and wants back.
func (m *Model) note(c *consumer) {
	if c.replays {
		m.shapes.Note(wantsReasoning)
	}
	if c.extra {
		m.shapes.Note(wantsExtra)
	}
}

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
		if err != nil {
			return c, err
		}
		return provider.Tell(c, emit), nil
	}
	c := consumer{model: m.opts.Model}
	err := x.Read(tailWait, cancel, func(event []byte) (bool, error) {
		d, err := receive(event, &c)
		if err != nil {
			return c.finished, err
		}
		emit(d)
		for i := range c.told {
			emit(agent.Delta{Call: &c.told[i]})
		}
		c.told = nil // which is the agent's now
		return c.finished, nil
	})
	m.note(&c)
	return m.ended(&c, err)
}

// receive folds an event.
func receive(data []byte, c *consumer) (agent.Delta, error) {
	var k chunk
	if err := json.Unmarshal(data, &k); err != nil {
		return agent.Delta{}, fmt.Errorf("read an event: %w", err)
	}
	return c.take(k), nil
}

// ended judges the end of a stream. Only a finish_reason makes an answer complete.
func (m *Model) ended(c *consumer, err error) (agent.Completion, error) {
	if err == nil {
		return c.completion(), nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: %w", errNoFinish, err)
	}
	return agent.Completion{}, m.Broken(err, c.usage.total())
}
