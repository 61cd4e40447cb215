package mcp

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	"telex/agent"
)

// What of a child's standard error goes to the log.
const (
	maxLine       = 500 // bytes of a line
	linesAtOnce   = 40
	linesASecond  = 1
	linesAtTheEnd = 3 // are said again when the child has ended
)

// lines writes what a child says to the log, line by line, so that no child can flood it.
type lines struct {
	log     *slog.Logger
	secrets secrets
	limit   *rate.Limiter

	mu      sync.Mutex
	begun   []byte // of a line that has not ended
	leftOut int
	last    []string
}

func newLines(log *slog.Logger, secrets secrets) *lines {
	return &lines{log: log, secrets: secrets, limit: rate.NewLimiter(linesASecond, linesAtOnce)}
}

// Write takes what was said. It never fails.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		// Some more than is shown, so that a secret at the cut is recognized.
		if room := 4*maxLine - len(l.begun); room > 0 {
			l.begun = append(l.begun, line[:min(len(line), room)]...)
		}
		if ended {
			l.flush()
		}
		rest = after
	}
	return len(p), nil
}

// flush logs the line that was begun.
func (l *lines) flush() {
	text := agent.Clip(l.secrets.redact(agent.OneLine(string(l.begun))), maxLine)
	l.begun = l.begun[:0]
	if text == "" {
		return
	}
	l.last = append(l.last[max(0, len(l.last)-linesAtTheEnd+1):], text)
	if !l.limit.Allow() {
		l.leftOut++
		return
	}
	attrs := []slog.Attr{slog.String("line", text)}
	if l.leftOut > 0 {
		attrs = append(attrs, slog.Int("lines_left_out", l.leftOut))
		l.leftOut = 0
	}
	l.log.LogAttrs(context.Background(), slog.LevelInfo, "MCP server says", attrs...)
}

// tail returns the last lines, for the error that the child's end is.
func (l *lines) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.begun) > 0 {
		l.flush()
	}
	return agent.Clip(strings.Join(l.last, " / "), maxLine)
}
