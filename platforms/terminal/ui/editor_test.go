package ui

import "testing"

// The Tab key must complete the name of a command as far as the name is unambiguous. If several names are possible and
// the Tab key can't add a letter, the Tab key must list these names.
func TestComplete(t *testing.T) {
	t.Parallel()
	names := []string{"new", "stop", "status", "usage", "undo", "approve"}
	for _, c := range []struct{ typed, want, notice string }{
		{"/n", "/new ", ""},
		{"/s", "/st", ""},
		{"/st", "/st", "/stop /status"},
		{"/sta", "/status ", ""},
		{"/", "/", "/new /stop /status /usage /undo /approve"},
		{"/u", "/u", "/usage /undo"},
		{"/x", "/x", ""},
		{"/new", "/new ", ""},
		{"/model m", "/model m", ""},
		{"new", "new", ""},
		{"", "", ""},
	} {
		var e editor
		e.insert(c.typed)
		if notice := e.complete(names); e.text != c.want || e.at != len(e.text) || notice != c.notice {
			t.Errorf("%q: got %q, %q, want %q, %q", c.typed, e.text, notice, c.want, c.notice)
		}
	}
}
