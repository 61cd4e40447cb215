package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Environment variables that the package itself reads. ${NAME} in the file may read any other.
const (
	envConfig      = "TELEX_CONFIG"
	envStreaming   = "TELEX_STREAMING_ENABLED"
	envCredentials = "CREDENTIALS_DIRECTORY" // set by systemd, https://systemd.io/CREDENTIALS/
)

// ErrNotFound means that no configuration file was given and none exists at the default locations.
var ErrNotFound = errors.New("no configuration file")

// Env looks up environment variables, like [os.LookupEnv]. A nil Env has no variables.
type Env func(name string) (value string, ok bool)

func (e Env) lookup(name string) (string, bool) {
	if e == nil {
		return "", false
	}
	return e(name)
}

// Value returns a variable's value, or "" if it is not set.
func (e Env) Value(name string) string {
	if v, ok := e.lookup(name); ok {
		return v
	}
	return ""
}

// Find returns the path of the configuration file: the explicit one, otherwise $TELEX_CONFIG, otherwise the first of
// ./config.yaml and /etc/telex/config.yaml that exists. It does not check the first two, so that reading them reports
// the error. It wraps [ErrNotFound] if there is no file.
func Find(explicit string, env Env) (string, error) {
	return find(explicit, env, "config.yaml", "/etc/telex/config.yaml")
}

func find(explicit string, env Env, usual ...string) (string, error) {
	if explicit != "" {
		return explicit, nil
	}
	if path := env.Value(envConfig); path != "" {
		return path, nil
	}
	for _, path := range usual {
		// Any error but "does not exist" belongs to this file, and must not be skipped.
		if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w at %s; name one with --config or $%s", ErrNotFound, strings.Join(usual, " or "), envConfig)
}
