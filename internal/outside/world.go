package outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// World is the environment of a daemon: stand-ins of a platform and of a model provider. A World continues to run when
// the daemon ends.
type World struct {
	Telegram              *telegram.Server
	Model                 *openai.Server
	TelegramURL, ModelURL string
	Platforms             string // more lines for the section platforms of Config

	connections connections // connections to the Telegram stand-in
	served      []chan error
	closes      []func() error
}

// StandIn is a server that a world can serve.
type StandIn interface {
	Serve(l net.Listener) error
	Close() error
}

// NewWorld starts a stand-in of Telegram and a stand-in of a model provider. The caller must close the returned World.
func NewWorld(ctx context.Context, t telegram.Options, m openai.Options) (*World, error) {
	w := &World{Telegram: telegram.New(t), Model: openai.New(m)}
	var err error
	counted := func(l net.Listener) error {
		w.connections.Listener = l
		return w.Telegram.Serve(&w.connections)
	}
	if w.TelegramURL, err = w.serve(ctx, counted, w.Telegram.Close); err == nil {
		w.ModelURL, err = w.Serve(ctx, w.Model)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Serve serves a further stand-in until the world is closed.
func (w *World) Serve(ctx context.Context, s StandIn) (url string, err error) {
	return w.serve(ctx, s.Serve, s.Close)
}

func (w *World) serve(ctx context.Context, serve func(net.Listener) error, end func() error) (url string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	served := make(chan error, 1)
	w.served, w.closes = append(w.served, served), append(w.closes, end)
	go func() { served <- serve(l) }()
	return "http://" + l.Addr().String(), nil
}

// Close stops all servers of the world and waits until they have ended.
func (w *World) Close() (err error) {
	for _, end := range w.closes {
		err = errors.Join(err, end())
	}
	for _, served := range w.served {
		err = errors.Join(err, <-served)
	}
	return err
}

// Config returns a configuration with which telex uses the world. key is the API key that the model expects. The
// configuration that Config returns sets no limit on the length of answers. Config appends the parameter more to the
// configuration.
func (w *World) Config(key, more string) string {
	return fmt.Sprintf(`
models:
  - {name: standin, base_url: "%s/v1", api_key: "%s", model: standin, max_output_tokens: 16000}
access: {default: allow, limits: {turns_per_minute: 0}}
platforms:
  telegram: {token: "%s", api_base: "%s"}
%sadmin: {listen: ""}
shutdown_grace: 10s
log: {format: json}
%s`, w.ModelURL, key, w.Telegram.Token(), w.TelegramURL, w.Platforms, more)
}

// FreeAddress chooses a port between firstPort and lastPort. By default, Linux does not give these ports to outgoing
// connections. An outgoing connection could otherwise take the port of a daemon while the daemon restarts.
// https://www.kernel.org/doc/html/latest/networking/ip-sysctl.html, ip_local_port_range.
const firstPort, lastPort = 20000, 32767

// FreeAddress returns an address on which no program listens. Tests use the address for a daemon, because a daemon's
// address must be known before the daemon starts, and must stay the same after a restart.
func FreeAddress(ctx context.Context) (string, error) {
	var err error
	for range 20 {
		var l net.Listener
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort))
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("find a free port: %w", err)
}

// Pause waits until the time d has passed. If ctx ends first, Pause returns an error.
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
