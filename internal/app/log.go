package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"telex/internal/config"
	"telex/internal/store"
	"telex/platforms/terminal/ui"
)

// LogLevel is the level of a log. A reload may change the level.
type LogLevel struct{ slog.LevelVar }

// Set sets the level to the configured one.
func (l *LogLevel) Set(c config.Log) {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // config accepts only valid levels; without one, the level is info
	l.LevelVar.Set(level)
}

// NewLog returns a logger that writes to w, with the configured level and format.
func NewLog(c config.Log, w *os.File) *slog.Logger {
	return new(LogLevel).NewLog(c, w)
}

// NewLog returns a logger that writes to w, with this level and the configured format. If the level of l changes
// later, the logger uses the new level.
func (l *LogLevel) NewLog(c config.Log, w *os.File) *slog.Logger {
	l.Set(c)
	format := c.Format
	if format == "auto" {
		format = autoFormat(w)
	}
	switch format {
	case "text":
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: l, TimeFormat: time.TimeOnly, NoColor: !term.IsTerminal(int(w.Fd()))}))
	case "journal":
		return slog.New(newJournalHandler(w, l))
	default:
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l, ReplaceAttr: readable}))
	}
}

// readable formats durations like 1.5s instead of as a number of nanoseconds.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.String(a.Key, a.Value.Duration().String())
	}
	return a
}

// autoFormat returns the format for the destination w: text for a terminal, lines with priorities for journald, and
// JSON for everything else.
// https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#%24JOURNAL_STREAM
func autoFormat(w *os.File) string {
	switch {
	case term.IsTerminal(int(w.Fd())):
		return "text"
	case os.Getenv("JOURNAL_STREAM") != "":
		return "journal"
	default:
		return "json"
	}
}

// journalHandler writes lines for journald, with a priority and without a time.
// https://www.freedesktop.org/software/systemd/man/latest/sd-daemon.html
type journalHandler struct {
	slog.Handler
	out *priorityWriter
}

// priorityWriter writes a prefix, the priority of a log record, before the record's line.
type priorityWriter struct {
	mu     sync.Mutex
	prefix string
	w      io.Writer
}

// Write implements io.Writer. A log handler writes each record with exactly one call of Write.
func (p *priorityWriter) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append([]byte(p.prefix), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func newJournalHandler(w io.Writer, least slog.Leveler) journalHandler {
	out := &priorityWriter{w: w}
	return journalHandler{out: out, Handler: slog.NewTextHandler(out, &slog.HandlerOptions{
		Level: least, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	})}
}

// Handle implements slog.Handler.
func (h journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	switch l := r.Level; {
	case l >= slog.LevelError:
		h.out.prefix = "<3>"
	case l >= slog.LevelWarn:
		h.out.prefix = "<4>"
	case l >= slog.LevelInfo:
		h.out.prefix = "<6>"
	default:
		h.out.prefix = "<7>"
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return journalHandler{h.Handler.WithAttrs(attrs), h.out}
}

// WithGroup implements slog.Handler.
func (h journalHandler) WithGroup(name string) slog.Handler {
	return journalHandler{h.Handler.WithGroup(name), h.out}
}

// chatLogSize is a size in bytes. If the file chat.log is larger than chatLogSize when a conversation begins, NewChatLog
// truncates the file.
const chatLogSize = 1 << 20

// NewChatLog returns the logger of a conversation in the terminal, and a function that closes it. If the user interface draws
// on the terminal, the logger writes to chat.log in the state directory. In the file chat.log, an operator finds the error ids
// that people see. If the user interface does not draw on the terminal, the logger writes to Trouble, by default only warnings
// and errors.
func NewChatLog(c config.Log, o ChatOptions) (*slog.Logger, func(), error) {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // config accepts only valid levels; without one, the level is info
	if o.Question != "" || !ui.Capable(o.In, o.Out, o.Env.Value) {
		if level == slog.LevelInfo {
			level = slog.LevelWarn
		}
		return slog.New(slog.NewTextHandler(o.Trouble, &slog.HandlerOptions{Level: level, ReplaceAttr: readable})), func() {}, nil
	}
	dir, err := store.Dir(o.Env.Value)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	path := filepath.Join(dir, "chat.log")
	if info, err := os.Stat(path); err == nil && info.Size() > chatLogSize {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	log := slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: level, ReplaceAttr: readable}))
	return log, func() { _ = f.Close() }, nil // the log is not buffered, so all lines are already written
}
