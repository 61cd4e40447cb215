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
	// serviceStateDir and serviceRuntimeDir are the directories that systemd creates for the unit
	// deploy/telex.service.
	serviceStateDir   = "/var/lib/telex"
	serviceRuntimeDir = "/run/telex"
	// maxSocketPath is the maximum length in bytes of a Unix socket's path that all systems support. macOS and the
	// BSDs allow 104 bytes including the terminating zero; Linux allows 108.
	// https://man7.org/linux/man-pages/man7/unix.7.html, https://man.freebsd.org/cgi/man.cgi?query=unix&sektion=4
	maxSocketPath = 103
)

// stateDir returns the state directory for an operator's command. If the environment names no directory and the
// operator's home contains no store, stateDir looks into the directory of the systemd service. If this directory
// contains a store, stateDir returns it. So the command "sudo telex" finds the store of the service.
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

// socketName returns the file name of a daemon's control socket. dir is the daemon's state directory. If two paths lead to the
// same directory, socketName returns the same name for both.
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
// which systemd sets. If $RUNTIME_DIRECTORY is not set, runtimeDir returns $XDG_RUNTIME_DIR/telex or the state
// directory.
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

// socketPlaces returns all paths at which the daemon may have created its socket. Several paths are possible, because the
// environment of the daemon may differ from that of this process. The parameter state is the daemon's state directory.
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

// errNoSocket means that the daemon's socket does not exist, or that no daemon listens on it any more.
var errNoSocket = errors.New("no daemon listens")

// withShortPath calls the function use with a path that is short enough for a socket. If path is too long, withShortPath opens
// the directory and passes a path through its file descriptor, if the system supports such paths.
func withShortPath(path string, use func(string) error) error {
	if len(path) <= maxSocketPath {
		return use(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // ignore the error of Close: nothing was written
	short := filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())))
	if !exists(short) {
		return fmt.Errorf("the path %s is longer than %d bytes, the limit for a socket: choose another directory with RUNTIME_DIRECTORY", path, maxSocketPath)
	}
	return use(filepath.Join(short, filepath.Base(path)))
}

// listenControl creates the socket at path, with access only for its owner. This process has locked the store, so a socket that
// exists at path belongs to a daemon that has ended. listenControl replaces such an old socket. When the socket is no longer
// needed, the caller must delete it.
func listenControl(path string) (l *net.UnixListener, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// First create the socket in a new directory that only the directory's owner can enter. Because of this directory, no other
	// user can open the socket before the socket's mode is set.
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
	l.SetUnlinkOnClose(false) // Close would delete the path that the socket had before it was renamed
	if err := os.Chmod(temp, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if err := os.Rename(temp, path); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// dialControl connects to the socket at path. dialControl fails with errNoSocket if the socket does not exist, or if
// no daemon listens on it.
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
