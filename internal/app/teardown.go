package app

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// slowStep is how long a step of a teardown may take before the log says so.
const slowStep = time.Second

// teardown is what has to end, each with a name. It ends last in, first out, one step after the other: what was
// built later may use what was built before.
type teardown struct {
	log   *slog.Logger
	steps []teardownStep
}

type teardownStep struct {
	name string
	end  func() error // returns when it has ended
}

func (t *teardown) add(name string, end func() error) {
	t.steps = append(t.steps, teardownStep{name, end})
}

// run ends everything, also after a step that failed, and returns what failed. A second run does nothing.
func (t *teardown) run() error {
	var errs []error
	steps := t.steps
	t.steps = nil
	for _, s := range slices.Backward(steps) {
		if err := t.end(s); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
		}
	}
	return errors.Join(errs...)
}

func (t *teardown) end(s teardownStep) error {
	name, began := slog.String("step", s.name), time.Now()
	slow := time.AfterFunc(slowStep, func() { t.log.Warn("stopping waits for a step", name) })
	err := s.end()
	took := slog.Duration("took", time.Since(began))
	if slow.Stop() {
		t.log.Debug("stopped", name, took)
	} else {
		t.log.Warn("stopped, slowly", name, took)
	}
	return err
}
