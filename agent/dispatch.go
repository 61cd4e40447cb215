package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// hangGrace is how long a call may take to return after its context ended. Then it is abandoned and its result ignored.
const hangGrace = time.Second

var (
	errDeadline = errors.New("no result in time")
	errPanicked = errors.New("the tool failed unexpectedly")
	errHangs    = errors.New("the tool does not stop")
)

// job is one call to be run.
type job struct {
	def   ToolDef
	input Input
}

// outcome is what a call came to.
type outcome struct {
	Output
	err     error
	started bool
	trace   string // of a panic, for operators
}

// logText returns for the log why a call failed. The tool's own words go only to the model: they may quote people and
// models, or contain a server's secrets.
func (o outcome) logText(ctx context.Context) string {
	ours := slices.ContainsFunc([]error{errDeadline, errPanicked, errHangs}, func(e error) bool { return errors.Is(o.err, e) })
	if ours || !o.started || ctx.Err() != nil {
		return Clip(o.err.Error(), maxError)
	}
	return fmt.Sprintf("the tool told the model why, in %d bytes", len(o.err.Error()))
}

// dispatch runs jobs, a limited number in parallel and each with its deadline, and returns their outcomes in the order of the
// jobs. It calls began when a job starts, and told for each report of a job, both from the caller's goroutine. A job that panics
// or hangs fails alone. dispatch returns soon after ctx ended; then jobs that were not started have ctx's cause as their error.
func dispatch(ctx context.Context, jobs []job, parallel int, began func(int), told func(note)) []outcome {
	p := newProgress(len(jobs))
	out := make([]outcome, len(jobs))
	started, running := 0, 0
	for {
		for ; started < len(jobs) && running < parallel && ctx.Err() == nil; started++ {
			began(started)
			jobs[started].start(ctx, started, p)
			running++
		}
		if running == 0 {
			break
		}
		n := p.next()
		if n.ended != nil {
			out[n.call] = *n.ended
			running--
		}
		told(n)
	}
	for i := started; i < len(jobs); i++ {
		out[i].err = context.Cause(ctx)
	}
	return out
}

// start runs a job in its own goroutine. The job's end, or the decision to give it up, arrives in p.
func (j job) start(ctx context.Context, call int, p *progress) {
	timeout := j.def.Timeout
	if timeout <= 0 {
		timeout = DefaultToolTimeout
	}
	late := fmt.Errorf("%w (%v)", errDeadline, timeout)
	ctx, cancel := context.WithCancelCause(ctx)
	deadline := time.AfterFunc(timeout, func() { cancel(late) })
	input := j.input
	input.Progress = func(text string) {
		if deadline.Stop() { // else it has passed
			deadline.Reset(timeout)
		}
		if text != "" {
			p.tell(call, text)
		}
	}
	ended := context.AfterFunc(ctx, func() {
		time.AfterFunc(hangGrace, func() {
			p.end(call, outcome{started: true, err: fmt.Errorf("%w: %w", context.Cause(ctx), errHangs)})
		})
	})
	go func() {
		o := outcome{started: true, err: errPanicked}
		defer func() {
			if v := recover(); v != nil {
				o = outcome{started: true, err: errPanicked, trace: fmt.Sprintf("%v\n%s", v, debug.Stack())}
			}
			ended()
			deadline.Stop()
			cancel(nil)
			p.end(call, o)
		}()
		output, err := j.def.Call(ctx, input)
		if err != nil && ctx.Err() != nil { // whatever words the tool has for it
			err = context.Cause(ctx)
		}
		o = outcome{Output: output, err: err, started: true}
	}()
}
