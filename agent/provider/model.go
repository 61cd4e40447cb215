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
	Request func(r agent.Request, s Shape) (fields map[string]any, send func(context.Context, *openai.Client) error)
	// Concede returns the shape without what the provider has just refused; ok says whether there is something to concede.
	// Asking again in the new shape must come to an end.
	Concede func(err error, s Shape) (next Shape, ok bool)
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

// Stream implements agent.Model: it asks in the shape that the provider takes.
func (m *Model) Stream(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	return m.shapes.ask(ctx, m.Log, func(s Shape) (agent.Completion, error) { return m.exchange(ctx, r, s, emit) }, m.api.Concede)
}

// exchange sends one request and reads its answer, streamed or whole: a server decides for itself what it sends.
func (m *Model) exchange(ctx context.Context, r agent.Request, s Shape, emit func(agent.Delta)) (agent.Completion, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s.Has(NoStreaming) {
		emit(agent.Delta{Whole: true})
	}
	fields, send := m.api.Request(r, s)
	client, x := m.Open(!s.Has(NoStreaming), r.Live, fields)
	if err := send(ctx, client); x.Whole == nil && x.Events == nil {
		return agent.Completion{}, err
	}
	var said agent.Delta // of a whole answer
	var err error
	answer := m.api.NewAnswer()
	if x.Whole == nil {
		err = x.read(m.api.TailWait, cancel, func(event []byte) (bool, error) { return answer.Take(event, emit) })
	} else if ended, broken := answer.TakeWhole(x.Whole, func(d agent.Delta) {
		said.Text, said.Reasoning, said.Refusal = said.Text+d.Text, said.Reasoning+d.Reasoning, said.Refusal+d.Refusal
	}); broken != nil || !ended {
		err = cmp.Or(broken, errNoEnd)
	}
	m.shapes.note(answer.Learned())
	if err != nil {
		return agent.Completion{}, m.broken(err, answer.Usage())
	}
	c := answer.Completion()
	c.Text, c.Reasoning, c.Refusal = said.Text, said.Reasoning, said.Refusal
	return c, nil
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
