package outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// World is the environment of a daemon, which survives it.
type World struct {
	Telegram              *telegram.Server
	Model                 *openai.Server
	TelegramURL, ModelURL string
	Platforms             string // more lines in section platforms of Config

	connections connections // to Telegram
	served      []chan error
}

// NewWorld serves both stand-ins. The caller must close the world.
func NewWorld(ctx context.Context, t telegram.Options, m openai.Options) (*World, error) {
	w := &World{Telegram: telegram.New(t), Model: openai.New(m)}
	var err error
	counted := func(l net.Listener) error {
		w.connections.Listener = l
		return w.Telegram.Serve(&w.connections)
	}
	if w.TelegramURL, err = w.serve(ctx, counted); err == nil {
		w.ModelURL, err = w.serve(ctx, w.Model.Serve)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *World) serve(ctx context.Context, serve func(net.Listener) error) (url string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	served := make(chan error, 1)
	w.served = append(w.served, served)
	go func() { served <- serve(l) }()
	return "http://" + l.Addr().String(), nil
}

// Close ends both servers and waits for them.
func (w *World) Close() error {
	err := errors.Join(w.Telegram.Close(), w.Model.Close())
	for _, served := range w.served {
		err = errors.Join(err, <-served)
	}
	return err
}

// Config returns telex's configuration for the world. The model expects key, and answers have no length limit. more is
// appended to the configuration.
func (w *World) Config(key, more string) string {
	return fmt.Sprintf(`
models:
  - {name: standin, base_url: "%s/v1", api_key: "%s", model: standin, max_output_tokens: 16000}
access: {default: allow}
platforms:
  telegram: {token: "%s", api_base: "%s"}
%sadmin: {listen: ""}
shutdown_grace: 10s
log: {format: json}
%s`, w.ModelURL, key, w.Telegram.Token(), w.TelegramURL, w.Platforms, more)
}

// Pause waits, and returns an error if ctx ends first.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WriteJSON writes results to a file.
func WriteJSON(file string, results any) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}
