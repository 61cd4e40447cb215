package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// heard plays the role of the service manager. The returned channel delivers the messages that the daemon sends to the service
// manager.
func heard(t *testing.T) <-chan string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", path)
	states := make(chan string, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1000)
		for {
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			states <- string(b[:n])
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close() // ignore the error of Close: nothing was written
		<-done
	})
	return states
}

// A part of the daemon hangs for a while. Meanwhile the watchdog must get no notification, and the log must say which part
// hangs. When the part no longer hangs, the notifications must continue.
func TestWatchdogIsNotToldOfAHang(t *testing.T) {
	states := heard(t)
	t.Setenv("WATCHDOG_USEC", "300000")
	log := &syncLog{}
	var hangs atomic.Bool
	ctx, cancel := context.WithCancel(t.Context())
	started, ended := make(chan struct{}), make(chan struct{})
	close(started)
	go func() {
		defer close(ended)
		newSupervisor(slog.New(slog.NewTextHandler(log, nil))).watch(ctx, started, func(context.Context) error {
			if hangs.Load() {
				return errors.New("the store hangs")
			}
			return nil
		})
	}()
	if got := <-states; got != "WATCHDOG=1" {
		t.Errorf("got %q, want WATCHDOG=1", got)
	}
	hangs.Store(true)
	log.await(t, "the store hangs")
	for len(states) > 0 {
		<-states
	}
	select {
	case got := <-states:
		t.Errorf("while something hangs it told %q", got)
	case <-time.After(500 * time.Millisecond):
	}
	hangs.Store(false)
	if got := <-states; got != "WATCHDOG=1" {
		t.Errorf("got %q, want WATCHDOG=1", got)
	}
	cancel()
	<-ended
}

// During a long start, the daemon must send messages to the service manager, so that the service manager does not kill
// it.
func TestLongStartIsTold(t *testing.T) {
	states := heard(t)
	log := &syncLog{}
	synctest.Test(t, func(t *testing.T) {
		done := newSupervisor(slog.New(slog.NewTextHandler(log, nil))).starting(t.Context(), "checking the store")
		time.Sleep(25 * time.Second)
		synctest.Wait()
		done()
	})
	for _, want := range []string{
		"EXTEND_TIMEOUT_USEC=60000000\nSTATUS=checking the store", "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=checking the store", "STATUS=",
	} {
		if got := <-states; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	if n := strings.Count(log.String(), "the start takes long"); n != 1 {
		t.Errorf("the log says %d times that it takes long, want once:\n%s", n, log)
	}
}

// The steps of a teardown must run one after the other, the last added step first. If a step fails, the next steps
// must still run. A slow step must be logged with its name.
func TestTeardown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &syncLog{}
		down := teardown{log: slog.New(slog.NewTextHandler(log, nil))}
		var order []string
		for _, name := range []string{"store", "endpoint", "watchdog"} {
			down.add(name, func() error {
				if name == "endpoint" {
					time.Sleep(3 * time.Second)
				}
				order = append(order, name)
				if name == "watchdog" {
					return errors.New("no")
				}
				return nil
			})
		}
		err := down.run()
		if got := strings.Join(order, " "); got != "watchdog endpoint store" {
			t.Errorf("ended %q, want the last first", got)
		}
		if err == nil || err.Error() != "stop watchdog: no" {
			t.Errorf("got %v, want what failed, with its name", err)
		}
		for _, want := range []string{`msg="stopping waits for a step" step=endpoint`, `msg="stopped slowly" step=endpoint took=3s`} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %s:\n%s", want, log)
			}
		}
		if err := down.run(); err != nil || len(order) != 3 {
			t.Errorf("a second time: got %v and %q, want nothing", err, order)
		}
	})
}

// syncLog collects a log to which several goroutines may write.
type syncLog struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *syncLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the log so far.
func (l *syncLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *syncLog) await(t *testing.T, part string) {
	t.Helper()
	for began := time.Now(); !strings.Contains(l.String(), part); time.Sleep(time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("the log lacks %q:\n%s", part, l)
		}
	}
}
