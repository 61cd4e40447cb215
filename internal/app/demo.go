package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"telex/internal/config"
	"telex/internal/demo"
	"telex/internal/store/memory"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// Demo is a daemon with stand-ins for Telegram and a model, all in one process. The daemon and the stand-ins use real
// HTTP on loopback. Demo prints what a person would see. The demo with a web page is in internal/demo.
type Demo struct {
	Telegram *telegram.Server
	Model    *openai.Server
}

// DemoOptions configures the demo.
type DemoOptions struct {
	Rate    float64       // how many tokens the model writes per second
	Latency time.Duration // time until the platform responds to a call
	Env     config.Env
	Log     *slog.Logger
}

// demoKey is the API key that the demo's daemon sends to the stand-in of the model. demoKey protects nothing.
const demoKey = "demo"

// demoConfig is the configuration file of the demo. RunDemo inserts the addresses of the stand-ins into this configuration.
const demoConfig = `
models:
  - {name: standin, base_url: "%s/v1", api_key: "%s", model: standin}
streaming: {enabled: true}
access: {default: allow}
platforms:
  telegram: {token: "%s", api_base: "%s"}
admin: {listen: ""}
shutdown_grace: 10s
`

// RunDemo starts the daemon and the stand-ins, and then calls the function use. When the function use returns, RunDemo stops
// the daemon, which delivers its last answers, and then the stand-ins.
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
	platform, stopPlatform, err := startStandin(ctx, d.Telegram, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopPlatform()) }()
	c, err := config.Parse("demo", fmt.Appendf(nil, demoConfig, model, demoKey, d.Telegram.Token(), platform), o.Env)
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

// PageOptions configures the demo with a web page.
type PageOptions = demo.Options

// RealModel is a real model that answers in the demo in place of the stand-in.
type RealModel = demo.RealModel

// RunDemoPage runs the demo with a web page, and calls ready with the URL of the page. RunDemoPage starts this program
// a second time, as the daemon.
func RunDemoPage(ctx context.Context, o PageOptions, ready func(url string)) (err error) {
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	return demo.Run(ctx, o, ready)
}
