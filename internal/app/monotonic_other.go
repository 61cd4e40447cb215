//go:build !linux

package app

import "time"

func monotonic() time.Duration { return 0 }
