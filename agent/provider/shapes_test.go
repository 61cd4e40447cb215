package provider

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
)

// bits are a shape: each bit is something learned.
type bits uint8

func joinBits(a, b bits) bits { return a | b }

// A refusal is met once in ten minutes, what was noted holds for good, and the log hears of each once.
func TestShapes_forgetRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const configured, noted, refused = bits(1), bits(2), bits(4)
		shapes := NewShapes(configured, joinBits)
		shapes.Note(noted)
		var asked []bits
		logged := 0
		ask := func() agent.Completion {
			c, err := shapes.Ask(func(s bits) (agent.Completion, error) {
				asked = append(asked, s)
				if s&refused == 0 {
					return agent.Completion{}, errors.New("does not support x")
				}
				return agent.Completion{}, nil
			}, func(err error, s bits) (bits, bool) { return s | refused, err != nil }, func(_, _ bits, _ error) { logged++ })
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if c := ask(); c.Refused != 1 {
			t.Errorf("%d refusals were counted, want 1", c.Refused)
		}
		time.Sleep(9 * time.Minute)
		if c := ask(); c.Refused != 0 {
			t.Errorf("%d refusals were counted after 9 minutes, want 0", c.Refused)
		}
		time.Sleep(time.Minute)
		ask()
		want := []bits{3, 7, 7, 3, 7}
		if len(asked) != len(want) || asked[3] != want[3] || logged != 1 {
			t.Errorf("asked in the shapes %v, want %v; logged %d times", asked, want, logged)
		}
	})
}
