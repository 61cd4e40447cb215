package app_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"telex/internal/app"
	"telex/internal/config"
	"telex/internal/store/memory"
)

// watchedLog collects a log, and calls cancel when the log contains a certain text.
type watchedLog struct {
	mu     sync.Mutex
	buffer bytes.Buffer
	until  string
	cancel context.CancelFunc
}

// Write implements io.Writer.
func (l *watchedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.buffer.Write(p)
	if strings.Contains(l.buffer.String(), l.until) {
		l.cancel()
	}
	return n, err
}

// The service manager can't be reached, and the watchdog interval is invalid. The daemon must log these two problems and
// continue. Other tests, which start whole processes, check that the notifications arrive.
func TestServiceManagerThatDoesNotListen(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none"))
	t.Setenv("WATCHDOG_USEC", "soon")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := &watchedLog{until: "receiving is interrupted", cancel: cancel}
	const text = `
models: [{name: main, base_url: "http://127.0.0.1:1/v1", model: m}]
platforms: {telegram: {token: "1:a", api_base: "http://127.0.0.1:1"}}
admin: {listen: ""}
`
	c, err := config.Parse("c.yaml", []byte(text), nothing)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), c, app.Options{Store: memory.New(), Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Run(ctx); err != nil {
		t.Errorf("Run = %v, want nothing", err)
	}
	got := log.buffer.String()
	for _, want := range []string{
		`msg="service manager was not notified" state="READY=1"`,
		`msg="service manager was not notified" state="STOPPING=1"`,
		`msg="watchdog ping withheld"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the log lacks %s:\n%s", want, got)
		}
	}
}
