package chatcompletions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
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
type Options struct {
	Name            string // what people call it; empty: Model
	BaseURL         string // up to and without /chat/completions
	APIKey          string // empty: none is sent
	Model           string // as the provider calls it
	MaxOutputTokens int    // 0: the provider's own limit
	Temperature     *float32
	ContextWindow   int // tokens; 0: not known
	Stream          bool
	Headers         map[string]string // sent with every request
	Transport       http.RoundTripper // nil: a connection pool of the model's own, proxies from the environment
	Log             *slog.Logger
}

func (o *Options) validate() error {
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil:
		return errors.New("base URL is no URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return errors.New("base URL: want http:// or https:// and a host")
	case o.Model == "":
		return errors.New("no model")
	case o.MaxOutputTokens < 0 || o.ContextWindow < 0:
		return errors.New("negative number of tokens")
	case o.Temperature != nil && !(*o.Temperature >= 0 && *o.Temperature <= 2):
		return fmt.Errorf("temperature %v: want 0 to 2", *o.Temperature)
	case o.Log == nil:
		return errors.New("no logger")
	}
	return nil
}

// Model is one model of one provider. It remembers what the provider has refused, so that each
// refusal is met once.
type Model struct {
	opts   Options
	client *http.Client
	redact redactor
	log    *slog.Logger

	mu    sync.Mutex
	shape shape
}

// New returns a model. It calls nobody.
func New(o Options) (*Model, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("chat completions: %w", err)
	}
	if o.Name == "" {
		o.Name = o.Model
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	m := &Model{
		opts: o,
		client: &http.Client{
			Transport: o.Transport,
			// A redirected POST would arrive as a GET.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		redact: newRedactor(o),
		log:    o.Log.With(slog.String("model", o.Name)),
		shape:  shape{noStreaming: !o.Stream},
	}
	return m, nil
}

// newTransport returns a connection pool like the standard library's, apart from everyone
// else's connections. Every answer that is being written has a connection to itself where the
// provider speaks HTTP/1, for pieces of some hundred bytes: the usual buffers are wasted on it.
func newTransport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.ReadBufferSize, t.WriteBufferSize = 2<<10, 1<<10
	return t
}

// newRedactor knows the key and the values of the headers. Short values are words that occur
// by chance.
func newRedactor(o Options) redactor {
	var r redactor
	for _, v := range o.Headers {
		_, token, _ := strings.Cut(v, " ") // of "Bearer …"
		for _, s := range []string{v, token} {
			if len(s) >= 8 {
				r.secrets = append(r.secrets, s)
			}
		}
	}
	if o.APIKey != "" {
		r.secrets = append(r.secrets, o.APIKey)
	}
	return r
}

// Name returns what people call the model.
func (m *Model) Name() string { return m.opts.Name }

// ContextWindow returns how many tokens the model can read and write; 0: not known.
func (m *Model) ContextWindow() int { return m.opts.ContextWindow }

// String returns the model's name. It keeps the key out of formatted output.
func (m *Model) String() string { return m.opts.Name }

// LogValue returns the model's name.
func (m *Model) LogValue() slog.Value { return slog.StringValue(m.opts.Name) }

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
	for {
		m.mu.Lock()
		s := m.shape
		m.mu.Unlock()
		if stream && s.noStreaming {
			return agent.Completion{}, &agent.ModelError{Kind: agent.NoStreaming, Err: errNotStreamed}
		}
		c, err := send(ctx, s)
		next, conceded := concede(err, s, stream)
		if !conceded {
			return c, asModelError(err)
		}
		m.learn(ctx, next, err)
	}
}

// learn remembers a refusal. Turns that run side by side may each have met one.
func (m *Model) learn(ctx context.Context, s shape, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.noStreaming = s.noStreaming || m.shape.noStreaming
	s.noUsageOption = s.noUsageOption || m.shape.noUsageOption
	s.oldMaxTokens = s.oldMaxTokens || m.shape.oldMaxTokens
	s.noTemperature = s.noTemperature || m.shape.noTemperature
	s.replays = s.replays || m.shape.replays
	s.extra = s.extra || m.shape.extra
	s.noReplays = s.noReplays || m.shape.noReplays
	s.noExtra = s.noExtra || m.shape.noExtra
	if s == m.shape {
		return
	}
	switch {
	case s.noTemperature && !m.shape.noTemperature:
		m.log.LogAttrs(ctx, slog.LevelWarn, "the model takes no temperature, leaving it out from now on", slog.Any("error", why))
	case s.replays && !m.shape.replays, s.extra && !m.shape.extra:
		m.log.LogAttrs(ctx, slog.LevelInfo, "the provider wants back what it sent with its calls, sending it from now on", slog.Any("error", why))
	default:
		m.log.LogAttrs(ctx, slog.LevelInfo, "the provider refused a part of the request, leaving it out from now on", slog.Any("error", why))
	}
	m.shape = s
}

// note remembers what the provider sends and wants back.
func (m *Model) note(c *consumer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shape.replays = m.shape.replays || c.replays
	m.shape.extra = m.shape.extra || c.extra
}

// open returns go-openai's client for one exchange.
func (m *Model) open(stream bool, fields map[string]any) (*openai.Client, *exchange) {
	x := &exchange{client: m.client, headers: m.opts.Headers, fields: fields, redact: m.redact, stream: stream}
	config := openai.DefaultConfig(m.opts.APIKey)
	config.BaseURL = m.opts.BaseURL
	config.HTTPClient = x
	return openai.NewClientWithConfig(config), x
}

func (m *Model) complete(ctx context.Context, r agent.Request, s shape) (agent.Completion, error) {
	req, fields := m.opts.newRequest(r, s, false)
	client, x := m.open(false, fields)
	_, err := client.CreateChatCompletion(ctx, req)
	if x.whole == nil {
		return agent.Completion{}, err
	}
	// Read by ourselves: go-openai's types lack one name of reasoning and are strict about
	// fields that we don't need.
	return m.readWhole(x.whole)
}

func (m *Model) readWhole(data []byte) (agent.Completion, error) {
	var k chunk
	if err := json.Unmarshal(data, &k); err != nil {
		return agent.Completion{}, m.redact.transportError(agent.Broken, fmt.Errorf("read the answer: %w", err))
	}
	var c consumer
	d := c.take(k)
	if !c.finished {
		return agent.Completion{}, &agent.ModelError{Kind: agent.Broken, Err: errors.New("the answer has no choices")}
	}
	m.note(&c)
	out := c.completion()
	out.Text, out.Reasoning, out.Refusal = d.Text, d.Reasoning, d.Refusal
	return out, nil
}

func (m *Model) stream(ctx context.Context, r agent.Request, s shape, emit func(agent.Delta)) (agent.Completion, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, fields := m.opts.newRequest(r, s, true)
	client, x := m.open(true, fields)
	if _, err := client.CreateChatCompletionStream(ctx, req); err != nil {
		return agent.Completion{}, err
	}
	if x.whole != nil {
		c, err := m.readWhole(x.whole)
		if err == nil {
			emit(agent.Delta{Text: c.Text, Reasoning: c.Reasoning, Refusal: c.Refusal})
			c.Text, c.Reasoning, c.Refusal = "", "", ""
		}
		return c, err
	}
	defer func() { _ = x.body.Close() }() // the answer was read or is given up
	var c consumer
	var tail *time.Timer
	for {
		d, err := receive(x.events, &c)
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
func receive(in *events, c *consumer) (agent.Delta, error) {
	data, err := in.next()
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
	if _, ok := errors.AsType[*agent.ModelError](err); ok {
		return agent.Completion{}, err
	}
	return agent.Completion{}, m.redact.transportError(agent.Broken, err)
}

// asModelError makes an error of go-openai's own one that the agent understands.
func asModelError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*agent.ModelError](err); ok {
		return err
	}
	return &agent.ModelError{Kind: agent.BadRequest, Err: err}
}
