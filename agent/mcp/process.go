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

// patience is how long a child has to end after its standard input was closed, and again after SIGTERM
// (https://modelcontextprotocol.io/specification/2025-06-18/basic/lifecycle#shutdown).
const patience = 2 * time.Second

// killWait is how long a keeper may take to kill everything before it is killed itself.
const killWait = 15 * time.Second

// markName is the variable by which what a server started is found once its keeper was killed.
const markName = "TELEX_MCP_SERVER"

// child is a server that runs as a process: below a keeper, which ends everything that the server starts, or else in a
// process group.
type child struct {
	cmd     *exec.Cmd // the keeper, or the server
	control *os.File  // the pipe to the keeper; nil without a keeper
	mark    string    // of the server's environment
	stdin   *os.File
	stdout  *gate
	said    *lines
	cancel  func()        // ends what waits in stdout
	exited  chan struct{} // closed once it has ended, and err is set
	err     error
}

// start runs a server's command, below a keeper where there is one. fail is told of a limit that the server exceeds. The caller
// calls end.
func start(s *server, said *lines, fail func(error)) (*child, error) {
	c := &child{said: said, exited: make(chan struct{}), mark: rand.Text()}
	c.cmd = exec.Command(s.Command, s.Args...)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Not by cmd.StdoutPipe, which is closed with what is left in it as soon as the child has ended.
	theirIn, stdin, errIn := os.Pipe()
	stdout, theirOut, errOut := os.Pipe()
	theirs := []*os.File{theirIn, theirOut}
	var errKeep error
	if keeperSupported && len(s.keeper) > 0 {
		var theirControl *os.File
		theirControl, errKeep = c.keep(s)
		theirs = append(theirs, theirControl)
	}
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // the child has it, if there is one
		}
	}()
	c.cmd.Env, c.cmd.Dir = environment(s.Env, c.mark), s.Dir
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirIn, theirOut, said
	// Something that the child started may still hold its standard error.
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
	go c.wait() // end waits for it
	return c, nil
}

// keep puts a keeper in between, and returns its end of the pipe to it.
func (c *child) keep(s *server) (theirs *os.File, err error) {
	if c.cmd.Err != nil { // the command is not in PATH
		return nil, c.cmd.Err
	}
	c.cmd = exec.Command(s.keeper[0], slices.Concat(s.keeper[1:], []string{c.cmd.Path}, s.Args)...)
	isolate(c.cmd)
	theirs, c.control, err = os.Pipe()
	c.cmd.ExtraFiles = []*os.File{theirs}
	return theirs, err
}

// close closes our ends of the pipes. Some of them may be closed already, or were never opened.
func (c *child) close() {
	_, _, _ = c.control.Close(), c.stdin.Close(), c.stdout.Close()
	c.cancel()
}

// wait waits for the child, and kills what it leaves behind, which would hold its output.
func (c *child) wait() {
	defer close(c.exited)
	c.err = c.cmd.Wait()
	c.signal(syscall.SIGKILL)
	if c.control != nil && !c.cmd.ProcessState.Exited() { // the keeper was killed
		sweep(c.cmd.Process.Pid, c.mark)
	}
}

// signal goes to all of the group. Nobody being left is no error.
func (c *child) signal(s syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, s) }

// end ends the child the way the protocol wants it: by closing its input, then by SIGTERM, then by SIGKILL. It
// returns once nothing of it is left.
func (c *child) end() {
	_ = c.stdin.Close() // it may have been closed already
	if !c.within(patience) {
		c.signal(syscall.SIGTERM) // which a keeper passes on
		if !c.within(patience) {
			c.kill()
		}
	}
	c.close()
}

func (c *child) kill() {
	if c.control != nil {
		_ = c.control.Close() // the keeper kills everything
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

// transport speaks to the child. Closing it closes the child's input; its output is closed by end, once it has ended.
func (c *child) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: io.NopCloser(c.stdout), Writer: stdin{c.stdin}}
}

// stdin is a child's standard input. A child that does not read it is given up: the SDK would queue what it sends.
type stdin struct{ *os.File }

// Write implements io.Writer.
func (s stdin) Write(p []byte) (int, error) {
	if err := s.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return 0, err
	}
	return s.File.Write(p)
}

// why returns how the child ended, with its last words; nil when it runs.
func (c *child) why() error {
	if !c.within(time.Second) { // its output may end a moment before it does, and the keeper ends last
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

// environment returns what a child is given: a program of somebody else's has no business with the daemon's secrets.
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
