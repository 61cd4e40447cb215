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
	// serviceStateDir and serviceRuntimeDir are the directories that systemd creates for deploy/telex.service.
	serviceStateDir   = "/var/lib/telex"
	serviceRuntimeDir = "/run/telex"
	// maxSocketPath is the maximum length in bytes of the path of a Unix socket on all systems: macOS and the BSDs
	// allow 104 including the terminating zero, Linux 108. https://man7.org/linux/man-pages/man7/unix.7.html,
	// https://man.freebsd.org/cgi/man.cgi?query=unix&sektion=4
	maxSocketPath = 103
)

// stateDir returns the state directory for commands of an operator. If the environment names none and the operator's
// home contains no store, stateDir returns the directory of the system's service, if its store exists. So "sudo
// telex" finds the service.
func stateDir(env config.Env) (string, error) {
	dir, err := store.Dir(env.Value)
	if namesState(env) {
		return dir, err
	}
	if err == nil && exists(store.File(dir)) {
		return dir, nil
	}
	if exists(store.File(serviceStateDir)) {
		return serviceStateDir, nil
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

// socketName returns the name of the socket of the daemon whose state directory is dir. Different paths of the same
// directory give the same name.
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

// runtimeDir returns the directory in which the daemon creates its socket: the first directory in $RUNTIME_DIRECTORY,
// which systemd sets, otherwise $XDG_RUNTIME_DIR/telex, otherwise the state directory.
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

// socketPlaces returns all paths at which the daemon's socket may be. There are several, because the daemon's
// environment may differ from ours. state is its state directory.
func socketPlaces(env config.Env, state string) ([]string, error) {
	name, err := socketName(state)
	if err != nil {
		return nil, err
	}
	var out []string
	seen := make(map[string]bool)
	for _, dir := range []string{runtimeDir(env, state), serviceRuntimeDir, state} {
		if !seen[dir] {
			seen[dir] = true
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out, nil
}

// errNoSocket means that there is no socket, or that its daemon has ended.
var errNoSocket = errors.New("no daemon listens")

// withShortPath calls use with a path of the file that is short enough for a socket. If the path is too long, it
// names the directory by its open file descriptor, where the system supports that.
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

// listenControl creates the socket at path, for its owner only. It replaces a socket that exists: the caller has
// locked the store, so the daemon of the old socket has ended. The caller must remove the file.
func listenControl(path string) (l *net.UnixListener, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// Create the socket in a new directory first, so that nobody else can open it before its mode is set.
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
	l.SetUnlinkOnClose(false) // unlinking would use the name before the rename
	if err := os.Chmod(temp, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if err := os.Rename(temp, path); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// dialControl connects to the socket at path. It fails with errNoSocket if there is no socket, or if no daemon
// listens.
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
