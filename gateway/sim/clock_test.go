package sim

import (
	"regexp"
	"slices"
	"time"

	"telex/internal/chat"
)

// All processes of a simulation have one clock. That their clocks differ shows only where a process reads what another one wrote:
// the store converts the times that it knows as times, and not those in what the gateway encodes itself.

// instant finds a time in JSON.
var instant = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)

// clock is how far the process's clock is ahead.
func (l *life) clock() time.Duration {
	if l.slot < len(l.w.s.clocks) {
		return l.w.s.clocks[l.slot]
	}
	return 0
}

// moved returns JSON with all times later.
func moved(body []byte, by time.Duration) []byte {
	if by == 0 {
		return body
	}
	return instant.ReplaceAllFunc(body, func(b []byte) []byte {
		at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(b))
		if err != nil || at.IsZero() {
			return b
		}
		return []byte(at.Add(by).Format(`"` + time.RFC3339Nano + `"`))
	})
}

// written returns what a process encodes by its own clock.
func (k *keeper) written(body []byte) []byte { return moved(body, k.l.clock()) }

// readTurns returns turns as a process reads them by its own clock.
func (k *keeper) readTurns(turns []chat.Turn) []chat.Turn {
	for i := range turns {
		t := &turns[i]
		t.Ending = moved(t.Ending, -k.l.clock())
		t.Steps = slices.Clone(t.Steps)
		for j, s := range t.Steps {
			t.Steps[j].Body = moved(s.Body, -k.l.clock())
		}
	}
	return turns
}

// Ahead implements gateway.Membership.
func (k *keeper) Ahead() time.Duration { return k.l.clock() }
