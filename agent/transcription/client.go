package transcription

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"telex/agent"
	"telex/agent/provider"
)

const (
	// MaxAudio is the maximum size of a file that OpenAI accepts, in bytes
	// (https://platform.openai.com/docs/guides/speech-to-text: 25 MB).
	MaxAudio = 25 << 20

	maxAnswer = 4 << 20 // bytes of a transcript, enough for days of speech

	attempts  = 2
	shortWait = time.Second
	// maxRetryWait is the longest Retry-After that Transcribe obeys. maxRetryWait is short, because a person is waiting for
	// the answer.
	maxRetryWait = 5 * time.Second
)

// ErrTooLong says that the audio is larger than MaxAudio.
var ErrTooLong = errors.New("the audio is too large to be transcribed")

// Options configure a Client with the fields BaseURL, APIKey, Model, Transport and Log.
type Options = provider.Options

// Client sends requests to one transcription API. Client is safe for concurrent use.
type Client struct {
	*provider.Client
	model string
}

// New returns a client. New makes no request.
func New(o Options) (*Client, error) {
	o.MaxAnswer = maxAnswer
	c, err := provider.NewClient(o)
	if err != nil {
		return nil, fmt.Errorf("transcription: %w", err)
	}
	return &Client{Client: c, model: o.Model}, nil
}

// Transcribe returns the words in the audio, or an empty text if nobody speaks. The extension of the file name tells the
// provider the format of the audio. Transcribe blocks until the provider has answered or ctx ends, and retries once after a
// short wait if the provider has a temporary problem. The errors of Transcribe are for operators. The errors contain neither
// the API key nor the address.
func (c *Client) Transcribe(ctx context.Context, name string, audio []byte) (string, error) {
	if len(audio) > MaxAudio {
		return "", fmt.Errorf("transcribe %d bytes: %w", len(audio), ErrTooLong)
	}
	for attempt := 1; ; attempt++ {
		text, err := c.post(ctx, agent.FileName(name, "audio.ogg"), audio) // servers derive the format from the name
		if err == nil {
			return text, nil
		}
		wait, again := retry(err)
		if !again || attempt == attempts || ctx.Err() != nil {
			return "", fmt.Errorf("transcribe: %w", err)
		}
		c.Log.LogAttrs(ctx, slog.LevelWarn, "transcription failed, trying again", slog.Duration("wait", wait), slog.Any("error", err))
		if err := agent.Sleep(ctx, wait); err != nil {
			return "", fmt.Errorf("transcribe: %w", err)
		}
	}
}

// post makes one attempt.
func (c *Client) post(ctx context.Context, name string, audio []byte) (string, error) {
	client, x := c.Open(false, false, nil)
	_, err := client.CreateTranscription(ctx, openai.AudioRequest{
		Model: c.model, FilePath: name, Reader: bytes.NewReader(audio), Format: openai.AudioResponseFormatJSON,
	})
	if x.Whole == nil {
		return "", err
	}
	var answer struct {
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(x.Whole, &answer); err != nil || answer.Text == nil {
		return "", errors.New("the answer is not of this API; check base_url")
	}
	return strings.TrimSpace(strings.ToValidUTF8(*answer.Text, "\uFFFD")), nil
}

// retry decides whether to make a second attempt after err, and how long to wait before it.
func retry(err error) (time.Duration, bool) {
	me, ok := errors.AsType[*agent.ModelError](err)
	if !ok || me.NoRetry || me.RetryAfter > maxRetryWait {
		return 0, false
	}
	switch me.Kind {
	case agent.Retryable, agent.RateLimited, agent.Broken:
		return max(me.RetryAfter, shortWait), true
	}
	return 0, false
}
