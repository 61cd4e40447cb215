package outside

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// stopPatience is how long a process may take to end in good order.
const stopPatience = 20 * time.Second

// Process is a program from its start to its end.
type Process struct {
	Cmd     *exec.Cmd
	Started time.Time
	Exited  chan struct{}
	Killed  time.Time // zero: it was not.

	log  *os.File
	once sync.Once
}

// Place lets a command run in a directory, with the state in another and nothing of the environment that changes what
// telex does.
func Place(cmd *exec.Cmd, dir, state string) *exec.Cmd {
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "STATE_DIRECTORY=" + state}
	return cmd
}

// Start starts a command, which logs to a file. The caller ends it by Kill or Stop.
func Start(cmd *exec.Cmd, log string) (*Process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	cmd.Stderr = file
	p := &Process{Cmd: cmd, log: file, Started: time.Now(), Exited: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err), file.Close())
	}
	go func() {
		defer close(p.Exited)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	return p, nil
}

// Kill ends the process at this instant, as the loss of power does, and waits until it is gone. All but the first call
// do nothing.
func (p *Process) Kill() {
	p.once.Do(func() {
		p.Killed = time.Now()
		_ = p.Cmd.Process.Kill() // has it ended by itself, that is seen from its state
		<-p.Exited
	})
}

// Stop ends the process in good order, and its log. One that does not end so, or ended before, is an error with the end of its log.
func (p *Process) Stop() error { return errors.Join(p.End(), p.log.Close()) }

// End is Stop for a process whose log is closed later.
func (p *Process) End() error {
	err := p.Cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.Exited:
	case <-time.After(stopPatience):
		p.Kill()
		return errors.New("the daemon does not stop")
	}
	return errors.Join(err, p.Sound())
}

// Sound is nil unless the process, which has ended, did so by itself and in bad order.
func (p *Process) Sound() error {
	status, ok := p.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	if p.Cmd.ProcessState.Success() || ok && status.Signal() == syscall.SIGKILL {
		return nil
	}
	log, err := os.ReadFile(p.log.Name())
	lines := bytes.SplitAfter(log, []byte("\n"))
	return errors.Join(err, fmt.Errorf("the daemon ended with %v; the end of its log:\n%s",
		p.Cmd.ProcessState, bytes.Join(lines[max(0, len(lines)-10):], nil)))
}

// CloseLog ends the log of a process that was killed.
func (p *Process) CloseLog() error { return p.log.Close() }
