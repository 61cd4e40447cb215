package admin

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// maxProblems is how many problems Problems keeps.
const maxProblems = 20

// Problem is a warning or an error from the log. Log lines contain neither people's texts nor secrets.
type Problem struct {
	At                           time.Time
	Failed                       bool // the log line is an error, not a warning
	Message                      string
	Endpoint, Conversation, Turn string // what the problem concerns; each may be empty
	Cause                        string
}

// Problems keeps the newest warnings and errors of a log.
type Problems struct {
	mu   sync.Mutex
	list []Problem // oldest first
}

// Newest returns the problems, the newest first.
func (p *Problems) Newest() []Problem {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := slices.Clone(p.list)
	slices.Reverse(list)
	return list
}

func (p *Problems) add(one Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) == maxProblems {
		p.list = slices.Delete(p.list, 0, 1)
	}
	p.list = append(p.list, one)
}

// Handler returns a log handler that passes each log record to the handler next, and keeps warnings and errors.
func (p *Problems) Handler(next slog.Handler) slog.Handler { return watcher{Handler: next, to: p} }

// watcher is the handler of Problems.
type watcher struct {
	slog.Handler
	to   *Problems
	with Problem // the fields that the logger's attributes contain
}

// Handle implements slog.Handler.
func (w watcher) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		one := w.with
		one.At, one.Failed, one.Message = r.Time, r.Level >= slog.LevelError, r.Message
		r.Attrs(func(a slog.Attr) bool { one.read(a); return true })
		w.to.add(one)
	}
	return w.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (w watcher) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		w.with.read(a)
	}
	w.Handler = w.Handler.WithAttrs(attrs)
	return w
}

// WithGroup implements slog.Handler.
func (w watcher) WithGroup(name string) slog.Handler {
	w.Handler = w.Handler.WithGroup(name)
	return w
}

// maxCause is the maximum length of a problem's cause in bytes. maxCause is needed because the cause of a panic
// contains its stack.
const maxCause = 300

func (p *Problem) read(a slog.Attr) {
	switch value := a.Value.Resolve().String(); a.Key {
	case "endpoint":
		p.Endpoint = value
	case "conversation":
		p.Conversation = value
	case "turn":
		p.Turn = value[:min(len(value), 8)]
	case "error":
		if p.Cause = value; len(value) > maxCause {
			p.Cause = value[:maxCause] + "…"
		}
	}
}
