package app

import (
	"context"
	"log/slog"
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

func (s supervisor) tell(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("service manager was not told", slog.String("state", state), slog.Any("error", err))
	}
}

// watch tells the watchdog that we live, each time after alive returned: a daemon that is
// stuck does not, and is restarted.
func (s supervisor) watch(ctx context.Context, alive func()) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("watchdog is not told that we live", slog.Any("error", err))
	}
	if err != nil || interval == 0 {
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
