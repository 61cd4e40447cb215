package chatcompletions

import (
	"context"
	"fmt"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
	"telex/agent/provider"
)

// tailWait is how long a stream may continue after the end of the answer. The usage arrives after the end of the answer, so
// telex continues to read. The time is limited, because some servers never close the stream.
const tailWait = 5 * time.Second

// Options configure a Model.
type Options = provider.Options

// Model is one model of one provider.
type Model = provider.Model

// New returns a model. New makes no request.
func New(o Options) (*Model, error) {
	m, err := provider.NewModel(o, provider.API{
		Request: func(r agent.Request, s shape) (map[string]any, func(context.Context, *openai.Client) error) {
			req, fields := newRequest(&o, r, s)
			return fields, func(ctx context.Context, c *openai.Client) (err error) {
				if s.Has(noStreaming) {
					_, err = c.CreateChatCompletion(ctx, req)
				} else {
					_, err = c.CreateChatCompletionStream(ctx, req)
				}
				return err
			}
		},
		Adapt:     adapt,
		NewAnswer: func() provider.Answer { return &consumer{model: o.Model} },
		TailWait:  tailWait,
	})
	if err != nil {
		return nil, fmt.Errorf("chat completions: %w", err)
	}
	return m, nil
}
