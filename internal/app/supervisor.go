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

// watchdogShare is how many notifications the method watch sends to systemd in each watchdog interval.
const watchdogShare = 3

// maxCheck is how long the check for hanging parts may wait for the store. If the check itself has still not returned when
// lateCheck has passed after maxCheck, watch logs an error.
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

// reloading reports to systemd that a reload begins. The message contains the current time, so that systemd can distinguish
// this reload from an earlier one.
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

// notifyTimeout is how long notify waits if the service manager does not read a message.
const notifyTimeout = time.Second

func (s supervisor) send(state string) {
	if err := notify(state); err != nil {
		s.log.Warn("service manager was not notified", slog.String("state", state), slog.Any("error", err))
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

// Once the daemon has started, watch calls the function alive again and again. Each time alive returns no error, watch notifies
// systemd's watchdog. If the watchdog notifications stop, systemd restarts the daemon.
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

// The method starting sends a message to systemd every extendInterval. Each message requests extendBy more time for
// the start.
const (
	extendInterval = 10 * time.Second
	extendBy       = 60 * time.Second
)

// Until done is called, starting tells systemd regularly that the daemon is still starting. Otherwise systemd could end the
// start, because a step such as checking a large store may take longer than systemd's timeout. The parameter what is the name
// of the slow step, which starting logs once.
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
