package app_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"telex/internal/app"
	"telex/internal/config"
)

// logged returns what a logger with this configuration writes when write uses it.
func logged(t *testing.T, c config.Log, write func(*slog.Logger)) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	write(app.NewLog(c, w)) // the pipe's buffer is large enough for the few lines
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func everyLevel(log *slog.Logger) {
	log.Debug("d")
	log.Info("i", slog.String("key", "two words"))
	log.With(slog.Int("n", 7)).Warn("w")
	log.WithGroup("g").Error("e", slog.Int("n", 8))
}

// TestLogForTheJournal checks the format of lines for journald.
// https://www.freedesktop.org/software/systemd/man/latest/sd-daemon.html
func TestLogForTheJournal(t *testing.T) {
	t.Parallel()
	got := logged(t, config.Log{Level: "debug", Format: "journal"}, everyLevel)
	want := "<7>msg=d\n<6>msg=i key=\"two words\"\n<4>msg=w n=7\n<3>msg=e g.n=8\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json", "journal"} {
		for level, want := range map[string]int{"debug": 4, "info": 3, "warn": 2, "error": 1} {
			got := logged(t, config.Log{Level: level, Format: format}, everyLevel)
			if n := strings.Count(got, "\n"); n != want {
				t.Errorf("%s at %s writes %d lines, want %d:\n%s", format, level, n, want, got)
			}
		}
	}
}

// A logged value contains a line break. The text after the line break must not become a new log line, which could have another
// level.
func TestLogLineBreaks(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json", "journal"} {
		got := logged(t, config.Log{Level: "info", Format: format}, func(log *slog.Logger) {
			log.Info("hello", slog.String("key", "a\n<3>b"))
		})
		if strings.Count(got, "\n") != 1 {
			t.Errorf("%s writes more than one line:\n%s", format, got)
		}
	}
}

func TestLogAuto(t *testing.T) {
	for _, c := range []struct {
		journal string
		want    func(line string) bool
		is      string
	}{
		{"", func(line string) bool { return json.Valid([]byte(line)) }, "JSON"},
		{"8:123", func(line string) bool { return line == "<6>msg=hello\n" }, "a journal line"},
	} {
		t.Setenv("JOURNAL_STREAM", c.journal)
		got := logged(t, config.Log{Level: "info", Format: "auto"}, func(log *slog.Logger) { log.Info("hello") })
		if !c.want(got) {
			t.Errorf("with JOURNAL_STREAM=%q it writes %q, want %s", c.journal, got, c.is)
		}
	}
}

// The text format must write colours only to a terminal, not to a file or a pipe.
func TestLogTextInAPipe(t *testing.T) {
	t.Parallel()
	got := logged(t, config.Log{Level: "info", Format: "text"}, func(log *slog.Logger) { log.Warn("hello", slog.Int("n", 1)) })
	if strings.Contains(got, "\x1b") || !strings.HasSuffix(got, " WRN hello n=1\n") {
		t.Errorf("it writes %q, want plain text", got)
	}
}
