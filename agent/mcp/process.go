package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// exitWait is how long a child may take to exit after its standard input was closed, and again after SIGTERM
// (https://modelcontextprotocol.io/specification/2025-06-18/basic/lifecycle#shutdown).
const exitWait = 2 * time.Second

// killWait is how long a keeper may take to kill all processes of its server. After killWait, the daemon kills the keeper.
const killWait = 15 * time.Second

// markName is the name of an environment variable that all processes of a server have. If their keeper was killed, the daemon
// finds the processes by this variable.
const markName = "TELEX_MCP_SERVER"

// child is a server that runs as a process. The parent process of a child is a keeper, which ends all processes of the
// server. Without a keeper, the server runs in its own process group.
type child struct {
	cmd     *exec.Cmd // the keeper, or the server
	control *os.File  // the pipe to the keeper; nil without a keeper
	mark    string    // value of markName in the server's environment
	stdin   *os.File
	stdout  *gate
	said    *lines
	cancel  func()        // unblocks readers of stdout
	exited  chan struct{} // closed when the child has exited and err is set
	err     error
}

// start runs the command of a server, with a keeper as its parent if one is configured. When the server exceeds a limit, start
// calls the function fail. The caller must call the child's method end.
func start(s *server, said *lines, fail func(error)) (*child, error) {
	c := &child{said: said, exited: make(chan struct{}), mark: rand.Text()}
	c.cmd = exec.Command(s.Command, s.Args...)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// cmd.StdoutPipe is not used, because it discards unread data when the child exits.
	theirIn, stdin, errIn := os.Pipe()
	stdout, theirOut, errOut := os.Pipe()
	theirs := []*os.File{theirIn, theirOut}
	var errKeep error
	if keeperSupported && len(s.keeper) > 0 {
		var theirControl *os.File
		theirControl, errKeep = c.addKeeper(s)
		theirs = append(theirs, theirControl)
	}
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // the child has its own copy
		}
	}()
	c.cmd.Env, c.cmd.Dir = environment(s.Env, c.mark), s.Dir
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirIn, theirOut, said
	// Limit the wait, because processes that the child started may still hold its standard error open after its exit.
	c.cmd.WaitDelay = time.Second
	ctx, cancel := context.WithCancel(context.Background())
	c.stdin, c.cancel = stdin, cancel
	c.stdout = &gate{
		ReadCloser: stdout, ctx: ctx, abort: func() { _ = stdout.Close() }, intake: s.intake, framing: jsonValues, failed: fail,
	}
	err := errors.Join(errIn, errOut, errKeep)
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("start %s: %w", s.Command, err)
	}
	go c.wait() // end waits for this goroutine
	return c, nil
}

// addKeeper changes the command so that a keeper runs it, and returns the keeper's end of the control pipe.
func (c *child) addKeeper(s *server) (theirs *os.File, err error) {
	if c.cmd.Err != nil { // the command is not in PATH
		return nil, c.cmd.Err
	}
	c.cmd = exec.Command(s.keeper[0], slices.Concat(s.keeper[1:], []string{c.cmd.Path}, s.Args)...)
	isolate(c.cmd)
	theirs, c.control, err = os.Pipe()
	c.cmd.ExtraFiles = []*os.File{theirs}
	return theirs, err
}

// close closes the daemon's ends of the pipes. Some of the pipes may already be closed, or may never have been opened.
func (c *child) close() {
	_, _, _ = c.control.Close(), c.stdin.Close(), c.stdout.Close()
	c.cancel()
}

// wait waits for the child's exit. When the child has exited, wait kills the processes that the child leaves behind, because
// they could hold the child's output open.
func (c *child) wait() {
	defer close(c.exited)
	c.err = c.cmd.Wait()
	c.signal(syscall.SIGKILL)
	if c.control != nil && !c.cmd.ProcessState.Exited() { // the keeper was killed
		sweep(c.cmd.Process.Pid, c.mark)
	}
}

// signal sends a signal to the whole process group of the child. signal fails if no process is left, which is not an error.
func (c *child) signal(s syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, s) }

// end ends the child in the order that the protocol demands: it closes the child's input, then sends SIGTERM, then SIGKILL.
// end returns when no process of the child is left.
func (c *child) end() {
	_ = c.stdin.Close() // may be closed already
	if !c.within(exitWait) {
		c.signal(syscall.SIGTERM) // a keeper forwards SIGTERM
		if !c.within(exitWait) {
			c.kill()
		}
	}
	c.close()
}

func (c *child) kill() {
	if c.control != nil {
		_ = c.control.Close() // makes the keeper kill all processes
		if c.within(killWait) {
			return
		}
	}
	c.signal(syscall.SIGKILL)
	<-c.exited
}

func (c *child) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-timer.C:
		return false
	}
}

// transport returns the connection to the child. Closing the transport closes only the child's input; the method end closes
// the child's output after the child has exited.
func (c *child) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: io.NopCloser(c.stdout), Writer: stdin{c.stdin}}
}

// stdin is a child's standard input. If the child does not read its input in time, Write returns an error, which ends the
// connection. If Write had no time limit, the SDK would queue any number of messages.
type stdin struct{ *os.File }

// Write implements io.Writer.
func (s stdin) Write(p []byte) (int, error) {
	if err := s.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return 0, err
	}
	return s.File.Write(p)
}

// exitError returns an error that says how the child ended, with its last lines of output. exitError returns nil while the
// child runs.
func (c *child) exitError() error {
	if !c.within(time.Second) { // the output may end shortly before the child exits, and the keeper exits last
		return nil
	}
	how := "it ended"
	if c.err != nil {
		how = c.err.Error() // such as "exit status 1"
	}
	if last := c.said.tail(); last != "" {
		how += ", after saying: " + last
	}
	return errors.New(how)
}

// environment returns a child's environment. environment excludes the daemon's own variables, since they may contain secrets.
func environment(added map[string]string, mark string) []string {
	env := []string{markName + "=" + mark}
	for _, name := range []string{"PATH", "HOME", "LANG"} {
		if _, ok := added[name]; ok {
			continue
		}
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range added {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
