package scan

import "testing"

func TestScanner(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		read     func(*Scanner) bool
		ok       bool
	}{
		{"object", ` { "a" : 1 , "b":"x" } `, func(s *Scanner) bool { return s.Object(func([]byte) bool { return s.Scalar() }) }, true},
		{"empty object", `{}`, func(s *Scanner) bool { return s.Object(func([]byte) bool { return false }) }, true},
		{"object without end", `{"a":1`, func(s *Scanner) bool { return s.Object(func([]byte) bool { return s.Scalar() }) }, false},
		{"object with a comma too much", `{"a":1,}`, func(s *Scanner) bool { return s.Object(func([]byte) bool { return s.Scalar() }) }, false},
		{"null", ` null`, (*Scanner).Null, true},
		{"no null", `nul`, (*Scanner).Null, false},
		{"number", ` 120`, (*Scanner).Number, true},
		{"number that begins with 0", `012`, (*Scanner).Number, false},
		{"negative", `-1`, (*Scanner).Number, false},
		{"string with an escape", `"a\n"`, (*Scanner).Scalar, false},
		{"string without end", `"a\\"`, (*Scanner).Scalar, false},
		{"string with a control character", "\"a\n\"", (*Scanner).Scalar, false},
	} {
		s := New([]byte(tt.in))
		if got := tt.read(s) && s.End(); got != tt.ok {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.ok)
		}
	}
	for quoted, want := range map[string]string{"": "", `"a"`: "a", `"\u00e4\n"`: "ä\n"} {
		if got, ok := Unquote([]byte(quoted)); !ok || got != want {
			t.Errorf("%s: got %q, %v", quoted, got, ok)
		}
	}
}
