package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"telex/internal/outside"
)

// replicaHeader is the HTTP header by which a request to the model names the replica that makes it.
const replicaHeader = "X-Replica"

// startPatience is the maximum time from a daemon's start until it is ready.
const startPatience = 30 * time.Second

// replica is one of the daemons that share the database. Each replica has a directory of its own.
type replica struct {
	name, dir, binary, config string
	admin                     string // admin address, at which the test asks whether the daemon is ready
	process                   *outside.Process
	starts                    int
}

func newReplica(ctx context.Context, dir, binary, config string, number int) (*replica, error) {
	r := &replica{name: "r" + strconv.Itoa(number), binary: binary, config: config}
	r.dir = filepath.Join(dir, r.name)
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	r.admin, err = outside.FreeAddress(ctx)
	return r, err
}

// start starts the daemon.
func (r *replica) start() (err error) {
	cmd := r.place(exec.Command(r.binary, "run", "--config", r.config)) // kill or restart stops the process
	r.process, err = outside.Start(cmd, r.logFile(r.starts))
	r.starts++
	return err
}

func (r *replica) place(cmd *exec.Cmd) *exec.Cmd {
	cmd = outside.Place(cmd, r.dir, filepath.Join(r.dir, "state"))
	cmd.Env = append(cmd.Env, "REPLICA="+r.name, "ADMIN="+r.admin)
	return cmd
}

// checkStore checks the database after all daemons have ended.
func (r *replica) checkStore(ctx context.Context) error {
	return checkStore(r.place(exec.CommandContext(ctx, r.binary, "store", "check", "--config", r.config)))
}

func (r *replica) logFile(n int) string { return filepath.Join(r.dir, "log."+strconv.Itoa(n)) }

// awaitReady waits until /readyz of the daemon reports that the daemon is ready.
func (r *replica) awaitReady(ctx context.Context) error {
	last := ""
	ready, err := await(ctx, startPatience, r.process.Exited, func() bool {
		var ok bool
		ok, last = r.ready(ctx)
		return ok
	})
	if err == nil && !ready {
		err = fmt.Errorf("%s is not ready: %s", r.name, last)
	}
	return err
}

func (r *replica) ready(ctx context.Context) (ok bool, what string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.admin+"/readyz", http.NoBody)
	if err != nil {
		return false, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err.Error()
	}
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode == http.StatusOK, string(body) + fmt.Sprint(errors.Join(err, resp.Body.Close()))
}

// kill kills the daemon with SIGKILL, and starts it again after the given time.
func (r *replica) kill(ctx context.Context, away time.Duration) error {
	r.process.Kill()
	if err := errors.Join(r.process.Sound(), r.process.CloseLog()); err != nil {
		return err
	}
	_ = outside.Pause(ctx, away) // ignore the error: if ctx ends, start the daemon at once, so that it completes its work
	return r.start()
}

// freeze pauses the daemon with SIGSTOP for the given time.
func (r *replica) freeze(ctx context.Context, d time.Duration) error {
	if err := r.process.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	_ = outside.Pause(ctx, d) // if ctx ends, let the daemon continue at once
	return r.process.Cmd.Process.Signal(syscall.SIGCONT)
}

// restart ends the daemon gracefully, starts it again, and waits until it is ready.
func (r *replica) restart(ctx context.Context) error {
	if err := r.process.Stop(); err != nil {
		return err
	}
	if err := r.start(); err != nil {
		return err
	}
	return r.awaitReady(ctx)
}

// alive reports whether the daemon's process runs.
func (r *replica) alive() bool {
	select {
	case <-r.process.Exited:
		return false
	default:
		return true
	}
}

// pick returns a random replica. If list contains more than one replica, pick does not return the replica other.
func pick(random *rand.Rand, list []*replica, other *replica) *replica {
	for {
		if r := list[random.IntN(len(list))]; r != other || len(list) == 1 {
			return r
		}
	}
}

// errorsIn counts the log messages of the level error by their text.
func (r *replica) errorsIn(count map[string]int) error {
	for n := range r.starts {
		text, err := os.ReadFile(r.logFile(n))
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			var entry struct{ Level, Msg string }
			if err := json.Unmarshal(line, &entry); err != nil { // the line is not JSON, for example because it is part of a stack trace
				entry.Level, entry.Msg = "ERROR", string(bytes.TrimSpace(line))
			}
			if entry.Level == "ERROR" {
				count[entry.Msg]++
			}
		}
	}
	return nil
}
