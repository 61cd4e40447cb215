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

// stopPatience is how long a process may take to stop gracefully. stopPatience equals the time after which systemd
// kills a daemon that does not stop. While stopping, a daemon may use its shutdown_grace, 30 s by default, and then
// makes its last edits. A replica uses nearly all of shutdown_grace to complete the answers that it has begun. Other
// replicas take over only the answers that are still incomplete.
const stopPatience = 45 * time.Second // TimeoutStopSec in deploy/telex.service

// Process is a running program.
type Process struct {
	Cmd     *exec.Cmd
	Started time.Time
	Exited  chan struct{}
	Killed  time.Time // time at which Kill was called; zero: not killed

	log  *os.File
	once sync.Once
}

// Place prepares a command to run in the directory dir with its state in the directory state. The command gets only a
// few of the environment variables, because other variables could change telex's behaviour.
func Place(cmd *exec.Cmd, dir, state string) *exec.Cmd {
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "STATE_DIRECTORY=" + state}
	return cmd
}

// Start starts a command that logs to a file. The caller of Start must call Kill or Stop.
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
		_ = cmd.Wait() // ignore the error, because ProcessState contains the result
	}()
	return p, nil
}

// Kill kills the process with SIGKILL and waits until it has ended. A further call of Kill does nothing.
func (p *Process) Kill() {
	p.once.Do(func() {
		p.Killed = time.Now()
		_ = p.Cmd.Process.Kill() // Kill fails if the process has already ended by itself; then ProcessState contains the reason
		<-p.Exited
	})
}

// Stop stops the process gracefully and closes its log. If the process does not stop gracefully, or had already ended
// before, Stop returns an error that contains the end of the log.
func (p *Process) Stop() error { return errors.Join(p.End(), p.log.Close()) }

// End stops the process like Stop, but does not close the log.
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

// Sound returns an error if the process ended by itself with a failure. If the process ended successfully or was
// killed, Sound returns nil.
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

// CloseLog closes the log of a killed process.
func (p *Process) CloseLog() error { return p.log.Close() }
