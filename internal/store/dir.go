package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// fileName is the name of the database file in the state directory.
const fileName = "telex.db"

// File returns the path of the database file in a state directory.
func File(dir string) string { return filepath.Join(dir, fileName) }

// Dir returns the state directory: the first directory in $STATE_DIRECTORY, which systemd sets. If $STATE_DIRECTORY is
// not set, Dir returns $XDG_STATE_HOME/telex or ~/.local/state/telex. Dir creates no directory.
//
// A relative $XDG_STATE_HOME is ignored, as the specification demands:
// https://specifications.freedesktop.org/basedir-spec/latest/
func Dir(env func(string) string) (string, error) {
	for _, dir := range filepath.SplitList(env("STATE_DIRECTORY")) {
		if dir = strings.TrimSpace(dir); dir == "" {
			continue
		}
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("STATE_DIRECTORY is %q: set it to an absolute path, so that every command finds the same store", dir)
		}
		return dir, nil
	}
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "telex"), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "telex"), nil
	}
	return "", errors.New("no state directory: set STATE_DIRECTORY, XDG_STATE_HOME or HOME to an absolute path")
}
