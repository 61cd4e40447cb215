package transcription

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// MaxAudio is the largest file that OpenAI takes, in bytes
	// (https://platform.openai.com/docs/guides/speech-to-text: 25 MB).
	MaxAudio = 25 << 20

	maxBody      = 4 << 20 // of a transcript: days of speech
	maxErrorBody = 16 << 10

	attempts  = 2
	shortWait = time.Second
	// longestWait is how long a provider may have us wait. A person waits for more than this.
	longestWait = 5 * time.Second
)

// ErrTooLong says that the audio is larger than MaxAudio.
var ErrTooLong = errors.New("the audio is too large to be transcribed")

// Options configure a Client.
type Options struct {
	BaseURL   string            // up to and without /audio/transcriptions
	APIKey    string            // empty: none is sent
	Model     string            // as the provider calls it
	Transport http.RoundTripper // nil: http.DefaultTransport
	Log       *slog.Logger
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
	case o.Log == nil:
		return errors.New("no logger")
	}
	return nil
}

// Client speaks to one endpoint. It is safe for concurrent use.
type Client struct {
	opts    Options
	address string // may hold a password
	client  *http.Client
}

// New returns a client. It calls nobody.
func New(o Options) (*Client, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("transcription: %w", err)
	}
	return &Client{
		opts: o, address: strings.TrimRight(o.BaseURL, "/") + "/audio/transcriptions",
		client: &http.Client{
			Transport: o.Transport,
			// A redirected POST would arrive as a GET.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// LogValue returns the model's name. It keeps the key out of logs.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.opts.Model) }

// String returns the model's name. It keeps the key out of formatted output.
func (c *Client) String() string { return c.opts.Model }

// Transcribe returns what is said in the audio; empty where nobody speaks. The end of the file's
// name tells the provider its format. It blocks until the provider has answered or ctx ends, and
// tries a second time after a short wait when the provider is in trouble. Its errors are for
// operators and hold neither the key nor the address.
func (c *Client) Transcribe(ctx context.Context, name string, audio []byte) (string, error) {
	if len(audio) > MaxAudio {
		return "", fmt.Errorf("transcribe %d bytes: %w", len(audio), ErrTooLong)
	}
	form, contentType, err := c.form(name, audio)
	if err != nil {
		return "", fmt.Errorf("transcribe: write the form: %w", err)
	}
	for attempt := 1; ; attempt++ {
		text, err := c.post(ctx, form, contentType)
		if err == nil {
			return text, nil
		}
		wait, again := retry(err)
		if !again || attempt == attempts || ctx.Err() != nil {
			return "", fmt.Errorf("transcribe: %w", err)
		}
		c.opts.Log.LogAttrs(ctx, slog.LevelWarn, "transcription failed, trying again",
			slog.Duration("wait", wait), slog.Any("error", err))
		if err := sleep(ctx, wait); err != nil {
			return "", fmt.Errorf("transcribe: %w", err)
		}
	}
}

// form returns the request's body.
func (c *Client) form(name string, audio []byte) (body []byte, contentType string, err error) {
	var form bytes.Buffer
	form.Grow(len(audio) + 1<<10)
	w := multipart.NewWriter(&form)
	if err := w.WriteField("model", c.opts.Model); err != nil {
		return nil, "", err
	}
	if err := w.WriteField("response_format", "json"); err != nil {
		return nil, "", err
	}
	file, err := w.CreateFormFile("file", fileName(name))
	if err != nil {
		return nil, "", err
	}
	if _, err := file.Write(audio); err != nil {
		return nil, "", err
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return form.Bytes(), w.FormDataContentType(), nil
}

// fileName returns the last part of a name that a person chose, without what has no place in a
// header. Empty ones get a name, since servers take a file by it.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || r == utf8.RuneError {
			return -1
		}
		return r
	}, path.Base(strings.ReplaceAll(name, `\`, "/")))
	if name == "" || name == "." || name == "/" {
		return "audio.ogg"
	}
	return name
}

// post makes one attempt.
func (c *Client) post(ctx context.Context, form []byte, contentType string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(form))
	if err != nil {
		return "", errors.New("make the request: bad address")
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", "application/json")
	if c.opts.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.APIKey)
	}
	res, err := c.client.Do(req)
	if err != nil {
		return "", c.transportError(err)
	}
	defer func() { _ = res.Body.Close() }() // it was read as far as it matters
	if res.StatusCode != http.StatusOK {
		return "", c.refused(res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return "", c.transportError(err)
	}
	var answer struct {
		Text *string `json:"text"`
	}
	switch err := json.Unmarshal(body, &answer); {
	case len(body) > maxBody:
		return "", fmt.Errorf("the answer is longer than %d MB", maxBody>>20)
	case err != nil || answer.Text == nil:
		return "", errors.New("the answer is not of this API; check base_url")
	}
	return strings.TrimSpace(strings.ToValidUTF8(*answer.Text, "\uFFFD")), nil
}

// transportError leaves out the URL, which can hold a password.
func (c *Client) transportError(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return &failure{text: c.redact(err.Error()), err: err, again: true}
}

// refused reads an error answer.
func (c *Client) refused(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // what came of it is better than nothing
	return &failure{
		text:  fmt.Sprintf("HTTP %d: %s", res.StatusCode, c.redact(message(body))),
		again: res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500,
		wait:  retryAfter(res.Header),
	}
}

func (c *Client) redact(text string) string {
	if c.opts.APIKey == "" {
		return text
	}
	return strings.ReplaceAll(text, c.opts.APIKey, "[redacted]")
}

// message returns what an error answer says, on one line.
func message(body []byte) string {
	var answer struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text := string(body)
	if json.Unmarshal(body, &answer) == nil && answer.Error.Message != "" {
		text = answer.Error.Message
	}
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = text[:most] + "…"
	}
	if text == "" {
		return "the provider gave no message"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// failure is an attempt that failed.
type failure struct {
	text  string
	err   error // for errors.Is of context errors; its text may hold secrets
	again bool
	wait  time.Duration // told by the provider; 0: not told
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

// retry decides whether there is a second attempt, and after what wait.
func retry(err error) (time.Duration, bool) {
	f, ok := errors.AsType[*failure](err)
	if !ok || !f.again || f.wait > longestWait {
		return 0, false
	}
	return max(f.wait, shortWait), true
}

// retryAfter reads how many seconds the provider asks us to wait; 0: it does not say.
func retryAfter(h http.Header) time.Duration {
	s, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After")), 64)
	if err != nil || !(s > 0) { // NaN too
		return 0
	}
	const day = 24 * 3600
	return time.Duration(min(s, day) * float64(time.Second))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
