package control

import (
	"fmt"
	"strconv"
	"time"
)

// Time reads RFC 3339, milliseconds since 1970, or "" for now.
func Time(text string) (time.Time, error) {
	if text == "" {
		return time.Now(), nil
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("at: RFC 3339 or milliseconds expected: %w", err)
	}
	return at, nil
}

// Wait reads a number of seconds to wait; "" is none.
func Wait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("wait: seconds expected, got %q", text)
	}
	return time.Duration(n) * time.Second, nil
}

// Last are the last of a list, as many as most says, or all when it is no number.
func Last[T any](list []T, most string) []T {
	if n, err := strconv.Atoi(most); err == nil && n >= 0 {
		return list[max(0, len(list)-n):]
	}
	return list
}
