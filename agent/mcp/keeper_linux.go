package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keeperSupported says that a keeper can run on this system, because Linux has subreapers.
const keeperSupported = true

// Exit codes of a keeper whose server did not run or was killed, as in shells.
const (
	exitNotStarted = 127
	exitSignal     = 128 // added to the number of the signal
)

const (
	controlFD = 3 // the keeper's end of the pipe to the daemon
	// killTime is how long the keeper tries to kill the remaining processes. A process that hangs in the kernel can't be
	// killed.
	killTime = 10 * time.Second
	// freePasses is how many times the keeper first searches for remaining processes without a pause in between, so that a
	// process that forks constantly can't escape.
	freePasses = 50
)

// Keep runs a server as the child of this process. When the server has exited or the daemon has ended, Keep kills the server
// and everything that the server started. Keep returns the server's exit status when all these processes have ended, or after
// killTime. The daemon starts its own program again, as a separate process that calls Keep, because the daemon can't clean up
// after its own death. When the daemon dies, the pipe from the daemon to the keeper is closed, and the keeper notices this.
// Processes that leave their parent, group or session remain descendants of the keeper, because it is their subreaper.
//
// args are the path of the program and its arguments. The server inherits this process's standard streams and
// environment.
func Keep(args []string) int {
	runtime.LockOSThread() // the parent-death signal is sent when the thread that started the server ends
	if len(args) == 0 {
		return exitNotStarted
	}
	syscall.CloseOnExec(controlFD)
	// These signals must not end the keeper, which ends when the server has exited or the pipe is closed. signal.Ignore
	// is not used, because the server would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return notStarted(args[0], fmt.Errorf("become a subreaper: %w", err))
	}
	pid, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return notStarted(args[0], err)
	}
	if err := leaveStreams(); err != nil {
		fmt.Fprintln(os.Stderr, "keep the server:", err)
	}
	debug.FreeOSMemory() // frees the memory that the program's start used
	k := keeper{server: pid, status: exitNotStarted, ended: make(chan int, 1), none: make(chan struct{}), kill: make(chan struct{}), terminate: terminate}
	go k.reap()  // ends when no process is left
	go k.watch() // ends when the daemon closes the pipe, or with this process
	return k.run()
}

func notStarted(program string, err error) int {
	fmt.Fprintf(os.Stderr, "start %s: %v\n", program, err)
	return exitNotStarted
}

// leaveStreams closes the keeper's copies of the standard streams, so that the daemon notices when the server closes its own
// copies.
func leaveStreams() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for fd := range 3 {
		err = errors.Join(err, unix.Dup3(int(null.Fd()), fd, 0)) //nolint:gosec // a file descriptor fits an int
	}
	return errors.Join(err, null.Close())
}

type keeper struct {
	server int // process id of the server
	status int
	ended  chan int      // gets the server's exit status
	none   chan struct{} // closed when no process is left
	kill   chan struct{} // closed when the daemon closes the pipe

	terminate <-chan os.Signal // signals that are forwarded to all processes of the server
}

// run waits for the end of the server or of the daemon, and kills the remaining processes.
func (k *keeper) run() int {
	for running := true; running; {
		select {
		case <-k.terminate:
			signalAll(syscall.SIGTERM)
		case k.status = <-k.ended:
			running = false
		case <-k.kill:
			running = false
		}
	}
	giveUp := time.Now().Add(killTime)
	for pass := 0; time.Now().Before(giveUp); pass++ {
		signalAll(syscall.SIGKILL)
		pause := time.Duration(0)
		if pass > freePasses {
			pause = 5 * time.Millisecond
		}
		select {
		case <-k.none:
			select {
			case k.status = <-k.ended:
			default: // the status was already received
			}
			return k.status
		case <-time.After(pause):
		}
	}
	return k.status
}

// watch waits until the daemon closes the pipe.
func (k *keeper) watch() {
	defer close(k.kill)
	_, _ = io.Copy(io.Discard, os.NewFile(controlFD, "control")) // the daemon writes nothing, so any end means that it closed the pipe
}

// signalAll sends a signal to all processes that the server started.
func signalAll(s syscall.Signal) {
	for _, p := range descendants(os.Getpid()) {
		p.signal(s)
	}
}

// reap collects the exit status of all processes: the server, and orphans.
func (k *keeper) reap() {
	defer close(k.none)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // no child is left, so no descendant is left either
			return
		case pid != k.server:
		case status.Signaled():
			k.ended <- exitSignal + int(status.Signal())
		default:
			k.ended <- status.ExitStatus()
		}
	}
}

// proc is a process as /proc describes it.
type proc struct {
	pid, parent, session int
	leads                bool // the process leads a process group
}

// signal sends a signal to a process, and to the group that it leads. signal does not signal other groups, because the
// process may have joined the group of the daemon.
func (p proc) signal(s syscall.Signal) {
	if p.leads {
		_ = syscall.Kill(-p.pid, s) // this call fails if no process is left
	}
	_ = syscall.Kill(p.pid, s)
}

// descendants returns all descendants of the process root.
func descendants(root int) (found []proc) {
	below := map[int]bool{root: true}
	for all, grown := processes(), true; grown; {
		grown = false
		for _, p := range all {
			if below[p.parent] && !below[p.pid] {
				below[p.pid], grown = true, true
				found = append(found, p)
			}
		}
	}
	return found
}

// processes returns all processes that /proc shows.
func processes() (list []proc) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // the process ended meanwhile
		}
		// The form of a line is: pid (name) state parent group session. A name may contain any character, even ")".
		head, tail, _ := strings.Cut(string(raw), " ")
		fields := strings.Fields(tail[strings.LastIndexByte(tail, ')')+1:])
		if len(fields) < 4 {
			continue
		}
		p := proc{pid: number(head), parent: number(fields[1]), session: number(fields[3])}
		p.leads = number(fields[2]) == p.pid
		list = append(list, p)
	}
	return list
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // the kernel writes valid numbers
	return n
}

// sweep kills the remaining processes of a server whose keeper was killed. sweep finds these processes by their session, or by
// the environment variable markName, whose value is mark.
func sweep(session int, mark string) {
	for range freePasses {
		left := false
		for _, p := range processes() {
			if p.session != session && !marked(p.pid, mark) {
				continue
			}
			left = true
			for _, below := range descendants(p.pid) {
				below.signal(syscall.SIGKILL)
			}
			p.signal(syscall.SIGKILL)
		}
		if !left {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func marked(pid int, mark string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && strings.Contains("\x00"+string(env), "\x00"+markName+"="+mark+"\x00")
}

// isolate puts a keeper into its own session, so that no descendant of the keeper can join the daemon's process group.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
