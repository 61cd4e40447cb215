package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// configFile is the name of telex's configuration in its directory.
const configFile = "config.yaml"

// startDaemon starts the binary against the world.
func startDaemon(ctx context.Context, binary string, w *world, interval time.Duration) (*process, error) {
	edits := ""
	if interval > 0 {
		edits = fmt.Sprintf(", edit_interval: %g", interval.Seconds())
	}
	config := w.Config(modelKey, fmt.Sprintf("streaming: {telegram: {enabled: true%s}}", edits))
	return startProcess(ctx, w, config, binary, "run", "--config", configFile)
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
