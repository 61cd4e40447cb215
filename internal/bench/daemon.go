package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// startPatience is how long a bot may take until it polls.
const startPatience = 20 * time.Second

// daemonConfig is telex's configuration but for the addresses and the edit interval. Long answers
// are one answer here: neither the model's limit nor the number of parts ends them.
const daemonConfig = `
models:
  - {name: standin, base_url: "%s/v1", api_key: "%s", model: standin, max_output_tokens: 16000}
streaming: {telegram: {enabled: true%s}}
access: {default: allow}
platforms:
  telegram: {token: "%s", api_base: "%s"}
admin: {listen: ""}
shutdown_grace: 10s
log: {format: json}
`

// daemon is telex.
type daemon struct {
	*process
	firstPoll time.Duration // from exec to its arrival at the platform
}

// startDaemon starts the binary against the world and waits for its first poll.
func startDaemon(ctx context.Context, binary string, w *world, interval time.Duration) (*daemon, error) {
	const file = "config.yaml"
	edits := ""
	if interval > 0 {
		edits = fmt.Sprintf(", edit_interval: %g", interval.Seconds())
	}
	config := fmt.Sprintf(daemonConfig, w.modelURL, modelKey, edits, w.telegram.Token(), w.telegramURL)
	started := time.Now()
	p, err := startProcess(binary, func(dir string) error {
		err := os.WriteFile(filepath.Join(dir, file), []byte(config), 0o600)
		started = time.Now()
		return err
	}, "run", "--config", file)
	if err != nil {
		return nil, err
	}
	polled, err := w.awaitPoll(ctx, p.exited)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &daemon{p, polled.Sub(started)}, nil
}

// startTimes starts the daemon a few times and returns the median time to the first poll, in seconds.
func startTimes(ctx context.Context, binary string, latency time.Duration, times int) (float64, error) {
	var list []float64
	for range times {
		w, err := newWorld(ctx, worldOptions{latency: latency})
		if err != nil {
			return 0, err
		}
		d, err := startDaemon(ctx, binary, w, 0)
		if err != nil {
			return 0, errors.Join(err, w.close())
		}
		list = append(list, d.firstPoll.Seconds())
		if err := errors.Join(d.stop(), w.close()); err != nil {
			return 0, err
		}
	}
	slices.Sort(list)
	return list[len(list)/2], nil
}
