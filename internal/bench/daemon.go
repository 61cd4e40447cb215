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
	config := w.Config(modelKey, fmt.Sprintf("streaming: {telegram: {enabled: true%s}}", edits))
	p, err := startProcess(binary, func(dir string) error {
		return os.WriteFile(filepath.Join(dir, file), []byte(config), 0o600)
	}, "run", "--config", file)
	if err != nil {
		return nil, err
	}
	polled, err := w.awaitPoll(ctx, p.Exited)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &daemon{p, polled.Sub(p.Started)}, nil
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
			return 0, errors.Join(err, w.Close())
		}
		list = append(list, d.firstPoll.Seconds())
		if err := errors.Join(d.stop(), w.Close()); err != nil {
			return 0, err
		}
	}
	slices.Sort(list)
	return list[len(list)/2], nil
}
