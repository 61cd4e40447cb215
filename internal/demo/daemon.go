package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"telex/internal/admin"
	"telex/internal/outside"
)

const (
	// restartAfter is the pause before the demo starts a killed daemon again, like the setting RestartSec of the systemd unit.
	restartAfter = 2 * time.Second
	// askEvery is the interval between two reads of the daemon's status.
	askEvery = 400 * time.Millisecond
	// startTime is the maximum time from the daemon's start until all its endpoints are connected.
	startTime = 20 * time.Second
)

// daemon is the process of `telex run`. Whenever the daemon's process ends, the demo starts it again.
type daemon struct {
	program, dir, file string
	admin              string // URL at which the daemon serves its status
	log                *slog.Logger
	pulse              *pulse

	threads sync.WaitGroup // counts the goroutines that wait for a process to end, one goroutine for each process

	mu      sync.Mutex
	process *outside.Process
	kills   int
	starts  int
	status  admin.Status
	answers bool // whether the daemon answered the last request to its admin address
}

func newDaemon(program, dir, file, adminURL string, log *slog.Logger, p *pulse) *daemon {
	return &daemon{program: program, dir: dir, file: file, admin: adminURL, log: log, pulse: p}
}

// start starts the daemon's process and waits until the daemon's endpoints are connected.
func (d *daemon) start(ctx context.Context) error {
	if err := d.launch(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		d.ask(ctx)
		d.mu.Lock()
		ready, process := d.answers && d.status.Readiness.Status == "ready", d.process
		d.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-time.After(askEvery / 4):
		case <-process.Exited:
			return fmt.Errorf("the daemon does not start: %s", d.lastLog())
		case <-ctx.Done():
			return fmt.Errorf("the daemon is not ready: %w; its log: %s", context.Cause(ctx), d.lastLog())
		}
	}
}

func (d *daemon) logFile() string { return filepath.Join(d.dir, "daemon.log") }

// lastLog returns the end of the daemon's log.
func (d *daemon) lastLog() string {
	text, err := os.ReadFile(d.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// launch starts a process of the daemon.
func (d *daemon) launch() error {
	cmd := exec.Command(d.program, "run", "--config", d.file) //nolint:gosec // d.program is the binary that is running the demo
	cmd.Dir = d.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "CREDENTIALS_DIRECTORY", "RUNTIME_DIRECTORY"}, name)
	})
	cmd.Env = append(cmd.Env, "STATE_DIRECTORY="+filepath.Join(d.dir, "state"))
	// With Setpgid, Ctrl-C reaches only the demo, which then stops the daemon. With Pdeathsig, the kernel kills the
	// daemon if the demo is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	d.threads.Go(func() {
		runtime.LockOSThread() // the kernel sends Pdeathsig when the thread that started the process ends
		defer runtime.UnlockOSThread()
		p, err := outside.Start(cmd, d.logFile())
		if err == nil {
			d.mu.Lock()
			d.process, d.starts = p, d.starts+1
			d.mu.Unlock()
		}
		started <- err
		if err == nil {
			<-p.Exited
		}
	})
	return <-started
}

// keep reads the daemon's status regularly, until ctx ends. keep starts the daemon again whenever it has ended.
func (d *daemon) keep(ctx context.Context) {
	ask := time.NewTicker(askEvery)
	defer ask.Stop()
	for {
		d.mu.Lock()
		exited := d.process.Exited
		d.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ask.C:
			d.ask(ctx)
		case <-exited:
			d.ask(ctx)
			if outside.Pause(ctx, restartAfter) != nil {
				return
			}
			if err := d.launch(); err != nil {
				d.log.Error("the daemon can't be started again", slog.Any("error", err))
				return
			}
		}
		d.pulse.beat()
	}
}

// ask reads the daemon's status.
func (d *daemon) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askEvery)
	defer cancel()
	status, err := d.read(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answers = err == nil; err == nil {
		d.status = status
	}
}

func (d *daemon) read(ctx context.Context) (status admin.Status, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.admin+"/status.json", nil)
	if err != nil {
		return status, err
	}
	req.Close = true // do not reuse the connection, because the daemon may be killed at any time
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return status, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return status, fmt.Errorf("status: %s", res.Status)
	}
	return status, json.NewDecoder(res.Body).Decode(&status)
}

// kill ends the daemon's process with SIGKILL, so that the daemon can't clean up or save anything.
func (d *daemon) kill() {
	d.mu.Lock()
	p := d.process
	d.kills++
	d.answers = false
	d.mu.Unlock()
	p.Kill()
	d.pulse.beat()
}

// stop sends SIGTERM to the daemon's process and waits until the process has ended.
func (d *daemon) stop() error {
	d.mu.Lock()
	p := d.process
	d.mu.Unlock()
	if p == nil {
		return nil
	}
	defer d.threads.Wait()
	select {
	case <-p.Exited:
		return p.CloseLog()
	default:
		return p.Stop()
	}
}

// daemonView is the daemon's status as the page shows it.
type daemonView struct {
	State         string // running, starting or killed
	PID           int
	Kills, Starts int
	Status        admin.Status
	Admin         string
}

func (d *daemon) view() daemonView {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := daemonView{State: "running", PID: d.process.Cmd.Process.Pid, Kills: d.kills, Starts: d.starts, Status: d.status, Admin: d.admin}
	select {
	case <-d.process.Exited:
		v.State = "killed"
	default:
		if !d.answers || d.status.Readiness.Status != "ready" {
			v.State = "starting"
		}
	}
	return v
}

// endpoint returns the status of one of the daemon's endpoints.
func (v daemonView) endpoint(name string) admin.EndpointStatus {
	for _, e := range v.Status.Endpoints {
		if e.Name == name {
			return e
		}
	}
	return admin.EndpointStatus{}
}
