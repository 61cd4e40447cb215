package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"telex/internal/config"
	"telex/internal/store"
)

const (
	// serviceState and serviceRuntime are the directories that deploy/telex.service asks for.
	serviceState   = "/var/lib/telex"
	serviceRuntime = "/run/telex"
	// maxSocketPath is how long the path of a Unix socket may be, in bytes, where it may be least: 104 with
	// the byte that ends it, on macOS and the BSDs; Linux has 108.
	// https://man7.org/linux/man-pages/man7/unix.7.html, https://man.freebsd.org/cgi/man.cgi?query=unix&sektion=4
	maxSocketPath = 103
)

// stateDir returns the state directory for commands of an operator. Where the environment names none and the operator's
// home has no store, it is that of the system's service if there is one: who says "sudo telex" means it.
func stateDir(env config.Env) (string, error) {
	dir, err := store.Dir(env.Value)
	if namesState(env) {
		return dir, err
	}
	if err == nil && exists(store.File(dir)) {
		return dir, nil
	}
	if exists(store.File(serviceState)) {
		return serviceState, nil
	}
	return dir, err
}

// namesState reports whether the environment names a state directory.
func namesState(env config.Env) bool {
	return env.Value("STATE_DIRECTORY") != "" || env.Value("XDG_STATE_HOME") != ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// socketName is the name of the socket of the daemon whose state is in dir: each state directory has its own, however it
// is written, and one daemon at a time.
func socketName(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:6]) + ".sock", nil
}

// runtimeDir is where the daemon makes its socket: the first of $RUNTIME_DIRECTORY, which systemd sets, else
// $XDG_RUNTIME_DIR/telex, else the state directory.
func runtimeDir(env config.Env, state string) string {
	for _, dir := range filepath.SplitList(env.Value("RUNTIME_DIRECTORY")) {
		if dir = strings.TrimSpace(dir); filepath.IsAbs(dir) {
			return dir
		}
	}
	if dir := env.Value("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "telex")
	}
	return state
}

// socketPlaces returns every path at which the socket of the daemon may be whose state is in state. The daemon's
// environment may be another than ours.
func socketPlaces(env config.Env, state string) ([]string, error) {
	name, err := socketName(state)
	if err != nil {
		return nil, err
	}
	var out []string
	seen := make(map[string]bool)
	for _, dir := range []string{runtimeDir(env, state), serviceRuntime, state} {
		if !seen[dir] {
			seen[dir] = true
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out, nil
}

// errNoSocket means that there is no socket, or that its daemon was killed.
var errNoSocket = errors.New("no daemon listens")

// withShortPath calls use with a path of the file that is short enough for a socket's address. A long one leads over the
// open directory, where the system can do so.
func withShortPath(path string, use func(string) error) error {
	if len(path) <= maxSocketPath {
		return use(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // nothing was written
	short := filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())))
	if !exists(short) {
		return fmt.Errorf("the path %s is longer than %d bytes, which no socket's may be: choose another directory with RUNTIME_DIRECTORY", path, maxSocketPath)
	}
	return use(filepath.Join(short, filepath.Base(path)))
}

// listenControl makes the socket at path, for its owner alone. One that is there is replaced: whoever calls holds the
// lock of the store, so that its daemon is gone. The caller removes the file.
func listenControl(path string) (l *net.UnixListener, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// In a directory of its own the socket is nobody else's before it has its mode, whatever the umask and dir allow.
	tempDir := path + ".new"
	if err := errors.Join(os.RemoveAll(tempDir), os.Mkdir(tempDir, 0o700)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tempDir)) }()
	temp := filepath.Join(tempDir, "s")
	if err := withShortPath(temp, func(short string) error {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		return err
	}); err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it would look under the old name
	if err := os.Chmod(temp, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if err := os.Rename(temp, path); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// dialControl connects to the socket at path. It fails with errNoSocket if there is none or nobody listens.
func dialControl(ctx context.Context, path string) (conn net.Conn, err error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoSocket
	case err != nil:
		return nil, err
	case st.Mode().Type() != fs.ModeSocket:
		return nil, errNoSocket
	}
	err = withShortPath(path, func(short string) error {
		var d net.Dialer
		conn, err = d.DialContext(ctx, "unix", short)
		return err
	})
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, errNoSocket
	}
	return conn, err
}
