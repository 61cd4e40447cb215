package responses

import (
	"context"
	"fmt"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
	"telex/agent/provider"
)

// tailWait is how long a stream may continue after the event that ended the answer. After this event, the answer is complete,
// but the connection can be reused only if the stream is read to its end.
const tailWait = time.Second

// Options configure a Model.
type Options = provider.Options

// Model is one model of one provider.
type Model = provider.Model

// New returns a model. New makes no request.
func New(o Options) (*Model, error) {
	first := shape(0)
	if !o.Summaries {
		first = noSummary
	}
	m, err := provider.NewModel(o, provider.API{
		Request: func(r agent.Request, s shape) (map[string]any, func(context.Context, *openai.Client) error) {
			req := newRequest(&o, r, s)
			return newParams(r, s), func(ctx context.Context, c *openai.Client) (err error) {
				if s.Has(noStreaming) {
					_, err = c.CreateResponse(ctx, req)
				} else {
					_, err = c.CreateResponseStream(ctx, req)
				}
				return err
			}
		},
		Adapt: adapt,
		First: first, Momentary: unreadEcho,
		NewAnswer: func() provider.Answer { return &consumer{model: o.Model} },
		TailWait:  tailWait,
	})
	if err != nil {
		return nil, fmt.Errorf("responses: %w", err)
	}
	return m, nil
}
