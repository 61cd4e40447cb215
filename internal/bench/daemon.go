package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// daemon is telex in a process of its own.
type daemon struct {
	cmd       *exec.Cmd
	dir       string
	log       *os.File
	exited    chan struct{}
	firstPoll time.Duration // from exec to its arrival at the platform
}

// startDaemon starts the binary against the world and waits for its first poll.
func startDaemon(ctx context.Context, binary string, w *world, interval time.Duration) (*daemon, error) {
	dir, err := os.MkdirTemp("", "telex-bench-")
	if err != nil {
		return nil, err
	}
	d := &daemon{dir: dir, exited: make(chan struct{})}
	edits := ""
	if interval > 0 {
		edits = fmt.Sprintf(", edit_interval: %g", interval.Seconds())
	}
	config := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf(daemonConfig, w.modelURL, modelKey, edits, w.telegram.Token(), w.telegramURL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if d.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if binary, err = filepath.Abs(binary); err != nil {
		return nil, errors.Join(err, d.clean())
	}
	d.cmd = exec.Command(binary, "run", "--config", config) // ended by stop, in good order
	d.cmd.Dir, d.cmd.Stderr = dir, d.log
	// Nothing of the environment may change what is measured, and its state is its own.
	d.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "STATE_DIRECTORY=" + dir}
	started := time.Now()
	if err := d.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start telex: %w", err), d.clean())
	}
	go func() {
		defer close(d.exited)
		_ = d.cmd.Wait() // how it ended is in ProcessState
	}()
	polled, err := w.awaitPoll(ctx, d.exited)
	if err != nil {
		return nil, errors.Join(err, d.stop())
	}
	d.firstPoll = polled.Sub(started)
	return d, nil
}

// stop ends the process and removes what it left. A process that ended before, or in bad order, is
// an error with the end of its log.
func (d *daemon) stop() error {
	err := d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.exited:
	case <-time.After(startPatience):
		err = errors.Join(errors.New("telex does not stop"), d.cmd.Process.Kill())
		<-d.exited
	}
	if !d.cmd.ProcessState.Success() {
		err = errors.Join(err, fmt.Errorf("telex ended with %v; the end of its log:\n%s", d.cmd.ProcessState, d.tail()))
	}
	return errors.Join(err, d.clean())
}

func (d *daemon) tail() []byte {
	log, err := os.ReadFile(d.log.Name())
	if err != nil {
		return []byte(err.Error())
	}
	lines := bytes.SplitAfter(log, []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-10):], nil)
}

func (d *daemon) clean() error { return errors.Join(d.log.Close(), os.RemoveAll(d.dir)) }

// usage is what a process has used.
type usage struct {
	cpu       time.Duration
	rss, peak float64 // MiB
}

// usage reads what the process has used until now.
func (d *daemon) usage() (usage, error) {
	proc := filepath.Join("/proc", strconv.Itoa(d.cmd.Process.Pid))
	var u usage
	// The threads' own clocks count nanoseconds; the process's sum is cut to ticks of 10 ms.
	clocks, err := filepath.Glob(filepath.Join(proc, "task", "*", "schedstat"))
	if err != nil {
		return u, err
	}
	for _, clock := range clocks {
		text, err := os.ReadFile(clock)
		if err != nil {
			return u, err
		}
		ns, err := number(string(text))
		if err != nil {
			return u, fmt.Errorf("read %s: %w", clock, err)
		}
		u.cpu += time.Duration(ns)
	}
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return u, err
	}
	if u.rss, err = kilobytes(string(status), "VmRSS:"); err != nil {
		return u, err
	}
	u.peak, err = kilobytes(string(status), "VmHWM:")
	return u, err
}

// kilobytes returns a line of a process's status in MiB.
func kilobytes(status, key string) (float64, error) {
	_, rest, ok := strings.Cut(status, key)
	if !ok {
		return 0, fmt.Errorf("no %s in the process's status", key)
	}
	kb, err := number(rest)
	return float64(kb) / 1024, err
}

// number reads the first number of a text.
func number(text string) (int64, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return 0, errors.New("no number")
	}
	return strconv.ParseInt(fields[0], 10, 64)
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
