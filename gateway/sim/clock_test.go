package sim

import (
	"regexp"
	"slices"
	"time"

	"telex/internal/chat"
)

// The clocks of the simulated processes differ: each process adds its own offset to the times that it writes and reads.
// The store converts the times in its own columns to one clock. The store can't convert times inside JSON that the
// gateway encodes. The simulation therefore adds the offset only to times inside JSON.

// instant matches a timestamp in JSON.
var instant = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)

// clock returns how far the process's clock is ahead of the simulation's clock.
func (l *life) clock() time.Duration {
	if l.slot < len(l.w.s.clocks) {
		return l.w.s.clocks[l.slot]
	}
	return 0
}

// moved returns body, which is JSON, after adding the duration in the parameter by to every timestamp.
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

// written returns body, which is JSON, with the timestamps that the process would write according to its own clock.
func (k *keeper) written(body []byte) []byte { return moved(body, k.l.clock()) }

// readTurns returns the given turns with the timestamps that the process would read according to its own clock.
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
