package markup

import (
	"fmt"
	"strings"
	"testing"
)

// structured is a dialect that shows the formats of the constructs in its Shape.Extras.
type structured struct{ Plain }

func (structured) Shape() Shape {
	s := Plain{}.Shape()
	s.Extras = Tables | Tasks
	return s
}

func (structured) Render(p Piece) Rendered {
	var out strings.Builder
	for _, f := range p.Formats {
		switch text := p.Text[f.Start:f.End]; f.Style {
		case Row:
			fmt.Fprintf(&out, "row %d\n", f.Level)
		case Cell:
			fmt.Fprintf(&out, "cell %d %s%q\n", f.Level, f.Align, text)
		case Task:
			fmt.Fprintf(&out, "task %d %q\n", f.Level, text)
		}
	}
	return Rendered{Text: out.String()}
}

func TestStructure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, want string }{
		{"table", "a\n\n| n | size | x |\n|---|--:|:-:|\n| **b** | 10 |\n| ü | | yes |", "" +
			"row 1\ncell 1 \"n\"\ncell 2 right\"size\"\ncell 3 center\"x\"\n" +
			"row 0\ncell 1 \"b\"\ncell 2 right\"10\"\n" +
			"row 0\ncell 1 \"ü\"\ncell 3 center\"yes\"\n"},
		{"table in a quote", "> | n |\n> |---|\n> | 1 |", "row 1\ncell 1 \"n\"\nrow 0\ncell 1 \"1\"\n"},
		{"tasks", "- [ ] a\n- [x] b\n  - [ ] c\n\n1. [x] d\n- e", "task 0 \"☐\"\ntask 1 \"☑\"\ntask 0 \"☐\"\ntask 1 \"☑\"\n"},
	} {
		parts := Layout(tt.src, Options{Dialect: structured{}, Limit: 1 << 20})
		if len(parts) != 1 || parts[0].Rendered.Text != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, parts[0].Rendered.Text, tt.want)
		}
	}
}
