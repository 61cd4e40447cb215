package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// tool formats a Tool event.
func tool(e Tool) string {
	state := map[ToolState]string{
		ToolIdentified: "identified", ToolExecuting: "executing", ToolCompleted: "completed", ToolFailed: "failed", ToolInterrupted: "interrupted",
	}[e.State]
	return fmt.Sprintf("%s:%s:%q", e.ID, state, e.Display)
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	type set struct {
		id, display string
		state       ToolState
	}
	for _, tt := range []struct {
		name string
		sets []set
		want string
	}{
		{
			"a whole life",
			[]set{{"a", "", ToolIdentified}, {"a", "Reading", ToolExecuting}, {"a", "", ToolCompleted}},
			`a:identified:"time" a:executing:"Reading" a:completed:"Reading"`,
		},
		{
			"the display gets better",
			[]set{{"a", "", ToolIdentified}, {"a", "R", ToolIdentified}, {"a", "R", ToolIdentified}, {"a", "Re", ToolIdentified}},
			`a:identified:"time" a:identified:"R" a:identified:"Re"`,
		},
		{"no id", []set{{"", "x", ToolIdentified}, {"", "", ToolCompleted}}, ""},
		{"no new display", []set{{"a", "x", ToolIdentified}, {"a", "", ToolIdentified}, {"a", "", ToolExecuting}}, `a:identified:"x" a:executing:"x"`},
		{
			"nothing after the end",
			[]set{{"a", "", ToolExecuting}, {"a", "", ToolFailed}, {"a", "late", ToolExecuting}, {"a", "late", ToolCompleted}},
			`a:executing:"time" a:failed:"time"`,
		},
		{"one end", []set{{"a", "", ToolCompleted}, {"a", "", ToolFailed}, {"a", "", ToolInterrupted}}, `a:completed:"time"`},
		{"never back", []set{{"a", "", ToolExecuting}, {"a", "better", ToolIdentified}}, `a:executing:"time"`},
		{
			"waiting is no end",
			[]set{{"a", "", ToolIdentified}, {"a", "", ToolInterrupted}, {"a", "", ToolExecuting}, {"a", "", ToolCompleted}},
			`a:identified:"time" a:interrupted:"time" a:executing:"time" a:completed:"time"`,
		},
		{"two", []set{{"a", "", ToolExecuting}, {"b", "", ToolExecuting}, {"a", "", ToolCompleted}}, `a:executing:"time" b:executing:"time" a:completed:"time"`},
		{"one line", []set{{"a", " two\nlines\t\x00x ", ToolIdentified}}, `a:identified:"two lines x"`},
	} {
		var got []string
		s := statuses{emit: func(e Event) { got = append(got, tool(e.(Tool))) }}
		for _, c := range tt.sets {
			s.set(c.id, "time", c.display, c.state)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, strings.Join(got, " "), tt.want)
		}
		got = nil
		s.failUnfinished()
		s.failUnfinished()
		open := strings.Count(strings.Join(got, " "), ":failed:")
		for _, c := range s.calls {
			if !isFinal(c.State) {
				t.Errorf("%s: %+v was not ended", tt.name, c)
			}
		}
		if open != len(got) {
			t.Errorf("%s: abandoned as %v", tt.name, got)
		}
	}
	if got := OneLine(Clip(strings.Repeat("é", 500), maxDisplay)); len(got) > maxDisplay+len("…") {
		t.Errorf("a display of %d bytes", len(got))
	}
}

func TestPanicInShow(t *testing.T) {
	t.Parallel()
	d := ToolDef{Show: func(string) string { panic("no") }}
	if got := d.display("{}"); got != "" {
		t.Errorf("got %q", got)
	}
}

// OneLine replaces invisible characters and line ends in a status line. If the name of a tool arrives in pieces, the status is
// updated to the whole name.
func TestStatusOfAnyText(t *testing.T) {
	t.Parallel()
	if got := OneLine("a\u202eb\x1b[2Jc\nd\u2028e"); got != "a b [2Jc d e" {
		t.Errorf("got %q", got)
	}
	var got []string
	name := ""
	s := statuses{emit: func(e Event) {
		got = append(got, show(e))
		if e, ok := e.(Tool); ok {
			name = e.Name
		}
	}}
	s.set("a", "edit", "", ToolIdentified)
	s.set("a", "edit_file", "", ToolIdentified)
	s.set("a", "edit_file", "Editing x", ToolIdentified)
	s.set("a", "edit_file", "", ToolExecuting)
	if want := `a:identified:"edit" a:identified:"edit_file" a:identified:"Editing x" a:executing:"Editing x"`; strings.Join(got, " ") != want || name != "edit_file" {
		t.Errorf("got %s of %s", strings.Join(got, " "), name)
	}
}

// While the model writes the arguments of a call, the description of the call becomes more exact. Progress reports of the
// running call change the description again.
func TestDisplayIsRefined(t *testing.T) {
	t.Parallel()
	tools := toolbox{{
		Name: "read", ReadOnly: true,
		Show: func(arguments string) string {
			if _, page, ok := strings.Cut(arguments, `"page":"`); ok && page != "" {
				return "Reading " + strings.Trim(page, `"}`)
			}
			return ""
		},
		Call: func(_ context.Context, in Input) (Output, error) {
			in.Progress("Reading page 2")
			return Output{Text: "read"}, nil
		},
	}}
	a := called("", `read {"page":"example.org"}`)
	a.deltas = nil
	for _, arguments := range []string{"", `{"pa`, `{"page":"`, `{"page":"exam`, `{"page":"example.org"`, `{"page":"example.org"}`} {
		a.deltas = append(a.deltas, Delta{Call: &CallDelta{ID: "a", Name: "read", Arguments: arguments}})
	}
	got := runTurn(t, t.Context(), Options{Tools: tools}, streamed, a, answer{deltas: texts("Done.")})
	got.check(t, StopDone, "Done.", strings.Join([]string{
		`a:identified:"read"`, `a:identified:"Reading exam"`, `a:identified:"Reading example.org"`, `a:executing:"Reading example.org"`,
		`a:executing:"Reading page 2"`, `a:completed:"Reading page 2"`, `text:"Done."`,
	}, " "))
}
