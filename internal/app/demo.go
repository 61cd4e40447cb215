package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"telex/internal/config"
	"telex/internal/store/memory"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// Demo is the whole system in one process: the daemon and its stand-ins, which speak real
// HTTP with each other on loopback.
type Demo struct {
	Telegram *telegram.Server
	Model    *openai.Server
	Page     string // where a browser shows the chat
}

// DemoOptions say how the demo behaves.
type DemoOptions struct {
	Page    string        // address of the page; empty: a free port
	Rate    float64       // tokens per second of the model
	Latency time.Duration // of each call to the platform
	Rich    string        // which answers are rich messages, as in the configuration; empty: none. Say can read those only as texts
	Env     config.Env
	Log     *slog.Logger
}

// demoKey is the shared key of the demo's daemon and model. It protects nothing.
const demoKey = "demo"

// demoConfig is the demo's configuration file, but for the addresses.
const demoConfig = `
models:
  - {name: standin, base_url: "%s/v1", api_key: "%s", model: standin}
streaming: {enabled: true}
access: {default: allow}
platforms:
  telegram: {token: "%s", api_base: "%s", rich: "%s"}
admin: {listen: ""}
shutdown_grace: 10s
`

// RunDemo starts everything, calls use with it, and stops everything when use returns. The stand-ins outlive the daemon, so
// that it can say goodbye in good order.
func RunDemo(ctx context.Context, o DemoOptions, use func(context.Context, *Demo) error) (err error) {
	d := &Demo{
		Telegram: telegramStandin(StandinOptions{Latency: o.Latency, Log: o.Log}),
		Model:    openaiStandin(StandinOptions{Key: demoKey, Rate: o.Rate, Log: o.Log}),
	}
	model, stop, err := startStandin(ctx, d.Model, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	page, stopPage, err := startStandin(ctx, d.Telegram, cmp.Or(o.Page, "127.0.0.1:0"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopPage()) }()
	d.Page = page
	c, err := config.Parse("demo", fmt.Appendf(nil, demoConfig, model, demoKey, d.Telegram.Token(), d.Page, cmp.Or(o.Rich, "off")), o.Env)
	if err != nil {
		return err
	}
	daemon, err := New(ctx, c, Options{Log: o.Log, Store: memory.New()})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	group.Go(func() error { return daemon.Run(ctx) })
	group.Go(func() error {
		defer cancel()
		return use(ctx, d)
	})
	return group.Wait()
}
