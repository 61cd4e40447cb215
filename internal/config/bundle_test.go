package config

import (
	"path/filepath"
	"testing"
)

// A key refers to a secret file by a relative path. When a bundle is parsed, this relative path must refer to a file in the
// bundle, never to a file on the disk.
func TestPassed(t *testing.T) {
	t.Parallel()
	dir, creds := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	write(t, filepath.Join(dir, "secrets", "key"), "the-new-key\n", 0o600)
	write(t, filepath.Join(dir, "secrets", "token"), "1:new\r\n", 0o600)
	write(t, filepath.Join(creds, "old"), "the-old-key", 0o400)
	env := func(name string) (string, bool) { return creds, name == envCredentials }
	for _, c := range []struct{ key, token, want string }{
		{"key", "token", ""},
		{"secrets_key", "secrets/token", ""},
		{filepath.Join(dir, "secrets", "key"), "token", ""},
		{"old", "token", path + ":1:44: read \"old\" of models[0].api_key_file: no such file; a relative path is looked up in the folder secrets beside the configuration file"},
	} {
		write(t, path, string(fileConfig(c.key, c.token)), 0o600)
		p, err := ReadBundle(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Parse(env)
		switch {
		case c.want != "" && (err == nil || err.Error() != c.want):
			t.Errorf("%s: got %v, want %s", c.key, err, c.want)
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.key, err)
		case c.want == "" && (got.Models[0].APIKey.Reveal() != "the-new-key" || got.Endpoints[0].Settings.(*Telegram).Token.Reveal() != "1:new" || got.IsCopy(env)):
			t.Errorf("%s: got other secrets", c.key)
		}
	}
	if _, err := ReadBundle(filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there was passed")
	}
	if _, err := (Bundle{File: path, Text: fileConfig("key", "token")}).Parse(env); err == nil {
		t.Error("secrets that were not passed were found")
	}
	own, err := Parse(filepath.Join(creds, "config.yaml"), fileConfig("old", filepath.Join(dir, "secrets", "token")), env)
	if err != nil || !own.IsCopy(env) {
		t.Errorf("a credential is no copy: %v", err)
	}
}
