package discord_test

import (
	"strings"
	"testing"

	"telex/internal/chat"
	"telex/platforms/conformance"
	standin "telex/standin/discord"
)

// When the list of commands changes, unchanged commands must keep their ids, and commands that are no longer offered
// must be deleted.
func TestCommandsThatStay(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		set := func(list ...chat.CommandSpec) map[string]standin.Command {
			t.Helper()
			if err := bot.SetCommands(t.Context(), list, nil); err != nil {
				t.Fatal(err)
			}
			now := map[string]standin.Command{}
			for _, c := range w.server.Commands("") {
				now[c.Name] = c
			}
			return now
		}
		before := set(commands()...)
		changed := commands()
		changed[1].Description, changed[2].Name = "Choose another model", "fresh"
		after := set(changed...)
		if len(after) != 4 || after["Ask about this"].ID != before["Ask about this"].ID || after["ask"].ID != before["ask"].ID || after["model"].ID != before["model"].ID || after["new"].ID != "" {
			t.Errorf("the commands were %+v and are %+v", before, after)
		}
		if o := after["ask"].Options; len(o) != 1 || o[0].Name != "question" || !o[0].Required || o[0].Type != 3 {
			t.Errorf("/ask takes %+v, want a question, which there must be", o)
		}
		if o := after["model"].Options; len(o) != 1 || o[0].Name != "name" || o[0].Required {
			t.Errorf("/model takes %+v, want a name, which may be left out", o)
		}
		if got := after["model"].Description; got != "Choose another model" {
			t.Errorf("the description is %q", got)
		}
		long := commands()[2:]
		long[0].Description = strings.Repeat("ü", 150)
		if got := set(long...)["new"].Description; got != strings.Repeat("ü", 99)+"…" {
			t.Errorf("the description is %q", got)
		}
		if n := w.MenuChanges(); n != 3 {
			t.Errorf("%d changes, want three", n)
		}
		if set(long...); w.MenuChanges() != 3 {
			t.Errorf("%d changes, want no more", w.MenuChanges())
		}
	})
}

func TestCommandsThatCanNotBe(t *testing.T) {
	inBubble(t, standin.Options{}, func(t *testing.T, w *world) {
		bot := w.bot(discarded(), conformance.Proper)
		many := make([]chat.CommandSpec, 101)
		for i := range many {
			many[i] = chat.CommandSpec{Name: "x" + strings.Repeat("y", i%20), Description: "x"}
		}
		for _, list := range [][]chat.CommandSpec{
			{{Name: "", Description: "x"}},
			{{Name: "New", Description: "x"}},
			{{Name: "a b", Description: "x"}},
			{{Name: strings.Repeat("x", 33), Description: "x"}},
			{{Name: "x", Description: " "}},
			{{Name: "x", Description: "x", Argument: "two words"}},
			{{Name: "ok", Description: "x"}, {Name: "/x", Description: "x", Admin: true}},
			many,
		} {
			if err := bot.SetCommands(t.Context(), list, nil); chat.AsSendError(err).Kind != chat.Rejected {
				t.Errorf("%+v: SetCommands = %v, want that it is rejected", list[0], err)
			}
		}
		if n := len(w.server.Calls()); n != 0 {
			t.Errorf("%d calls, want none", n)
		}
	})
}
