package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Bundle contains the configuration file and its secret files. A process that may read these files uses a Bundle to
// pass them to a process that may not read them.
type Bundle struct {
	File    string            `json:"file"`
	Text    []byte            `json:"text"`
	Secrets map[string][]byte `json:"secrets"` // contents of the files in the folder secrets, by file name; never nil
}

// ReadBundle reads the configuration file at path and its secret files.
func ReadBundle(path string) (p Bundle, err error) {
	p = Bundle{File: path, Secrets: make(map[string][]byte)}
	if p.Text, _, err = read(path); err != nil {
		return p, fmt.Errorf("read configuration: %w", err)
	}
	dir := filepath.Join(filepath.Dir(path), SecretsDir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("read secret files: %w", err)
	}
	for _, e := range entries {
		text, _, err := readRegularFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return p, fmt.Errorf("read secret file: %w", err)
		}
		p.Secrets[e.Name()] = []byte(text)
	}
	return p, nil
}

// Parse parses the configuration file in the bundle. If a key of the file refers to a secret file by a relative path, Parse
// takes this file from the bundle.
func (p Bundle) Parse(env Env) (*Config, error) {
	if p.Secrets == nil {
		p.Secrets = make(map[string][]byte)
	}
	return parse(p.File, p.Text, env, p.Secrets)
}

// IsCopy reports whether the configuration was read from the copy of the file that systemd made when it started the
// service.
func (c *Config) IsCopy(env Env) bool {
	dir := env.Value(envCredentials)
	return dir != "" && filepath.Dir(c.file) == filepath.Clean(dir)
}
