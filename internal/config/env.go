package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// These are the environment variables that this package reads itself. The package also reads a variable NAME if the file
// contains ${NAME}, which it replaces by the variable's value.
const (
	envConfig      = "TELEX_CONFIG"
	envStreaming   = "TELEX_STREAMING_ENABLED"
	envCredentials = "CREDENTIALS_DIRECTORY" // set by systemd, https://systemd.io/CREDENTIALS/
)

// ErrNotFound means that neither the command line nor $TELEX_CONFIG names a configuration file, and that no default location
// contains one.
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

// Find returns the path of the configuration file. Find returns explicit if this parameter is not empty, or else $TELEX_CONFIG,
// or else the first of ./config.yaml and /etc/telex/config.yaml that exists. Find does not check whether the file explicit or
// $TELEX_CONFIG exists, because reading the file will show this. If Find finds no file, the error wraps [ErrNotFound].
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
		// If a file at a default location exists but can't be read, return its path nevertheless: the function Load will then report
		// why the file can't be read.
		if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w at %s; name one with --config or $%s", ErrNotFound, strings.Join(usual, " or "), envConfig)
}
