package provider

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
)

// If the provider refuses a part of requests, this part is sent only once in ten minutes, and the refusal is logged once.
// Bits of the shape that did not result from a refusal never expire.
func TestShapes_forgetRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const configured, noted, refused = NoStreaming, NoTemperature, FirstOwn
		shapes := shapes{lasting: configured}
		shapes.remember(noted)
		var asked []Shape
		var log strings.Builder
		ask := func() agent.Completion {
			c, err := shapes.ask(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), func(s Shape) (agent.Completion, error) {
				asked = append(asked, s)
				if !s.Has(refused) {
					return agent.Completion{}, errors.New("does not support x")
				}
				return agent.Completion{}, nil
			}, func(err error, s Shape) (Shape, bool) { return s | refused, err != nil })
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
		const first = configured | noted
		want := []Shape{first, first | refused, first | refused, first, first | refused}
		if !slices.Equal(asked, want) || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("asked in the shapes %v, want %v; logged:\n%s", asked, want, log.String())
		}
	})
}
