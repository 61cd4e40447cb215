package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// hangGrace is how long a tool call may take to return after its context has ended. After hangGrace, dispatch ignores the call
// and its result.
const hangGrace = time.Second

var (
	errDeadline = errors.New("no result in time")
	errPanicked = errors.New("the tool failed unexpectedly")
	errHangs    = errors.New("the tool does not stop")
)

// job is one tool call that dispatch runs.
type job struct {
	def   ToolDef
	input Input
}

// outcome is the result of a job.
type outcome struct {
	Output
	err     error
	started bool
	trace   string // stack trace of a panic, for operators
}

// logText describes the failure of a call for the log. logText leaves out the error text that the tool itself returned, because
// this text may quote people or contain secrets of a server. Only the model gets the tool's error text.
func (o outcome) logText(ctx context.Context) string {
	isOwn := slices.ContainsFunc([]error{errDeadline, errPanicked, errHangs}, func(e error) bool { return errors.Is(o.err, e) })
	if isOwn || !o.started || ctx.Err() != nil {
		return Clip(o.err.Error(), maxError)
	}
	return fmt.Sprintf("the model got an error text of %d bytes", len(o.err.Error()))
}

// dispatch runs jobs, and returns their outcomes in the order of the jobs. parallel is the maximum number of jobs that run at
// the same time. Each job has its own deadline. dispatch calls onStart when a job starts, and onReport for each report of a
// job, both in the caller's goroutine. If a job panics or hangs, the other jobs continue. dispatch returns soon after ctx has
// ended. Jobs that have not started when ctx ends fail with ctx's cause.
func dispatch(ctx context.Context, jobs []job, parallel int, onStart func(int), onReport func(report)) []outcome {
	p := newProgress(len(jobs))
	out := make([]outcome, len(jobs))
	started, running := 0, 0
	for {
		for ; started < len(jobs) && running < parallel && ctx.Err() == nil; started++ {
			onStart(started)
			jobs[started].start(ctx, started, p)
			running++
		}
		if running == 0 {
			break
		}
		n := p.next()
		if n.outcome != nil {
			out[n.call] = *n.outcome
			running--
		}
		onReport(n)
	}
	for i := started; i < len(jobs); i++ {
		out[i].err = context.Cause(ctx)
	}
	return out
}

// start runs a job in its own goroutine. When the job ends, or hangs after its context has ended, start adds the job's
// outcome to p.
func (j job) start(ctx context.Context, call int, p *progress) {
	timeout := j.def.Timeout
	if timeout <= 0 {
		timeout = DefaultToolTimeout
	}
	deadlineErr := fmt.Errorf("%w (%v)", errDeadline, timeout)
	ctx, cancel := context.WithCancelCause(ctx)
	deadline := time.AfterFunc(timeout, func() { cancel(deadlineErr) })
	input := j.input
	input.Progress = func(text string) {
		if deadline.Stop() { // false: the deadline has passed
			deadline.Reset(timeout)
		}
		if text != "" {
			p.addText(call, text)
		}
	}
	stopHangTimer := context.AfterFunc(ctx, func() {
		time.AfterFunc(hangGrace, func() {
			p.addOutcome(call, outcome{started: true, err: fmt.Errorf("%w: %w", context.Cause(ctx), errHangs)})
		})
	})
	go func() {
		o := outcome{started: true, err: errPanicked}
		defer func() {
			if v := recover(); v != nil {
				o = outcome{started: true, err: errPanicked, trace: fmt.Sprintf("%v\n%s", v, debug.Stack())}
			}
			stopHangTimer()
			deadline.Stop()
			cancel(nil)
			p.addOutcome(call, o)
		}()
		output, err := j.def.Call(ctx, input)
		if err != nil && ctx.Err() != nil { // the tool's error only repeats that ctx ended
			err = context.Cause(ctx)
		}
		o = outcome{Output: output, err: err, started: true}
	}()
}
