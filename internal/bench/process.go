package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"telex/internal/outside"
)

// startPatience is the maximum time from the start of a bot to its first poll.
const startPatience = 20 * time.Second

// process is a bot that runs in a process of its own. A process has a directory for its state and its log.
type process struct {
	*outside.Process
	dir       string
	group     string        // path of the control group of the process, if its processor time is limited
	firstPoll time.Duration // time from the start of the program to its first poll
}

// startProcess starts a program in the world, in a new directory with its configuration, and waits for its first poll.
func startProcess(ctx context.Context, w *world, config, program string, args ...string) (*process, error) {
	p, err := launch(config, program, args...)
	if err != nil {
		return nil, err
	}
	polled, err := w.awaitPoll(ctx, p.Exited)
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	p.firstPoll = polled.Sub(p.Started)
	return p, nil
}

// launch starts a program in a new directory with its configuration.
func launch(config, program string, args ...string) (*process, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	p := new(process)
	if p.dir, err = os.MkdirTemp("", "telex-bench-"); err != nil {
		return nil, err
	}
	if err = os.WriteFile(filepath.Join(p.dir, configFile), []byte(config), 0o600); err == nil {
		p.Process, err = outside.Start(outside.Place(exec.Command(program, args...), p.dir, p.dir), filepath.Join(p.dir, "log")) // the caller must call stop
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	return p, nil
}

// usage is the processor time that a process has used so far, and its memory.
type usage struct {
	cpu       time.Duration
	database  time.Duration // processor time of the database's processes
	rss, peak float64       // memory in MiB
}

// usage reads the usage of the process from /proc.
func (p *process) usage() (usage, error) {
	proc := filepath.Join("/proc", strconv.Itoa(p.Cmd.Process.Pid))
	var u usage
	// Add up the times of the threads, which the kernel reports in nanoseconds. The kernel reports the time of the whole process
	// only rounded to 10 ms.
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

// kilobytes converts a value of a process's status, which is in kB, to MiB.
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
