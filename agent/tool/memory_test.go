package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"telex/agent"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	notes := &notes{}
	tools, err := New(Options{Enabled: []string{Memory}, Facts: notes})
	if err != nil {
		t.Fatal(err)
	}
	remember, recall, forget := tools[0], tools[1], tools[2]
	as := func(person string, def agent.ToolDef, arguments string) string {
		out, err := def.Call(t.Context(), agent.Input{Arguments: arguments, Person: person})
		if err != nil {
			return "error: " + err.Error()
		}
		return out.Text
	}
	day := "(" + "20" // the beginning of a date
	for _, tt := range []struct {
		person    string
		def       agent.ToolDef
		arguments string
		want      string
	}{
		{"ada", recall, `{}`, "Nothing is remembered about this person."},
		{"ada", remember, `{"fact":" likes\ntides\u202e "}`, "Remembered, with the id 1."},
		{"ada", remember, `{"fact":"Likes tides"}`, "Remembered already, with the id 1."},
		{"ada", remember, `{"fact":"has a boat"}`, "Remembered, with the id 2."},
		{"bob", recall, `{}`, "Nothing is remembered about this person."},
		{"bob", forget, `{"fact":"likes tides"}`, "No fact with this text is remembered."},
		{"ada", recall, `{}`, "1: likes tides " + day},
		{"ada", recall, `{"about":"BOAT"}`, "2: has a boat " + day},
		{"ada", recall, `{"about":"plane"}`, "None of the 2 facts"},
		{"ada", forget, `{"fact":"tides"}`, "No fact with this text is remembered."},
		{"ada", forget, `{"fact":" Likes\ttides "}`, "Forgotten."},
		{"ada", forget, `{"fact":"likes tides"}`, "No fact with this text is remembered."},
		{"ada", recall, `{}`, "2: has a boat " + day},
		{"ada", remember, `{"fact":" \n"}`, "error: the fact is empty"},
		{"ada", remember, `{"fact":"` + strings.Repeat("x", MaxFact+1) + `"}`, "error: the fact has 501 bytes"},
		{"", remember, `{"fact":"x"}`, "error: no person to remember this for"},
		{"", recall, `{}`, "error: no person to remember this for"},
		{"", forget, `{"fact":"has a boat"}`, "error: no person to remember this for"},
	} {
		if got := as(tt.person, tt.def, tt.arguments); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s of %s with %s: %q, want %q", tt.def.Name, tt.person, tt.arguments, got, tt.want)
		}
	}
	for i := range MaxFacts - 1 {
		as("ada", remember, fmt.Sprintf(`{"fact":"number %d"}`, i))
	}
	if got := as("ada", remember, `{"fact":"one more"}`); got != "error: 100 facts are remembered, and that is the most; forget some first" {
		t.Errorf("%q", got)
	}
	if got := forget.Propose(`{"id":"1"}`); got != "" {
		t.Errorf("the proposal of a call that names no fact is %q", got)
	}
	if got := forget.Propose(`{"fact":"has a boat"}`); got != `Forget: "has a boat"` {
		t.Errorf("the proposal is %q", got)
	}
	if got := remember.Propose(`{"fact":"a \"quoted\"\nfact"}`); got != `Remember: "a \"quoted\" fact"` {
		t.Errorf("the proposal is %q", got)
	}
}

// TestMemoryNeedsApprovalAfterOutsideContent checks which calls need approval: remember and forget if the model has read a
// page, and recall in a group.
func TestMemoryNeedsApprovalAfterOutsideContent(t *testing.T) {
	t.Parallel()
	tools, err := New(Options{Enabled: Groups(), Facts: &notes{}, Home: HomeOptions{URL: "http://house.test", Token: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	typed := agent.CallContext{Person: "ada", Messages: []agent.Message{agent.Typed("ada", "remember that I like tides")}, Tools: tools}
	page := typed
	page.Messages = append([]agent.Message{{Role: agent.ToolRole, Text: "a page"}}, page.Messages...)
	group := typed
	group.Shared = true
	for _, tt := range []struct {
		name    string
		said    agent.CallContext
		changes bool
		recalls bool
	}{{"typed, with all built-in tools", typed, false, false}, {"a page", page, true, false}, {"a group", group, false, true}} {
		for _, def := range tools {
			want, ok := map[string]bool{"remember": tt.changes, "forget": tt.changes, "recall": tt.recalls}[def.Name]
			if !ok {
				continue
			}
			if got := def.Asks(agent.ToolCall{}, tt.said); got != want || def.Personal != (def.Name == "recall") {
				t.Errorf("%s, %s: asks %t, personal %t", def.Name, tt.name, got, def.Personal)
			}
		}
	}
}

// brokenFacts is a store whose methods all fail.
type brokenFacts struct{}

var errDisk = errors.New("the disk is full")

func (brokenFacts) Facts(context.Context, string) ([]Fact, error) { return nil, errDisk }
func (brokenFacts) Add(context.Context, string, string) (Remembered, error) {
	return Remembered{}, errDisk
}
func (brokenFacts) Remove(context.Context, string, string) (bool, error) { return false, errDisk }

func TestMemoryStoreErrors(t *testing.T) {
	t.Parallel()
	tools, err := New(Options{Enabled: []string{Memory}, Facts: brokenFacts{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range tools {
		if _, err := def.Call(t.Context(), agent.Input{Person: "ada", Arguments: map[string]string{
			"remember": `{"fact":"x"}`, "recall": `{}`, "forget": `{"fact":"x"}`,
		}[def.Name]}); !errors.Is(err, errDisk) {
			t.Errorf("%s: %v", def.Name, err)
		}
	}
}

func TestNotesAreSafe(t *testing.T) {
	t.Parallel()
	notes := &notes{}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				f, _ := notes.Add(t.Context(), "ada", fmt.Sprint("fact ", i))
				_, _ = notes.Facts(t.Context(), "ada")
				if there, _ := notes.Remove(t.Context(), "ada", f.ID); !there {
					t.Error("it is gone already")
				}
			}
		})
	}
	all.Wait()
	if left, _ := notes.Facts(t.Context(), "ada"); len(left) > 0 {
		t.Errorf("%d are left", len(left))
	}
}
