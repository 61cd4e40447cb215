package app

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns the time on the clock that systemd uses for comparisons; 0: unknown.
func monotonic() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
