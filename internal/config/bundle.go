package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Bundle is a configuration file with its secret files. A process reads them and passes them to another process that
// may not read the files.
type Bundle struct {
	File    string            `json:"file"`
	Text    []byte            `json:"text"`
	Secrets map[string][]byte `json:"secrets"` // contents of the files in the folder secrets, by name; not nil
}

// ReadBundle reads a configuration file and its secret files.
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

// Parse parses the bundle. A relative path of a secret file names a file in the bundle.
func (p Bundle) Parse(env Env) (*Config, error) {
	if p.Secrets == nil {
		p.Secrets = make(map[string][]byte)
	}
	return parse(p.File, p.Text, env, p.Secrets)
}

// IsCopy reports whether the file is the copy that systemd made when it started the service.
func (c *Config) IsCopy(env Env) bool {
	dir := env.Value(envCredentials)
	return dir != "" && filepath.Dir(c.file) == filepath.Clean(dir)
}
