package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"telex/internal/config"
	"telex/internal/store"
)

// machine checks what the daemon needs on this machine.
func (d *doctor) machine(ctx context.Context) []finding {
	dir, err := stateDir(d.env)
	if err != nil {
		return []finding{{"state directory", problem, err.Error(), "set STATE_DIRECTORY, XDG_STATE_HOME or HOME"}}
	}
	found := []finding{d.disk(dir)}
	found = append(found, d.store(ctx)...)
	return append(found, d.service(ctx, dir)...)
}

// SQLite's write-ahead log grows in steps of 4 MiB. If less than lowSpace is free on the disk, Doctor warns that the
// log may soon be unable to grow. If less than noSpace is free, Doctor reports a problem, because the log may already
// be unable to grow.
const (
	lowSpace = 200 << 20
	noSpace  = 16 << 20
)

// disk checks the file system of the state directory.
func (d *doctor) disk(dir string) finding {
	for !exists(dir) && dir != "/" && dir != "." { // the daemon will create missing directories
		dir = filepath.Dir(dir)
	}
	var st unix.Statfs_t
	if err := d.stat(dir, &st); err != nil {
		return finding{"disk", problem, fmt.Sprintf("%s: %v", dir, err), "set STATE_DIRECTORY to a directory that can be read"}
	}
	return judgeDisk(dir, st)
}

func judgeDisk(dir string, st unix.Statfs_t) finding {
	const check, mend = "disk", "delete what is not needed there, or set a shorter conversations.retention"
	free := st.Bavail * uint64(st.Bsize) //nolint:gosec // a block size is positive
	what := fmt.Sprintf("%s has %d MiB free", dir, free>>20)
	switch {
	case st.Flags&unix.ST_RDONLY != 0:
		return finding{check, problem, dir + " is read-only", "mount it for writing, or set STATE_DIRECTORY to another directory"}
	case st.Files > 0 && st.Ffree == 0:
		return finding{check, problem, dir + " has no inodes left", mend}
	case free < noSpace:
		return finding{check, problem, what, mend}
	case free < lowSpace:
		return finding{check, doubt, what, mend}
	}
	return finding{Check: check, State: healthy, What: what}
}

// store checks the store.
func (d *doctor) store(ctx context.Context) []finding {
	const check = "store"
	at, err := locate(d.env)
	switch {
	case err != nil:
		return nil // the configuration is invalid, which the method configuration reports
	case at.dsn.IsSQLite() && !exists(at.file()):
		return []finding{{Check: check, State: healthy, What: at.file() + " does not exist yet; telex run creates it"}}
	}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	r, err := at.read(ctx)
	if err != nil {
		return []finding{judgeOpenError(at, err)}
	}
	defer func() { _ = r.Close() }() // ignore the error of Close: nothing was written
	report, err := r.Check(ctx)
	if err == nil && len(report.Problems) > 0 {
		err = fmt.Errorf("%s is damaged: %s", report.Path, strings.Join(report.Problems, "; "))
	}
	if err == nil && len(report.Risks) > 0 {
		err = fmt.Errorf("%s is at risk: %s", report.Path, strings.Join(report.Risks, "; "))
	}
	if err != nil {
		return []finding{{check, problem, err.Error(), mendStore(at)}}
	}
	return []finding{{Check: check, State: healthy, What: fmt.Sprintf("%s is sound; conversations: %d", report.Path, report.Conversations)}}
}

// judgeOpenError returns the finding about a store that can't be opened.
func judgeOpenError(at location, err error) finding {
	f := finding{"store", problem, err.Error(), mendStore(at)}
	switch {
	case errors.Is(err, store.ErrAway):
		f.Mend = "start the database; if it runs, check store.dsn and the network connection to it"
	case errors.Is(err, store.ErrOlder), errors.Is(err, store.ErrEmpty):
		f.State, f.Mend = doubt, "run telex store migrate or telex run"
	case at.dsn.IsSQLite() && !errors.Is(err, store.ErrCorrupt):
		f.Mend = "give " + at.file() + " to the user of the daemon, or run telex doctor as that user"
	}
	return f
}

func mendStore(at location) string {
	if at.dsn.IsSQLite() {
		return "stop the daemon, then run telex store restore BACKUP; see The store in docs/operations.md"
	}
	return "see PostgreSQL in docs/operations.md"
}

// running reports whether a daemon runs: whether a process has locked the store in dir, or answers at its socket.
// running also returns a description of this daemon.
func (d *doctor) running(ctx context.Context, dir string) (string, bool) {
	if err := store.CheckLock(store.File(dir)); errors.Is(err, store.ErrLocked) {
		which, _, _ := strings.Cut(err.Error(), ";") // leave out the advice for somebody who wants to start a second daemon
		return which, true
	}
	conn, err := dialDaemon(ctx, d.env, dir)
	if err != nil {
		return "", false
	}
	_ = conn.Close() // ignore the error of Close: nothing was sent
	return "it answers at its socket", true
}

// service checks the systemd unit telex.service. If the unit does not run, service also reports a daemon that runs
// outside of the unit.
func (d *doctor) service(ctx context.Context, dir string) []finding {
	held, runs := d.running(ctx, dir)
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	return judgeService(unitState(ctx), held, runs)
}

func judgeService(unit map[string]string, held string, runs bool) []finding {
	const check = "service"
	active := fmt.Sprintf("telex.service is active since %s; restarts after failures: %s", unit["ActiveEnterTimestamp"], unit["NRestarts"])
	switch {
	case unit["LoadState"] != "loaded" && runs:
		return nil // the method daemon reports more about a running daemon
	case unit["LoadState"] != "loaded":
		return []finding{{Check: check, State: healthy, What: "no daemon runs, and systemd has no telex.service"}}
	case unit["ActiveState"] == "active" && unit["UnitFileState"] == "disabled":
		return []finding{{check, doubt, active + "; it does not start with the machine", "run systemctl enable telex"}}
	case unit["ActiveState"] == "active":
		return []finding{{Check: check, State: healthy, What: active}}
	case runs:
		return []finding{{
			check, problem, fmt.Sprintf("telex.service is %s, and another daemon runs: %s", unit["ActiveState"], held),
			"stop the other one, then run systemctl restart telex",
		}}
	case unit["ActiveState"] == "inactive":
		return []finding{{check, doubt, "telex.service does not run", "run systemctl enable --now telex"}}
	}
	return []finding{{
		check, problem, fmt.Sprintf("telex.service is %s (%s, exit status %s)", unit["ActiveState"], unit["Result"], unit["ExecMainStatus"]),
		"find the cause with journalctl -u telex -n 50, and correct it; then run systemctl restart telex",
	}}
}

// unitState returns the properties of telex.service that systemd reports. If systemd does not run on this machine, unitState
// returns an empty map.
func unitState(ctx context.Context) map[string]string {
	out, err := exec.CommandContext(ctx, "systemctl", "show", "telex.service",
		"--property=LoadState,UnitFileState,MemoryDenyWriteExecute,ActiveState,ActiveEnterTimestamp,NRestarts,Result,ExecMainStatus").Output()
	if err != nil {
		return nil
	}
	state := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		state[key] = value
	}
	return state
}

// addresses checks whether a daemon could listen on the configured addresses. While a daemon runs, addresses checks
// nothing, because the running daemon uses the configured addresses.
func (d *doctor) addresses(ctx context.Context, c *config.Config) (found []finding) {
	dir, err := stateDir(d.env)
	if err != nil {
		return nil // the method machine reports this error, so it is not reported twice
	}
	if _, runs := d.running(ctx, dir); runs {
		return nil
	}
	for _, l := range c.Listens() {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", l.Address)
		cancel()
		if err != nil {
			state := problem
			if l.Optional {
				state = doubt
			}
			found = append(found, finding{
				"address " + l.Address, state, fmt.Sprintf("%s: %v", l.Key, err),
				"stop the program that listens there (ss -ltnp shows it), or change " + l.Key,
			})
			continue
		}
		_ = listener.Close() // ignore the error of Close: the listener was never used
		found = append(found, finding{Check: "address " + l.Address, State: healthy, What: l.Key + " is free"})
	}
	return found
}
