package store

import (
	"errors"
	"path/filepath"
	"strings"
)

// Dir returns the state directory: the first of $STATE_DIRECTORY, which systemd sets, else
// $XDG_STATE_HOME/telex, else ~/.local/state/telex. It creates nothing.
//
// A relative $XDG_STATE_HOME is ignored: https://specifications.freedesktop.org/basedir-spec/latest/
func Dir(env func(string) string) (string, error) {
	for _, dir := range filepath.SplitList(env("STATE_DIRECTORY")) {
		if dir = strings.TrimSpace(dir); dir != "" {
			return dir, nil
		}
	}
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "telex"), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "telex"), nil
	}
	return "", errors.New("no state directory: set STATE_DIRECTORY, XDG_STATE_HOME or HOME to an absolute path")
}
