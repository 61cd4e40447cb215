package app

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns the time of the monotonic clock, by which systemd orders messages, or 0 if the clock can't be
// read.
func monotonic() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
