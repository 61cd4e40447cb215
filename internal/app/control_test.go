package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"telex/internal/chat"
	"telex/internal/config"
)

// clerk implements operations like a daemon whose store contains no people. clerk records what it was asked to delete.
type clerk struct{ deleted Deletion }

func (c *clerk) pairing(context.Context) (Pairing, error) { return Pairing{}, nil }

func (c *clerk) approve(_ context.Context, code string) (Admitted, error) {
	if code != "GOODCODE" {
		return Admitted{}, errors.New("there is no such code")
	}
	return Admitted{Person: "x:user:1"}, nil
}

func (c *clerk) revoke(context.Context, chat.Person) error { return nil }

func (c *clerk) delete(_ context.Context, d Deletion) (Deleted, error) {
	c.deleted = d
	return Deleted{Messages: 3}, nil
}

// listening serves a control socket until the test ends. listening returns the socket's path and the clerk that
// executes the operations.
func listening(t *testing.T, attach func(context.Context, net.Conn) error) (string, *clerk) {
	t.Helper()
	path := filepath.Join(t.TempDir(), strings.Repeat("d", 120), "x.sock")
	does := &clerk{}
	c := &control{do: does, attach: attach, log: slog.New(slog.DiscardHandler), ready: make(chan struct{})}
	t.Cleanup(func() {
		if exists(path) || exists(path+".new") {
			t.Error("the socket is left")
		}
	})
	t.Cleanup(c.start(t.Context(), path))
	close(c.ready)
	return path, does
}

func dialed(t *testing.T, path string) remote {
	t.Helper()
	conn, err := dialControl(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return remote{conn}
}

func TestControl(t *testing.T) {
	t.Parallel()
	path, does := listening(t, nil)
	if st, err := os.Stat(path); err != nil || st.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("got %v, %v, want a socket for its owner alone", st, err)
	}
	if a, err := dialed(t, path).approve(t.Context(), "GOODCODE"); err != nil || a.Person != "x:user:1" {
		t.Errorf("approve: got %+v, %v", a, err)
	}
	if _, err := dialed(t, path).approve(t.Context(), "BAD"); err == nil || err.Error() != "there is no such code" {
		t.Errorf("approve: got %v, want what the daemon says", err)
	}
	if _, err := dialed(t, path).approve(t.Context(), strings.Repeat("x", maxRequest)); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("approve: got %v, want a request that is too large", err)
	}
	want := Deletion{Conversation: "x:1"}
	if d, err := dialed(t, path).delete(t.Context(), want); err != nil || d.Messages != 3 || does.deleted != want {
		t.Errorf("delete: got %+v, %v of %+v", d, err, does.deleted)
	}
	if _, err := ask[none](t.Context(), dialed(t, path), http.MethodPost, "/v2/something", nil); err == nil || !strings.Contains(err.Error(), "version differs") {
		t.Errorf("unknown path: got %v", err)
	}
	if _, err := ask[none](t.Context(), dialed(t, path), http.MethodPost, pathChat, nil); err == nil || !strings.Contains(err.Error(), "different version") {
		t.Errorf("chat without an upgrade: got %v", err)
	}
}

// A client upgrades its connection to the terminal's protocol. Bytes must then pass unchanged in both directions, and
// the connection must end when the daemon stops.
func TestControlAttaches(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	path, _ := listening(t, func(ctx context.Context, conn net.Conn) error {
		defer close(ended)
		defer func() { _ = conn.Close() }()
		_, _ = io.CopyN(conn, conn, 5)
		<-ctx.Done()
		return nil
	})
	conn, err := dialed(t, path).terminal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // runs after the daemon has stopped
		_ = conn.Close()
	})
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
		t.Errorf("got %q, %v", got, err)
	}
	select {
	case <-ended:
		t.Error("the terminal was let go")
	default:
	}
}

func TestSocketPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state, link := filepath.Join(dir, "state"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(state, 0o700), os.Symlink(state, link)); err != nil {
		t.Fatal(err)
	}
	one, err1 := socketName(state)
	two, err2 := socketName(link + "/")
	other, err3 := socketName(dir)
	if err := errors.Join(err1, err2, err3); err != nil || one != two || one == other {
		t.Errorf("got names %q, %q, %q, %v, want two names of one directory to be one", one, two, other, err)
	}
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"RUNTIME_DIRECTORY": "/run/telex", "XDG_RUNTIME_DIR": "/run/user/1"}, "/run/telex"},
		{map[string]string{"RUNTIME_DIRECTORY": "/run/a:/run/b"}, "/run/a"},
		{map[string]string{"RUNTIME_DIRECTORY": "a", "XDG_RUNTIME_DIR": "/run/user/1"}, "/run/user/1/telex"},
		{map[string]string{"XDG_RUNTIME_DIR": "relative"}, state},
		{nil, state},
	} {
		env := func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }
		if got := runtimeDir(env, state); got != c.want {
			t.Errorf("%v: got %q, want %q", c.env, got, c.want)
		}
	}
	for _, nobody := range []string{filepath.Join(dir, "none"), state} { // neither path is a socket
		if _, err := dialControl(t.Context(), nobody); !errors.Is(err, errNoSocket) {
			t.Errorf("%s: got %v, want %v", nobody, err, errNoSocket)
		}
	}
}

// The daemon must refuse a configuration from programs that run as the daemon's user, such as MCP servers.
func TestControlPassesForRootOnly(t *testing.T) {
	t.Parallel()
	reloads := 0
	c := &control{do: &clerk{}, log: slog.New(slog.DiscardHandler), ready: make(chan struct{})}
	c.reload = func(_ context.Context, p *config.Bundle) (Reloaded, error) { reloads++; return Reloaded{}, nil }
	close(c.ready)
	for _, x := range []struct {
		peer any
		body string
		want int
	}{
		{nil, `{"passed": {"file": "/x"}}`, http.StatusUnprocessableEntity},
		{uint32(1000), `{"passed": {"file": "/x"}}`, http.StatusUnprocessableEntity},
		{uint32(1000), `{}`, http.StatusOK},
		{uint32(0), `{"passed": {"file": "/x"}}`, http.StatusOK},
	} {
		w, ctx := httptest.NewRecorder(), context.WithValue(t.Context(), peerKey{}, x.peer)
		c.routes().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, pathReload, strings.NewReader(x.body)))
		if w.Code != x.want {
			t.Errorf("%v, %s: got %d, want %d: %s", x.peer, x.body, w.Code, x.want, w.Body)
		}
	}
	if reloads != 2 {
		t.Errorf("%d reloads, want 2", reloads)
	}
}

// The daemon waits for the database. A command that asks this daemon for something must say that the daemon waits for the
// database.
func TestControlSaysWhatTheDaemonWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &control{do: &clerk{}, log: slog.New(slog.DiscardHandler), ready: make(chan struct{})}
		c.replicas = func() Replicas { return Replicas{Trouble: "register replica: away"} }
		w := httptest.NewRecorder()
		c.routes().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, pathStatus, nil))
		if want := "the daemon is not ready: register replica: away"; w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), want) {
			t.Errorf("got %d, %s, want %s", w.Code, w.Body, want)
		}
	})
}
