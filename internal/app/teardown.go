package app

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// slowStep is how long a step of a teardown may take before the teardown logs that it is slow.
const slowStep = time.Second

// teardown is a list of steps, each of which stops one part of the daemon. The steps run in reverse order, because a
// part may use the parts whose steps were added earlier.
type teardown struct {
	log   *slog.Logger
	mu    sync.Mutex
	steps []*teardownStep
}

type teardownStep struct {
	name string
	end  func() error // stops the part and waits for its end
}

// add adds a step. If the part ends earlier, the caller may remove its step by calling remove.
func (t *teardown) add(name string, end func() error) (remove func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &teardownStep{name, end}
	t.steps = append(t.steps, s)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.steps = slices.DeleteFunc(t.steps, func(other *teardownStep) bool { return other == s })
	}
}

// run runs all steps and returns their errors. If a step fails, the next steps run nevertheless. A second call of run
// does nothing.
func (t *teardown) run() error {
	var errs []error
	t.mu.Lock()
	steps := t.steps
	t.steps = nil
	t.mu.Unlock()
	for _, s := range slices.Backward(steps) {
		if err := t.end(s); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
		}
	}
	return errors.Join(errs...)
}

func (t *teardown) end(s *teardownStep) error {
	name, began := slog.String("step", s.name), time.Now()
	slow := time.AfterFunc(slowStep, func() { t.log.Warn("stopping waits for a step", name) })
	err := s.end()
	took := slog.Duration("took", time.Since(began))
	if slow.Stop() {
		t.log.Debug("stopped", name, took)
	} else {
		t.log.Warn("stopped slowly", name, took)
	}
	return err
}
