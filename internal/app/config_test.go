package app_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"telex/gateway"
	"telex/internal/app"
	"telex/internal/config"
)

const goodConfig = "models: [{name: main, api_key: k, model: m}]\nplatforms: {telegram: {token: \"1:a\"}}\n"

func TestLoadConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.yaml", goodConfig+"texts: {stopped: Halt.}\n")
	bad := write("bad.yaml", goodConfig+"texts: {stoped: Halt.}\n")
	named := func(name string) (string, bool) { return bad, name == "TELEX_CONFIG" }

	c, err := app.LoadConfig(good, named)
	if err != nil || c.File() != good || c.Texts["stopped"] != "Halt." {
		t.Errorf("the flag is stronger than the environment: got %v, %v", c, err)
	}
	_, err = app.LoadConfig("", named)
	if wrong, ok := errors.AsType[config.Errors](err); !ok || !strings.Contains(err.Error(), `bad.yaml:3:9: unknown key "stoped" in texts; did you mean "stopped"?`) {
		t.Errorf("error %v (%d problems), want the key that is no fixed line", err, len(wrong))
	}
	if _, err = app.LoadConfig(filepath.Join(dir, "missing.yaml"), nothing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
}

// The example configuration must contain the name of each fixed text that an operator can replace.
func TestExampleNamesEveryText(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../config.yaml.example")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(data), "# The fixed lines that people see")
	part, _, _ = strings.Cut(part, "\ntexts:")
	_, part, _ = strings.Cut(part, "finds the log line.")
	part = regexp.MustCompile(`\{[a-z_]+\}`).ReplaceAllString(part, "")
	listed := regexp.MustCompile(`\b[a-z_]+\b`).FindAllString(part, -1)
	for _, key := range gateway.TextKeys() {
		if !slices.Contains(listed, key) {
			t.Errorf("config.yaml.example does not name the text %s", key)
		}
	}
}
