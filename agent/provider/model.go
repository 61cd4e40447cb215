package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
)

// API is what one model API does in a way of its own.
type API struct {
	// Request returns a request in a shape: the fields that go-openai can't be trusted with, and the call that sends the others.
	Request func(r agent.Request, s Shape, stream bool) (fields map[string]any, send func(context.Context, *openai.Client) error)
	// Concede returns the shape without what the provider has just refused; ok says whether there is something to concede.
	// Asking again in the new shape must come to an end.
	Concede func(err error, s Shape, stream bool) (next Shape, ok bool)
	// First is the shape to begin with. Momentary are the bits of shapes that hold for one request.
	First, Momentary Shape
	// NewAnswer returns an empty answer.
	NewAnswer func() Answer
	// TailWait is how long a stream may go on after it said that the answer is at its end.
	TailWait time.Duration
}

// Answer folds what a provider sends of one answer. It knows nothing of time or connections. An error of its methods is an
// *APIError, or says why the data can't be read.
type Answer interface {
	// Take folds an event of a stream. It tells emit what the event adds, or that it adds nothing.
	Take(event []byte, emit func(agent.Delta)) (ended bool, err error)
	// TakeWhole folds an answer in one piece.
	TakeWhole(data []byte, emit func(agent.Delta)) (ended bool, err error)
	// Completion returns what a finished answer came to, without its text.
	Completion() agent.Completion
	// Learned returns what the answer shows of the shape that the provider wants.
	Learned() Shape
	// Usage returns what the provider has said so far that the answer used; nil: nothing.
	Usage() *agent.Usage
}

// Model is one model of one provider: an agent.Model. It remembers what the provider has refused, so that each refusal is met
// once in ten minutes.
type Model struct {
	*Client
	shapes *shapes
	api    API
}

// NewModel returns a model. It calls nobody.
func NewModel(o Options, api API) (*Model, error) {
	c, err := NewClient(o)
	if err != nil {
		return nil, err
	}
	if !o.Stream {
		api.First |= NoStreaming
	}
	return &Model{Client: c, shapes: &shapes{momentary: api.Momentary, lasting: api.First}, api: api}, nil
}

// Stream is agent.Model's.
func (m *Model) Stream(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	return m.ask(ctx, r, true, emit)
}

// Complete is agent.Model's.
func (m *Model) Complete(ctx context.Context, r agent.Request) (agent.Completion, error) {
	var said agent.Delta
	c, err := m.ask(ctx, r, false, func(d agent.Delta) { said = d })
	if err == nil {
		c.Text, c.Reasoning, c.Refusal = said.Text, said.Reasoning, said.Refusal
	}
	return c, err
}

// ask sends a request in the shape that the provider takes.
func (m *Model) ask(ctx context.Context, r agent.Request, stream bool, emit func(agent.Delta)) (agent.Completion, error) {
	return m.shapes.ask(ctx, m.Log, stream, func(s Shape) (agent.Completion, error) { return m.exchange(ctx, r, s, stream, emit) }, m.api.Concede)
}

// exchange sends one request and reads its answer, streamed or whole: a server decides for itself what it sends.
func (m *Model) exchange(ctx context.Context, r agent.Request, s Shape, stream bool, emit func(agent.Delta)) (agent.Completion, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fields, send := m.api.Request(r, s, stream)
	client, x := m.Open(stream, fields)
	if err := send(ctx, client); x.Whole == nil && x.Events == nil {
		return agent.Completion{}, err
	}
	answer := m.api.NewAnswer()
	var err error
	if x.Whole != nil {
		err = takeWhole(answer, x.Whole, emit)
	} else {
		err = x.read(m.api.TailWait, cancel, func(event []byte) (bool, error) { return answer.Take(event, emit) })
	}
	m.shapes.note(answer.Learned())
	if err != nil {
		return agent.Completion{}, m.broken(err, answer.Usage())
	}
	return answer.Completion(), nil
}

// takeWhole reads an answer in one piece and tells it at once.
func takeWhole(answer Answer, data []byte, emit func(agent.Delta)) error {
	var said agent.Delta
	ended, err := answer.TakeWhole(data, func(d agent.Delta) {
		said.Text, said.Reasoning, said.Refusal = said.Text+d.Text, said.Reasoning+d.Reasoning, said.Refusal+d.Refusal
	})
	if err == nil && !ended {
		err = errNoEnd
	}
	if err == nil {
		emit(said)
	}
	return err
}

var errNoEnd = errors.New("the stream ended before the answer did")

// broken is an answer that could not be read to its end, with the usage that the provider has told until then.
func (m *Model) broken(err error, used *agent.Usage) error {
	me, ok := errors.AsType[*agent.ModelError](err)
	if !ok {
		if e, said := errors.AsType[*APIError](err); said {
			me = m.redact.streamError(e)
		} else {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("%w: %w", errNoEnd, err)
			}
			me = m.redact.transportError(agent.Broken, err)
		}
		err = me
	}
	me.Usage = cmp.Or(me.Usage, used)
	return err
}
