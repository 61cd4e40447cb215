package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Passed is a configuration file with the secret files beside it, read by one process for another that may not read them.
type Passed struct {
	File    string            `json:"file"`
	Text    []byte            `json:"text"`
	Secrets map[string][]byte `json:"secrets"` // of the folder secrets, by their names; not nil
}

// Pass reads a configuration file and its secret files.
func Pass(path string) (p Passed, err error) {
	p = Passed{File: path, Secrets: make(map[string][]byte)}
	if p.Text, _, err = read(path); err != nil {
		return p, fmt.Errorf("read configuration: %w", err)
	}
	dir := filepath.Join(filepath.Dir(path), SecretsDir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("read secret files: %w", err)
	}
	for _, e := range entries {
		text, _, err := readSmall(filepath.Join(dir, e.Name()))
		if err != nil {
			return p, fmt.Errorf("read secret file: %w", err)
		}
		p.Secrets[e.Name()] = []byte(text)
	}
	return p, nil
}

// Parse makes a configuration of what was passed. Secret files with relative paths are those that were passed.
func (p Passed) Parse(env Env) (*Config, error) {
	if p.Secrets == nil {
		p.Secrets = make(map[string][]byte)
	}
	return parse(p.File, p.Text, env, p.Secrets)
}

// IsCopy reports whether the file is one that systemd copied for the service at its start.
func (c *Config) IsCopy(env Env) bool {
	dir := env.Value(envCredentials)
	return dir != "" && filepath.Dir(c.file) == filepath.Clean(dir)
}
