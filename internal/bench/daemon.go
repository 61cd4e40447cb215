package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// configFile is the name of the file with telex's configuration.
const configFile = "config.yaml"

// startDaemon starts the built binary in the world. If slow is not 0, strace delays each fsync of the daemon by this
// time, to imitate a slow disk.
func startDaemon(ctx context.Context, binary string, w *world, interval, slow time.Duration) (*process, error) {
	edits := ""
	if interval > 0 {
		edits = fmt.Sprintf(", edit_interval: %g", interval.Seconds())
	}
	config := w.Config(modelKey, fmt.Sprintf("streaming: {telegram: {enabled: true%s}}", edits))
	args := []string{"run", "--config", configFile}
	if slow > 0 {
		strace, err := exec.LookPath("strace")
		if err != nil {
			return nil, fmt.Errorf("a slow disk needs the Debian package strace: %w", err)
		}
		if binary, err = filepath.Abs(binary); err != nil {
			return nil, err
		}
		// With -D, the daemon is a child process of the bench and not of strace. With --seccomp-bpf, strace interrupts only the
		// daemon's calls of fsync and fdatasync, so other system calls stay fast.
		binary, args = strace, append([]string{
			"-D", "-f", "--seccomp-bpf", "-qq", "-o", os.DevNull,
			"-e", fmt.Sprintf("inject=fsync,fdatasync:delay_exit=%d", slow.Microseconds()), "-e", "trace=fsync,fdatasync", binary,
		}, args...)
	}
	return startProcess(ctx, w, config, binary, args...)
}

// startTimes starts the daemon several times, and returns the median time from the start to the first poll, in
// seconds.
func startTimes(ctx context.Context, binary string, latency time.Duration, times int) (float64, error) {
	var list []float64
	for range times {
		w, err := newWorld(ctx, worldOptions{latency: latency})
		if err != nil {
			return 0, err
		}
		d, err := startDaemon(ctx, binary, w, 0, 0)
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
