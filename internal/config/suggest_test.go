package config

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	keys := []string{"enabled", "edit_interval", "min_tokens", "cursor", "transport", "cli", "log"}
	for written, want := range map[string]string{
		"edit_intervall": "edit_interval", "edit-interval": "edit_interval", "EditInterval": "edit_interval",
		"enbaled": "enabled", "curser": "cursor", "cil": "cli", "Log": "log", "foo": "", "": "", "token": "",
		"transprot": "transport", "mintokens": "min_tokens",
	} {
		if got := nearest(written, keys); got != want {
			t.Errorf("nearest(%q) = %q, want %q", written, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"ca", "abc", 3}, {"é", "e", 1},
	}
	for _, tt := range tests {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("abcé")), 0, 8, -1)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) {
			t.Fatalf("distance(%q, %q) = %d, and %d the other way", a, b, d, distance(b, a))
		}
		if (d == 0) != (a == b) || d > max(len([]rune(a)), len([]rune(b))) {
			t.Fatalf("distance(%q, %q) = %d", a, b, d)
		}
	})
}
