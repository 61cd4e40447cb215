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

// watchdogShare is how many notifications watch sends to systemd in each watchdog interval.
const watchdogShare = 3

// maxCheck is how long the check for hanging parts waits for the store. If the check has not returned after a further
// lateCheck, an error is logged.
const (
	maxCheck  = 5 * time.Second
	lateCheck = time.Second
)

// minPing is the minimum time between two watchdog notifications.
const minPing = 100 * time.Millisecond

// supervisor sends messages to the service manager that has started this process. If systemd has not started this
// process, the messages go nowhere.
// https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
type supervisor struct{ log *slog.Logger }

func newSupervisor(log *slog.Logger) supervisor { return supervisor{log: log} }

func (s supervisor) ready()    { s.send(daemon.SdNotifyReady) }
func (s supervisor) stopping() { s.send(daemon.SdNotifyStopping) }

// reloading reports to systemd that a reload begins. The message contains the current time, by which systemd
// distinguishes this reload from an earlier one.
// https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html#RELOADING=1
func (s supervisor) reloading() {
	state := daemon.SdNotifyReloading
	if now := monotonic(); now > 0 {
		state += fmt.Sprintf("\nMONOTONIC_USEC=%d", now.Microseconds())
	}
	s.send(state)
}

// reloaded reports to systemd that the reload has ended, with its result. The daemon continues to run even if the
// reload failed.
func (s supervisor) reloaded(status string) {
	status, _, _ = strings.Cut(status, "\n")
	s.send(daemon.SdNotifyReady + "\nSTATUS=" + status)
}

// notifyTimeout is how long a message may take if the service manager does not read it.
const notifyTimeout = time.Second

func (s supervisor) send(state string) {
	if err := notify(state); err != nil {
		s.log.Warn("service manager was not told", slog.String("state", state), slog.Any("error", err))
	}
}

// notify is like daemon.SdNotify, but with a timeout.
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
	if err := conn.SetWriteDeadline(time.Now().Add(notifyTimeout)); err != nil {
		return fmt.Errorf("connect to service manager: %w", err)
	}
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("write to service manager: %w", err)
	}
	return nil
}

// watch notifies systemd's watchdog each time that alive has found no hanging part. watch begins when the daemon has
// started. If the notifications stop, systemd restarts the daemon.
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
		s.log.Error("watchdog ping withheld: the check for hanging parts does not return")
	})
	defer late.Stop()
	err := alive(checking)
	switch {
	case err == nil:
		s.send(daemon.SdNotifyWatchdog)
	case ctx.Err() == nil:
		s.log.Error("watchdog ping withheld: something hangs", slog.Any("error", err))
	}
}

// extendInterval is how often starting reports that the start continues. extendBy is the additional time that each
// report requests.
const (
	extendInterval = 10 * time.Second
	extendBy       = 60 * time.Second
)

// starting tells systemd that a slow start continues, until done is called. starting is needed because checking a
// large store may take longer than systemd's timeout. what names the slow step, which is logged once.
func (s supervisor) starting(ctx context.Context, what string) (done func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		began := time.Now()
		tick := time.NewTicker(extendInterval)
		defer tick.Stop()
		for told := false; ; told = true {
			select {
			case <-tick.C:
			case <-ctx.Done():
				if told {
					s.send("STATUS=")
				}
				return
			}
			if !told {
				s.log.Info("the start takes long", slog.String("step", what), slog.Duration("so_far", time.Since(began)))
			}
			s.send(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d\nSTATUS=%s", extendBy.Microseconds(), what))
		}
	}()
	return func() { cancel(); <-ended }
}
