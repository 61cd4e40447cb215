package gateway

import "testing"

// Each name in the table must belong to only one command, and each command must have a help text. Only a command whose
// arguments are a question may lack a function to run.
func TestTableOfCommands(t *testing.T) {
	texts, seen := DefaultTexts(), make(map[string]bool)
	for _, c := range commands() {
		for _, name := range []string{c.name, c.alias} {
			if name != "" && seen[name] {
				t.Errorf("/%s is two commands", name)
			}
			seen[name] = true
		}
		if c.help == "" || texts[c.textKey()] != c.help {
			t.Errorf("/%s says %q of itself", c.name, texts[c.textKey()])
		}
		if c.asks() != (c.name == cmdAsk) {
			t.Errorf("/%s has something to run: %t", c.name, !c.asks())
		}
	}
	if len(CommandNames(true)) != len(CommandNames(false))+1 {
		t.Error("/memory is not the one command that depends on a memory")
	}
}
