package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// watchdogShare is how many times within the watchdog's interval it hears from us.
const watchdogShare = 3

// minPing bounds how often the watchdog is told that we live.
const minPing = 100 * time.Millisecond

// supervisor is the service manager that may have started us: systemd, or nobody.
// https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
type supervisor struct{ log *slog.Logger }

func newSupervisor(log *slog.Logger) supervisor { return supervisor{log: log} }

func (s supervisor) ready()    { s.tell(daemon.SdNotifyReady) }
func (s supervisor) stopping() { s.tell(daemon.SdNotifyStopping) }

// tellTimeout bounds how long a service manager that does not read can hold us up.
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

// watch tells the watchdog, which waits for that once we have started, that we live, each time after alive returned: a
// daemon that is stuck does not, and is restarted.
func (s supervisor) watch(ctx context.Context, started <-chan struct{}, alive func()) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("watchdog is not told that we live", slog.Any("error", err))
	}
	if err != nil || interval == 0 {
		return
	}
	select {
	case <-started:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(max(minPing, interval/watchdogShare))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			alive()
			s.tell(daemon.SdNotifyWatchdog)
		case <-ctx.Done():
			return
		}
	}
}
