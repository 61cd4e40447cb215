package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"telex/platforms/terminal"
)

// The client must send an attached file with the next message and with no later message. If a file can't be attached,
// the typed command must stay in the input line.
func TestAttach(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, pipe := filepath.Join(dir, "my notes.txt"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(name, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.Truncate(large, 0); !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, make([]byte, terminal.MaxFiles-2), 0o600); err != nil {
		t.Fatal(err)
	}
	hub := &deaf{}
	m := newModel(hub, terminal.Welcome{Files: true, Commands: []string{"help"}}, Options{})
	m.width = 80
	types := func(line string) string {
		m.notice = ""
		m.editor.set(line)
		m.submit()
		return m.notice
	}
	for line, want := range map[string]string{
		"/attach":                             "usage: /attach PATH",
		"/attach " + dir:                      "not a regular file",
		"/attach " + pipe:                     "not a regular file",
		"/attach " + filepath.Join(dir, "no"): "no such file",
	} {
		if got := types(line); !strings.Contains(got, want) || m.editor.text != line {
			t.Errorf("%s: got %q, the line is %q", line, got, m.editor.text)
		}
	}
	if got := types("/attach '" + name + "'"); got != "" || m.editor.text != "" {
		t.Errorf("got %q, the line is %q", got, m.editor.text)
	}
	if got := types("/attach " + large); !strings.Contains(got, "may have 12 MB together") {
		t.Errorf("got %q", got)
	}
	types("look")
	types("again")
	types("/help")
	if got, want := fmt.Sprintf("%q", hub.heard), `["1 look +my notes.txt:hello" "2 again" "3 /help"]`; got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
	var lines []string
	for _, e := range m.entries {
		lines = append(lines, e.text)
	}
	for _, want := range []string{"Attached my notes.txt (5 bytes). It goes with your next message.", attachHelp} {
		if !strings.Contains(strings.Join(lines, "\n"), want) {
			t.Errorf("the screen lacks %q:\n%s", want, strings.Join(lines, "\n"))
		}
	}
	if got := offers(terminal.Welcome{Files: true, Commands: []string{"help"}}); fmt.Sprint(got) != "[help attach]" {
		t.Errorf("offers %v", got)
	}
	old := newModel(hub, terminal.Welcome{}, Options{})
	old.editor.set("/attach " + name)
	if old.submit(); !strings.Contains(old.notice, "restart") || len(old.files) > 0 {
		t.Errorf("an old daemon: %q", old.notice)
	}
}
