package conformance

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/standin/fault"
)

// Implementations of World and other tests of adapters use the following helpers.

// Start runs a gateway until the test ends or the caller calls end.
func Start(t *testing.T, o gateway.Options) (end func()) {
	t.Helper()
	g, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx, func() {}) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the gateway: %v", err)
		}
	})
	t.Cleanup(end)
	return end
}

// Talker is a Runner that writes a text word by word.
type Talker struct {
	Text  string        // empty: the Talker repeats the question
	Pause time.Duration // pause before each word; 0: 100 ms
	Tail  time.Duration // pause between the last word and the end of the answer
}

// Run implements gateway.Runner.
func (a Talker) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	r := agent.Result{Model: "talker", Stop: agent.StopDone}
	text, each := a.Text, a.Pause
	if text == "" {
		text = "re: " + t.Messages[len(t.Messages)-1].Text
	}
	if each == 0 {
		each = 100 * time.Millisecond
	}
	for word := range strings.SplitAfterSeq(text, " ") {
		if err := writing(ctx, each); err != nil {
			r.Partial, r.Stop = true, agent.StopCancelled
			return r, err
		}
		r.Text += word
		emit(agent.Text{Delta: word})
	}
	if err := writing(ctx, a.Tail); err != nil {
		r.Partial, r.Stop = true, agent.StopCancelled
		return r, err
	}
	r.Append = []agent.Message{{Role: agent.Assistant, Text: r.Text}}
	return r, nil
}

// writing waits for d, which represents the time that a model or a tool needs for its work.
func writing(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d): //nolint:forbidigo // the test runs in virtual time
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Log collects log output from any goroutine. The zero value of Log contains no output.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends p to the log.
func (b *Log) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns the whole log.
func (b *Log) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// InOrder sorts the versions of several messages by time.
func InOrder(list []Version) []Version {
	slices.SortStableFunc(list, func(a, b Version) int { return a.At.Compare(b.At) })
	return list
}

// Effect describes a Fault as tests pass it to a stand-in.
type Effect struct {
	Action     string
	Status     int           // HTTP status of the failed response
	RetryAfter time.Duration // the wait that the platform reports with a rate limit
}

// OnCall returns the effect of a Fault on a call of the platform's API.
func (f Fault) OnCall() Effect {
	switch f {
	case RateLimit:
		return Effect{Action: fault.RateLimit, RetryAfter: RetryAfter}
	case ServerError:
		return Effect{Action: fault.Status, Status: http.StatusBadGateway}
	case CutBefore:
		return Effect{Action: fault.CutBefore}
	case CutAfter:
		return Effect{Action: fault.CutAfter}
	case Refused:
		return Effect{Action: fault.Status, Status: http.StatusForbidden}
	case Unauthorized:
		return Effect{Action: fault.Status, Status: http.StatusUnauthorized}
	case Hang:
	}
	return Effect{Action: fault.Hang}
}

// OnFetch returns the effect of a Fault on the download of a file.
func (f Fault) OnFetch() Effect {
	if f == CutAfter {
		return Effect{Action: fault.CutMiddle}
	}
	return f.OnCall()
}
