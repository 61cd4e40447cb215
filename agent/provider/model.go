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

// API contains the functions that differ between model APIs. Model calls these functions.
type API struct {
	// Request returns the request r in the shape s: the fields that go-openai can't encode correctly, and a function that
	// sends them together with the other fields.
	Request func(r agent.Request, s Shape) (fields map[string]any, send func(context.Context, *openai.Client) error)
	// Adapt returns the shape without the part that the provider has just refused; ok is false if there is no such part. Each new
	// shape must leave out more than the shape before it, so that Model repeats a request only a limited number of times.
	Adapt func(err error, s Shape) (next Shape, ok bool)
	// First is the shape of the first request. Momentary contains those bits of shapes that apply to one request only and are
	// not remembered.
	First, Momentary Shape
	// NewAnswer returns an empty answer.
	NewAnswer func() Answer
	// TailWait is how long a stream may continue after the end of the answer.
	TailWait time.Duration
}

// Answer collects the data of one answer. Answer handles neither timeouts nor connections. Each error of Answer's methods is an
// *APIError, or says why the data can't be read.
type Answer interface {
	// AddEvent adds an event of a stream. AddEvent emits what the event adds to the answer, or an empty Delta.
	AddEvent(event []byte, emit func(agent.Delta)) (ended bool, err error)
	// AddWhole adds an answer in one piece.
	AddWhole(data []byte, emit func(agent.Delta)) (ended bool, err error)
	// Completion returns the finished answer without its text.
	Completion() agent.Completion
	// ShapeHints returns those bits of the shape that later requests need according to this answer.
	ShapeHints() Shape
	// Usage returns the usage that the provider has reported so far, or nil if it has reported none.
	Usage() *agent.Usage
}

// Model is one model of one provider: an agent.Model. Model remembers for ten minutes what the provider has refused, so that
// each refusal costs only one request in that time.
type Model struct {
	*Client
	shapes *shapes
	api    API
}

// NewModel returns a model. NewModel makes no request.
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

// Stream implements agent.Model.
func (m *Model) Stream(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	return m.shapes.ask(ctx, m.Log, func(s Shape) (agent.Completion, error) { return m.exchange(ctx, r, s, emit) }, m.api.Adapt)
}

// exchange sends one request and reads its answer. A server may send a streamed or a whole answer, whether or not a stream
// was requested.
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
	var said agent.Delta // text, reasoning and refusal of an answer that was not streamed
	var err error
	answer := m.api.NewAnswer()
	if x.Whole == nil {
		err = x.readEvents(m.api.TailWait, cancel, func(event []byte) (bool, error) { return answer.AddEvent(event, emit) })
	} else if ended, broken := answer.AddWhole(x.Whole, func(d agent.Delta) {
		said.Text, said.Reasoning, said.Refusal = said.Text+d.Text, said.Reasoning+d.Reasoning, said.Refusal+d.Refusal
	}); broken != nil || !ended {
		err = cmp.Or(broken, errNoEnd)
	}
	m.shapes.remember(answer.ShapeHints())
	if err != nil {
		return agent.Completion{}, m.broken(err, answer.Usage())
	}
	c := answer.Completion()
	c.Text, c.Reasoning, c.Refusal = said.Text, said.Reasoning, said.Refusal
	return c, nil
}

var errNoEnd = errors.New("the stream ended before the answer did")

// broken returns the error for an answer that broke off, with the usage that the provider had reported by then.
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
