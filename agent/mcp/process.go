package mcp

import (
	"context"
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

// child is a server that runs as a process, in a process group with all that it starts.
type child struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *gate
	broken chan error // gets a limit that it exceeded
	said   *lines
	cancel func()        // ends what waits in stdout
	exited chan struct{} // closed once it has ended, and err is set
	err    error
}

// start runs a server's command. The caller calls end.
func start(s Server, in *intake, said *lines) (*child, error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env, cmd.Dir, cmd.Stderr = environment(s.Env), s.Dir, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// Something that the child started may still hold its standard error.
	cmd.WaitDelay = time.Second
	// Not by cmd.StdoutPipe, which is closed with what is left in it as soon as the child has ended.
	theirIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open its standard input: %w", err)
	}
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open its standard output: %w", err), stdin.Close(), theirIn.Close())
	}
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	err = cmd.Start()
	_, _ = theirIn.Close(), theirOut.Close() // the child has them
	if err != nil {
		_, _ = stdin.Close(), stdout.Close()
		return nil, fmt.Errorf("start %s: %w", s.Command, err)
	}
	c := &child{cmd: cmd, stdin: stdin, broken: make(chan error, 1), said: said, exited: make(chan struct{})}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	c.stdout = &gate{
		ReadCloser: stdout, ctx: ctx, abort: func() { _ = stdout.Close() }, intake: in, framing: jsonValues,
		failed: func(err error) { c.broken <- err }, // once: the gate stays closed
	}
	go c.wait() // end waits for it
	return c, nil
}

// wait waits for the child, and kills what it leaves behind, which would hold its output.
func (c *child) wait() {
	defer close(c.exited)
	c.err = c.cmd.Wait()
	c.signal(syscall.SIGKILL)
}

// signal goes to all of the group. Nobody being left is no error.
func (c *child) signal(s syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, s) }

// end ends the child the way the protocol wants it: by closing its input, then by SIGTERM, then by SIGKILL. It
// returns once nothing of it is left.
func (c *child) end() {
	_ = c.stdin.Close() // it may have been closed already
	if !c.within(patience) {
		c.signal(syscall.SIGTERM)
		if !c.within(patience) {
			c.signal(syscall.SIGKILL)
			<-c.exited
		}
	}
	c.cancel()
	_ = c.stdout.Close()
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
	if !c.within(100 * time.Millisecond) { // its output may end a moment before it does
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
func environment(added map[string]string) []string {
	var env []string
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
