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

// Limits of a child's standard error in the log.
const (
	maxLine       = 500 // bytes of a line
	linesAtOnce   = 40
	linesASecond  = 1
	linesAtTheEnd = 3 // number of last lines in the error that says that the child has exited
)

// lines logs the standard error of a child line by line, with a rate limit.
type lines struct {
	log     *slog.Logger
	secrets secrets
	limit   *rate.Limiter

	mu      sync.Mutex
	partial []byte // the current, incomplete line
	leftOut int
	last    []string
}

func newLines(log *slog.Logger, secrets secrets) *lines {
	return &lines{log: log, secrets: secrets, limit: rate.NewLimiter(linesASecond, linesAtOnce)}
}

// Write implements io.Writer. Write never fails.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		// Keep and redact a longer part of the line than is shown, because a secret at the cut could not be recognized.
		if room := 4*maxLine - len(l.partial); room > 0 {
			l.partial = append(l.partial, line[:min(len(line), room)]...)
		}
		if ended {
			l.flush()
		}
		rest = after
	}
	return len(p), nil
}

// flush logs the current line.
func (l *lines) flush() {
	text := agent.Clip(l.secrets.redact(agent.OneLine(string(l.partial))), maxLine)
	l.partial = l.partial[:0]
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

// tail returns the last lines, for the error about the child's exit.
func (l *lines) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.partial) > 0 {
		l.flush()
	}
	return agent.Clip(strings.Join(l.last, " / "), maxLine)
}
