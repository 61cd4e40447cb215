package provider

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
)

// Options configure a model of any API.
type Options struct {
	Name            string // the configured name; empty: the same as Model
	BaseURL         string // without the path of an API call, such as /chat/completions
	APIKey          string // empty: no key is sent
	Model           string // the provider's name of the model
	MaxOutputTokens int    // 0: the provider's own limit
	Temperature     *float32
	MaxAnswer       int64 // bytes of an answer that is not streamed; 0: 64 MB
	Stream          bool
	Summaries       bool              // requests summaries of the model's reasoning, if the API has them
	Headers         map[string]string // HTTP headers of every request
	Transport       http.RoundTripper // nil: each model has its own connection pool, with proxies from the environment
	Log             *slog.Logger
}

func (o *Options) validate() error {
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil:
		return errors.New("invalid base URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return errors.New("base URL: want http:// or https:// and a host")
	case o.Model == "":
		return errors.New("no model")
	case o.MaxOutputTokens < 0:
		return errors.New("negative number of tokens")
	case o.Temperature != nil && !(*o.Temperature >= 0 && *o.Temperature <= 2):
		return fmt.Errorf("temperature %v: want 0 to 2", *o.Temperature)
	case o.Log == nil:
		return errors.New("no logger")
	}
	return nil
}

// MaxOutput returns how many tokens the answer to a request may have; 0: no limit.
func (o *Options) MaxOutput(r agent.Request) int {
	most := o.MaxOutputTokens
	if r.MaxOutput > 0 && (most == 0 || r.MaxOutput < most) {
		most = r.MaxOutput
	}
	return most
}

// Client is the connection to one model of one provider. Client is safe for concurrent use.
type Client struct {
	Log *slog.Logger // has the model's name as an attribute

	opts   Options
	client *http.Client
	live   *http.Client // for answers whose pieces must be emitted at once
	redact redactor
}

// NewClient returns a client. NewClient makes no request.
func NewClient(o Options) (*Client, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = o.Model
	}
	if o.MaxAnswer == 0 {
		o.MaxAnswer = defaultMaxAnswer
	}
	gathering, live := o.Transport, o.Transport
	if o.Transport == nil {
		gathering, live = newTransport(gather), newTransport(func(c net.Conn) net.Conn { return c })
	}
	return &Client{
		opts: o, client: newHTTPClient(gathering), live: newHTTPClient(live),
		redact: newRedactor(o),
		Log:    o.Log.With(slog.String("model", o.Name)),
	}, nil
}

func newHTTPClient(t http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: t,
		// Do not follow redirects, because Go would repeat a POST as a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Name returns the configured name of the model.
func (c *Client) Name() string { return c.opts.Name }

// String returns the model's name. Without this method, formatted output would contain the API key.
func (c *Client) String() string { return c.opts.Name }

// LogValue returns the model's name.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.opts.Name) }

// Open returns a go-openai client that makes one request, and the Exchange that carries out this request. fields are the
// fields of the request that go-openai can't encode correctly. live says that each piece of the answer must be emitted at
// once.
func (c *Client) Open(stream, live bool, fields map[string]any) (*openai.Client, *Exchange) {
	client := c.client
	if live {
		client = c.live
	}
	x := &Exchange{
		client: client, headers: c.opts.Headers, fields: fields, redact: c.redact, stream: stream, maxAnswer: c.opts.MaxAnswer,
	}
	config := openai.DefaultConfig(c.opts.APIKey)
	config.BaseURL = c.opts.BaseURL
	config.HTTPClient = x
	return openai.NewClientWithConfig(config), x
}

// newTransport returns a connection pool like the standard library's. newTransport applies wrap to each new connection. The
// buffers are small, because with HTTP/1 each answer that is being written has its own connection, and its pieces have only a
// few hundred bytes.
func newTransport(wrap func(net.Conn) net.Conn) http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.ReadBufferSize, t.WriteBufferSize = 2<<10, 1<<10
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
	return t
}

// newRedactor returns a redactor for the key and the values of the headers. newRedactor ignores header values with less than
// 8 characters, because ordinary texts may contain them.
func newRedactor(o Options) redactor {
	var r redactor
	for _, v := range o.Headers {
		_, token, _ := strings.Cut(v, " ") // token of "Bearer token"
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
