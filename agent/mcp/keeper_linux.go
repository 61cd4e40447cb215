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

// keeperSupported says that a keeper can run here: it needs Linux's subreapers.
const keeperSupported = true

// What a keeper exits with where its server gave no status of its own, as shells do.
const (
	exitNotStarted = 127
	exitSignal     = 128 // and the signal's number
)

const (
	controlFD = 3 // the keeper's end of the pipe to the daemon
	// killTime is how long the keeper tries to kill what is left. A process that hangs in the kernel can't be killed.
	killTime = 10 * time.Second
	// freePasses is how often the keeper looks for processes without a pause, against those that fork all the time.
	freePasses = 50
)

// Keep runs a server as the child of this process, and returns its exit status once neither the server nor anything that
// it started is left. The daemon runs its own program with Keep in between, because only a process beside the daemon can
// see the daemon die: whatever ends the daemon closes the pipe that the keeper reads. Processes that leave their
// parent, group or session stay below the keeper, which is their subreaper.
//
// args are the program, as a path, and its arguments. The server has this process's standard streams and environment.
func Keep(args []string) int {
	runtime.LockOSThread() // the parent-death signal is sent when the thread that started the server ends
	if len(args) == 0 {
		return exitNotStarted
	}
	syscall.CloseOnExec(controlFD)
	// Only the pipe ends the keeper. Notify, and not Ignore, which the server would inherit.
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
	debug.FreeOSMemory() // what the program's start took is not needed any more
	k := keeper{server: pid, status: exitNotStarted, ended: make(chan int, 1), none: make(chan struct{}), kill: make(chan struct{}), terminate: terminate}
	go k.reap()  // ends with the last process
	go k.watch() // ends with the daemon's end of the pipe, at the latest with this process
	return k.run()
}

func notStarted(program string, err error) int {
	fmt.Fprintf(os.Stderr, "start %s: %v\n", program, err)
	return exitNotStarted
}

// leaveStreams leaves the standard streams to the server: their other ends must see them closed when it closes them.
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
	server int // its process id
	status int
	ended  chan int      // gets the server's exit status
	none   chan struct{} // closed once no process is left
	kill   chan struct{} // closed by the daemon's end

	terminate <-chan os.Signal // passed on to everything that the server started
}

// run waits for the server or the daemon to end, and kills what is left.
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
			default: // it was taken already
			}
			return k.status
		case <-time.After(pause):
		}
	}
	return k.status
}

// watch waits for the daemon's end.
func (k *keeper) watch() {
	defer close(k.kill)
	_, _ = io.Copy(io.Discard, os.NewFile(controlFD, "control")) // however it ends
}

// signalAll signals everything that the server started.
func signalAll(s syscall.Signal) {
	for _, p := range descendants(os.Getpid()) {
		p.signal(s)
	}
}

// reap waits for all processes: the server, and those that lost their parents.
func (k *keeper) reap() {
	defer close(k.none)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // no child is left, and what they started would be one
			return
		case pid != k.server:
		case status.Signaled():
			k.ended <- exitSignal + int(status.Signal())
		default:
			k.ended <- status.ExitStatus()
		}
	}
}

// proc is a process as /proc tells of it.
type proc struct {
	pid, parent, session int
	leads                bool // a process group
}

// signal signals a process, and the group that it leads. Another group is left alone: a process can join the daemon's.
func (p proc) signal(s syscall.Signal) {
	if p.leads {
		_ = syscall.Kill(-p.pid, s) // nobody being left is no error
	}
	_ = syscall.Kill(p.pid, s)
}

// descendants returns all processes below one.
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

// processes returns all processes that this one may see.
func processes() (list []proc) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		// pid (name) state parent group session: a name may hold anything, a ")" too.
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
	n, _ := strconv.Atoi(s) // the kernel writes numbers; 0 is no process
	return n
}

// sweep kills what is left of a server whose keeper was killed: by its session, or by its environment, which holds mark.
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

// isolate has a keeper lead a session of its own, so that nothing that it starts can join the daemon's group.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
