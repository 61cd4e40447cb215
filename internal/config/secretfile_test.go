package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // set the mode regardless of the umask
		t.Fatal(err)
	}
}

const withFile = `models: [{name: a, model: b, api_key_file: %key}]
platforms:
  telegram: {token_file: %token}
`

func fileConfig(key, token string) []byte {
	return []byte(strings.NewReplacer("%key", key, "%token", token).Replace(withFile))
}

func TestSecretFiles(t *testing.T) {
	t.Parallel()
	dir, creds := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "key"), "beside-the-file\n", 0o600)
	write(t, filepath.Join(dir, "sub", "token"), "1:beside\r\n", 0o600)
	write(t, filepath.Join(creds, "key"), "credential", 0o400)
	write(t, filepath.Join(creds, "sub", "token"), "1:credential\n", 0o400)
	folder := t.TempDir() // if systemd loads credentials from a folder, it gives them names such as secrets_key
	write(t, filepath.Join(folder, "secrets_key"), "of-the-folder", 0o400)
	write(t, filepath.Join(folder, "sub", "token"), "1:sub", 0o400)
	write(t, filepath.Join(dir, "secrets", "hidden"), "in-secrets", 0o600)
	write(t, filepath.Join(dir, "secrets", "key"), "not this one", 0o600)
	tests := []struct {
		name             string
		key, token       string // paths of secret files as the configuration contains them
		vars             map[string]string
		wantKey, wantTok string
	}{
		{"beside the file", "key", "sub/token", nil, "beside-the-file", "1:beside"},
		{"credentials", "key", "sub/token", map[string]string{envCredentials: creds}, "credential", "1:credential"},
		{
			"absolute", filepath.Join(dir, "key"), "sub/token",
			map[string]string{envCredentials: creds},
			"beside-the-file", "1:credential",
		},
		{"credentials of a folder", "key", "sub/token", map[string]string{envCredentials: folder}, "of-the-folder", "1:sub"},
		{"in the folder of secrets", "hidden", "sub/token", nil, "in-secrets", "1:beside"},
		{"path with a variable", "\"${DIR}/key\"", "sub/token", map[string]string{"DIR": dir}, "beside-the-file", "1:beside"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := Parse(filepath.Join(dir, "config.yaml"), fileConfig(tt.key, tt.token), testEnv(tt.vars))
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Models[0].APIKey.Reveal(); got != tt.wantKey {
				t.Errorf("api_key = %q, want %q", got, tt.wantKey)
			}
			if got := settingsOf[Telegram](c.Endpoints[0]).Token.Reveal(); got != tt.wantTok {
				t.Errorf("token = %q, want %q", got, tt.wantTok)
			}
			if len(c.Warnings) > 0 {
				t.Errorf("warnings = %q, want none", c.Warnings)
			}
		})
	}
}

func TestSecretFileTrouble(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "config.yaml")
	write(t, filepath.Join(dir, "good.txt"), "1:good-secret", 0o600)
	write(t, filepath.Join(dir, "open.txt"), "open-secret", 0o644)
	write(t, filepath.Join(dir, "empty.txt"), "\n", 0o600)
	write(t, filepath.Join(dir, "lines.txt"), "one\ntwo\n", 0o600)
	write(t, filepath.Join(dir, "long.txt"), strings.Repeat("x", maxSecretFile+1), 0o600)
	tests := []struct{ key, want string }{
		{"empty.txt", `:1:30: empty api_key in models[0]; the file "empty.txt" is empty`},
		{"lines.txt", ":1:44: models[0].api_key_file holds a line break or a control character; check where it was copied from"},
		{"long.txt", `:1:44: read "long.txt" of models[0].api_key_file: longer than 65536 bytes; a relative path is looked up beside the configuration file, and in the folder secrets there`},
		{".", `:1:44: read "." of models[0].api_key_file: not a regular file; a relative path is looked up beside the configuration file, and in the folder secrets there`},
	}
	for _, tt := range tests {
		_, err := Parse(name, fileConfig(tt.key, "good.txt"), nil)
		if got := errorText(err); got != name+strings.Replace(tt.want, ":30:", ":44:", 1) {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.key, got, name+tt.want)
		}
	}
	c, err := Parse(name, fileConfig("open.txt", "good.txt"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := name + ":1:44: everybody on this machine can read the secret file of models[0].api_key_file; make it 0600"
	if len(c.Warnings) != 1 || c.Warnings[0] != want {
		t.Errorf("warnings = %q, want %q", c.Warnings, want)
	}
}

// If everybody can read the configuration file, a warning must appear only if the file itself contains a secret.
func TestReadableConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "config.yaml")
	write(t, filepath.Join(dir, "key"), "1:a-long-secret", 0o600)
	const text = "models: [{name: main, %s, model: m}]\nplatforms: {telegram: {token_file: key}}\n"
	for _, c := range []struct {
		key   string
		mode  fs.FileMode
		warns bool
	}{
		{"api_key: sk-another-secret", 0o600, false},
		{"api_key: sk-another-secret", 0o644, true},
		{`api_key: "${KEY}"`, 0o644, false},
		{"api_key_file: key", 0o644, false},
	} {
		write(t, name, fmt.Sprintf(text, c.key), c.mode)
		got, err := Load(name, testEnv(map[string]string{"KEY": "sk-of-the-environment"}))
		if err != nil {
			t.Fatal(err)
		}
		if warns := strings.Contains(strings.Join(got.Warnings, "\n"), name+":1:1: everybody on this machine can read this file"); warns != c.warns {
			t.Errorf("%s with mode %v: warnings %q", c.key, c.mode, got.Warnings)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The key keys_file names a file with several API keys, one on each line. Parse must read all keys in this file.
func TestSecretListFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "keys"), "first-key\n\n second-key\n", 0o600)
	d := newDecoder(filepath.Join(dir, "config.yaml"), nil)
	c := d.parse([]byte("platforms:\n  api_server: {keys_file: keys}\n"))
	keys := settingsOf[APIServer](c.Endpoints[0]).Keys
	if len(keys) != 2 || keys[0].Reveal() != "first-key" || keys[1].Reveal() != "second-key" {
		t.Errorf("got %d keys, want first-key and second-key", len(keys))
	}
}
