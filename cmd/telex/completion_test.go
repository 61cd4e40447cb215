package main

import (
	"strings"
	"testing"
)

// The shells' completion scripts call the program's hidden command __complete. If the output ends with ":0", the shell
// also completes file names. If the output ends with ":4", the shell completes no file names.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typed string // the shell completes the last word
		want  []string
	}{
		{"do", []string{"doctor\t", ":4"}},
		{"rep", []string{"replicas\t", ":4"}},
		{"store ", []string{"backup\t", "restore\t", "check\t"}},
		{"store backup ", []string{":0"}},
		{"store restore ", []string{":0"}},
		{"run ", []string{":4"}},
		{"run --config ", []string{":0"}},
		{"chat --attach ", []string{":0"}},
		{"setup --output ", []string{":0"}},
		{"setup --platform ", []string{"telegram\n", "discord\n", "slack\n", "whatsapp\n", "homeassistant\n", "api_server\n", ":4"}},
		{"usage --by ", []string{"day\n", "person\n", "conversation\n", "model\n", ":4"}},
	} {
		t.Run(c.typed, func(t *testing.T) {
			t.Parallel()
			p := launch{}.start(t, append([]string{"__complete"}, strings.Split(c.typed, " ")...)...)
			if code := p.exit(patience); code != exitDone {
				t.Errorf("exit %d, want %d", code, exitDone)
			}
			wantText(t, "stdout", p.stdout.String(), c.want...)
		})
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		p := launch{}.start(t, "completion", shell)
		if code := p.exit(patience); code != exitDone || !strings.Contains(p.stdout.String(), "__complete") {
			t.Errorf("completion %s: exit %d, stdout %q", shell, code, p.stdout)
		}
	}
}
