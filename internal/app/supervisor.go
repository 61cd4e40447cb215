package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// watchdogShare is how many times within the watchdog's interval it hears from us.
const watchdogShare = 3

// maxCheck is how long the search for what hangs waits for the store, and lateCheck how much later the log says that
// not even that ends it.
const (
	maxCheck  = 5 * time.Second
	lateCheck = time.Second
)

// minPing is the minimum time between two watchdog notifications.
const minPing = 100 * time.Millisecond

// supervisor is the service manager that may have started us: systemd, or none.
// https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
type supervisor struct{ log *slog.Logger }

func newSupervisor(log *slog.Logger) supervisor { return supervisor{log: log} }

func (s supervisor) ready()    { s.tell(daemon.SdNotifyReady) }
func (s supervisor) stopping() { s.tell(daemon.SdNotifyStopping) }

// reloading says that a reload begins. The time must be in the same message: it tells this reload from an earlier one.
// https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html#RELOADING=1
func (s supervisor) reloading() {
	state := daemon.SdNotifyReloading
	if now := monotonic(); now > 0 {
		state += fmt.Sprintf("\nMONOTONIC_USEC=%d", now.Microseconds())
	}
	s.tell(state)
}

// reloaded says that a reload has ended, and how: the daemon runs on, also with the configuration from before.
func (s supervisor) reloaded(status string) {
	status, _, _ = strings.Cut(status, "\n")
	s.tell(daemon.SdNotifyReady + "\nSTATUS=" + status)
}

// tellTimeout is how long a service manager that does not read can block us.
const tellTimeout = time.Second

func (s supervisor) tell(state string) {
	if err := notify(state); err != nil {
		s.log.Warn("service manager was not told", slog.String("state", state), slog.Any("error", err))
	}
}

// notify is daemon.SdNotify with a deadline.
func notify(state string) error {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("connect to service manager: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetWriteDeadline(time.Now().Add(tellTimeout)); err != nil {
		return fmt.Errorf("connect to service manager: %w", err)
	}
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("write to service manager: %w", err)
	}
	return nil
}

// watch tells the watchdog, which waits for that once we have started, that we live, each time after alive found
// nothing that hangs: a daemon in which something hangs is restarted.
func (s supervisor) watch(ctx context.Context, started <-chan struct{}, alive func(context.Context) error) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("watchdog ping withheld", slog.Any("error", err))
	}
	if err != nil || interval == 0 {
		return
	}
	select {
	case <-started:
	case <-ctx.Done():
		return
	}
	every := max(minPing, interval/watchdogShare)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.check(ctx, max(every, min(interval, maxCheck)), alive)
		case <-ctx.Done():
			return
		}
	}
}

func (s supervisor) check(ctx context.Context, within time.Duration, alive func(context.Context) error) {
	checking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	late := time.AfterFunc(within+lateCheck, func() {
		s.log.Error("watchdog ping withheld: the check for what hangs does not return")
	})
	defer late.Stop()
	err := alive(checking)
	switch {
	case err == nil:
		s.tell(daemon.SdNotifyWatchdog)
	case ctx.Err() == nil:
		s.log.Error("watchdog ping withheld: something hangs", slog.Any("error", err))
	}
}

// extendEvery is how often a start that takes long is told, and extendBy for how long that holds.
const (
	extendEvery = 10 * time.Second
	extendBy    = 60 * time.Second
)

// starting tells the service manager, until the returned function is called, that the start goes on: a check of a
// large store takes longer than the manager waits by itself. What takes is logged once.
func (s supervisor) starting(ctx context.Context, what string) (done func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		began := time.Now()
		tick := time.NewTicker(extendEvery)
		defer tick.Stop()
		for told := false; ; told = true {
			select {
			case <-tick.C:
			case <-ctx.Done():
				if told {
					s.tell("STATUS=")
				}
				return
			}
			if !told {
				s.log.Info("the start takes long", slog.String("step", what), slog.Duration("so_far", time.Since(began)))
			}
			s.tell(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d\nSTATUS=%s", extendBy.Microseconds(), what))
		}
	}()
	return func() { cancel(); <-ended }
}
