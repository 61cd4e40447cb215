package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a bot in a process of its own, with a directory for its state and its log.
type process struct {
	cmd    *exec.Cmd
	dir    string
	log    *os.File
	exited chan struct{}
}

// startProcess starts a program in a new directory, where prepare may put files first. Nothing of
// the environment changes what is measured.
func startProcess(program string, prepare func(dir string) error, args ...string) (*process, error) {
	dir, err := os.MkdirTemp("", "telex-bench-")
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, exited: make(chan struct{})}
	if p.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := prepare(dir); err != nil {
		return nil, errors.Join(err, p.clean())
	}
	if program, err = filepath.Abs(program); err != nil {
		return nil, errors.Join(err, p.clean())
	}
	p.cmd = exec.Command(program, args...) // ended by stop, in good order
	p.cmd.Dir, p.cmd.Stderr = dir, p.log
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "STATE_DIRECTORY=" + dir}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", filepath.Base(program), err), p.clean())
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	return p, nil
}

// stop ends the process and removes what it left. A process that ended before, or in bad order, is
// an error with the end of its log.
func (p *process) stop() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(startPatience):
		err = errors.Join(errors.New("the bot does not stop"), p.cmd.Process.Kill())
		<-p.exited
	}
	if !p.cmd.ProcessState.Success() {
		err = errors.Join(err, fmt.Errorf("the bot ended with %v; the end of its log:\n%s", p.cmd.ProcessState, p.tail()))
	}
	return errors.Join(err, p.clean())
}

func (p *process) tail() []byte {
	log, err := os.ReadFile(p.log.Name())
	if err != nil {
		return []byte(err.Error())
	}
	lines := bytes.SplitAfter(log, []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-10):], nil)
}

func (p *process) clean() error { return errors.Join(p.log.Close(), os.RemoveAll(p.dir)) }

// usage is what a process has used.
type usage struct {
	cpu       time.Duration
	rss, peak float64 // MiB
}

// usage reads what the process has used until now.
func (p *process) usage() (usage, error) {
	proc := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid))
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
