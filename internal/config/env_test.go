package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.yaml"), filepath.Join(dir, "second.yaml")
	write(t, second, "", 0o600)
	named := testEnv(map[string]string{envConfig: "named.yaml"})
	tests := []struct {
		name, explicit string
		env            Env
		usual          []string
		want           string
	}{
		{"explicit", "flag.yaml", named, []string{second}, "flag.yaml"},
		{"environment", "", named, []string{second}, "named.yaml"},
		{"empty environment", "", testEnv(map[string]string{envConfig: ""}), []string{first, second}, second},
		{"first that exists", "", nil, []string{first, second}, second},
		{"order", "", nil, []string{second, first}, second},
		{"not to be looked at", "", nil, []string{filepath.Join(second, "below"), second}, filepath.Join(second, "below")},
	}
	for _, tt := range tests {
		got, err := find(tt.explicit, tt.env, tt.usual...)
		if err != nil || got != tt.want {
			t.Errorf("%s: find = %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	_, err := find("", nil, first, "/x/config.yaml")
	if !errors.Is(err, ErrNotFound) {
		t.Fatalf("find = %v, want ErrNotFound", err)
	}
	want := "no configuration file at " + first + " or /x/config.yaml; name one with --config or $TELEX_CONFIG"
	if err.Error() != want {
		t.Errorf("find = %q, want %q", err, want)
	}
}

func TestFindUsual(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "config.yaml", base, 0o600)
	if got, err := Find("", nil); err != nil || got != "config.yaml" {
		t.Errorf("Find = %q, %v, want config.yaml", got, err)
	}
	if c, err := Load("config.yaml", os.LookupEnv); err != nil || c.Models[0].Name != "main" {
		t.Errorf("Load = %v", err)
	}
}
