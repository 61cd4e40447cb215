package markup

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// extra is a test dialect. The dialect extra shows the text, followed by those formats whose style has a name in the
// field styles.
type extra struct {
	Plain
	styles map[Style]string
}

func (extra) Shape() Shape {
	s := Plain{}.Shape()
	s.Extras = Tables | CellStyles | Tasks | Formulas | Details
	return s
}

func (e extra) Render(p Piece) Rendered {
	out := []string{p.Text}
	for _, f := range p.Formats {
		if name := e.styles[f.Style]; name != "" {
			out = append(out, fmt.Sprintf("%s%d:%s", name, f.Level, p.Text[f.Start:f.End]))
		}
	}
	return Rendered{Text: strings.Join(out, "|")}
}

// written lays out a source as one part, and returns it as the dialect shows it.
func (e extra) written(src string, open bool) string {
	var out strings.Builder
	for _, p := range Layout(src, Options{Dialect: e, Limit: 1 << 20, Open: open}) {
		out.WriteString(p.Rendered.Text)
	}
	return out.String()
}

var formulas = extra{styles: map[Style]string{Formula: "F", Italic: "I", Code: "C"}}

func TestFormulas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, want string }{
		{"one letter", "let $x$ be", "let $x$ be|F0:$x$"},
		{"marks of Markdown", `$a*b*c$ and \(a_1 _b_\)`, `$a*b*c$ and \(a_1 _b_\)|F0:$a*b*c$|F0:\(a_1 _b_\)`},
		{"backslashes", `$\{x\} \\ y$`, `$\{x\} \\ y$|F0:$\{x\} \\ y$`},
		{"words in a command", `$3 \text{ if } x$, ($y$).`, `$3 \text{ if } x$, ($y$).|F0:$3 \text{ if } x$|F0:$y$`},
		{"a number", "$5$ or $2x + 3y$", "$5$ or $2x + 3y$|F0:$5$|F0:$2x + 3y$"},
		{"in a line", `so $$x = 1$$ and \[ y \] hold`, `so $$x = 1$$ and \[ y \] hold|F0:$$x = 1$$|F0:\[ y \]`},
		{"on its own line", "so\n$$x = 1$$\nholds", "so\n$$x = 1$$\nholds|F1:$$x = 1$$"},
		{"on lines of its own", "so\n\n\\[\n  a &= b \\\\\n  - c\n\\]\n\nholds", "so\n\n\\[\na &= b \\\\\n- c\n\\]\n\nholds|F1:\\[\na &= b \\\\\n- c\n\\]"},
		{"in an item", "- so\n  $$\n  x\n  $$\n- b", "• so\n  $$\n  x\n  $$\n• b|F1:$$\n  x\n  $$"},
		{"in a quote", "> $$\n> x\n> $$\n> b", "$$\nx\n$$\nb|F1:$$\nx\n$$"},
		{"a display that goes on", "$$x$$ holds", "$$x$$ holds|F0:$$x$$"},
		{"in emphasis", "*so $x$*", "so $x$|I0:so $x$|F0:$x$"},
		{"prices", "from $5 to $10, or $100-$200", "from $5 to $10, or $100-$200"},
		{"a price on each side", "was $5 (now 7$), 5$ to 7$", "was $5 (now 7$), 5$ to 7$"},
		{"amounts", "US$5 and A$AP", "US$5 and A$AP"},
		{"names", "$HOME and $PATH, $HOME/$PATH", "$HOME and $PATH, $HOME/$PATH"},
		{"signs of prices", "Luigi: $$, Mario: $$, others: $$$", "Luigi: $$, Mario: $$, others: $$$"},
		{"escaped", `\$x$ and \$5`, "$x$ and $5"},
		{"escaped brackets", `\[1\] \[citation needed\] \(see below\)`, "[1] [citation needed] (see below)"},
		{"code", "`$x$` and $5 `a$`", "$x$ and $5 a$|C0:$x$|C0:a$"},
		{"a block of code", "```\n$$\nx\n$$\n```", "$$\nx\n$$"},
		{"no end", "$x and\n\n$$\nx\n\ny", "$x and\n\n$$\nx\n\ny"},
		{"two lines", "$x\ny$", "$x\ny$"},
	} {
		if got := formulas.written(tt.src, false); got != tt.want {
			t.Errorf("%s: got\n%q, want\n%q", tt.name, got, tt.want)
		}
	}
}

// A preview must not show a formula whose end has not arrived yet. If a text looks like the beginning of a formula, the
// preview must show it as soon as it can't become a formula any more.
func TestGrowingFormulas(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"let $":                            "let",
		`let $\fra`:                        "let",
		"let $x + ":                        "let",
		"let $x$":                          "let $x$|F0:$x$",
		`let \(`:                           "let",
		`so \[ x`:                          "so",
		"it costs $5 and":                  "it costs $5 and",
		"$HOME is where":                   "$HOME is where",
		"so\n\n$$\nx = \n":                 "so",
		"so\n\n\\[\na\n- b":                "so",
		"$$\nx\n$$\nmore":                  "$$\nx\n$$\nmore|F1:$$\nx\n$$",
		"- so\n  $$\n  x":                  "• so",
		"> $$\n> x":                        "",
		"```\n$$\nx":                       "$$\nx",
		"so\n$$\nx\n\ny":                   "so\n$$\nx\n\ny",
		"$$ in words this is\nnot a thing": "$$ in words this is\nnot a thing",
	} {
		if got := formulas.written(src, true); got != want {
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
	}
	long := `\[ ` + strings.Repeat("x + ", 500)
	if got := formulas.written(long, true); len(got) < 1000 {
		t.Errorf("an endless formula is held back: %q", got)
	}
}

// Laying out many incomplete formulas must take no longer than laying out other text.
func TestEndlessFormulas(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"\\[\n", "$$ a\n", "\\(", "$a ", "$a$b", "<details>\n", "<summary>"} {
		began := time.Now()
		formulas.written(strings.Repeat(piece, 10000/len(piece)), true)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%q: took %s", piece, took)
		} else {
			t.Logf("%q: took %s", piece, took)
		}
	}
}

// If a formula fits into a part, the layout must not cut the text within the formula.
func TestFormulasAreNotCut(t *testing.T) {
	t.Parallel()
	src := strings.Repeat(`words $a + b$ and \(c + d\) `, 20) + "\n\n$$\n" + strings.Repeat("x +\n", 10) + "y\n$$\n"
	for limit := 60; limit < 120; limit++ {
		for _, p := range Layout(src, Options{Dialect: shapedLike{formulas}, Limit: limit}) {
			text := p.Rendered.Text
			if strings.Count(text, "$")%2 != 0 || strings.Count(text, `\(`) != strings.Count(text, `\)`) || strings.Count(text, "$$") == 1 {
				t.Fatalf("limit %d: a part is %q", limit, text)
			}
		}
	}
}

// shapedLike is a dialect that shows the text without formats, with the Shape of another dialect.
type shapedLike struct{ shaped Dialect }

func (p shapedLike) Shape() Shape            { return p.shaped.Shape() }
func (p shapedLike) Render(x Piece) Rendered { return Plain{}.Render(x) }
func (p shapedLike) Len(r Rendered) int      { return Plain{}.Len(r) }

var details = extra{styles: map[Style]string{Detail: "D", Summary: "S", Bold: "B", Quote: "Q", Pre: "P"}}

func TestDetails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, want string }{
		{
			"a section", "a\n\n<details>\n<summary>Why</summary>\n\nbecause **x**\n\n- b\n\n</details>\n\nend",
			"a\n\nWhy\n\nbecause x\n\n• b\n\nend|D0:Why\n\nbecause x\n\n• b|S0:Why|B0:x",
		},
		{"one line", "<details><summary>Why</summary>because</details>\nx", "Why\nbecause\nx|D0:Why\nbecause|S0:Why"},
		{"tags in the summary", "<details open>\n<summary><b>A</b> &amp; `c`</summary>\n\nb\n</details>", "A & `c`\n\nb|D1:A & `c`\n\nb|S0:A & `c`"},
		{"no end", "<details>\n<summary>Why</summary>\n\nb\n\nc", "Why\n\nb\n\nc|D1:Why\n\nb\n\nc|S0:Why"},
		{"the end behind text", "<details>\n<summary>Why</summary>\n\nb</details>\n\nc", "Why\n\nb\n\nc|D0:Why\n\nb|S0:Why"},
		{"the end in an item", "<details>\n<summary>Why</summary>\n\n- b\n  </details>\n\nc", "Why\n\n• b\n\nc|D0:Why\n\n• b|S0:Why"},
		{
			"in each other", "<details>\n<summary>1</summary>\n\n<details>\n<summary>2</summary>\n\na\n\n</details>\n\nb\n\n</details>\n\nc",
			"1\n\n2\n\na\n\nb\n\nc|D0:1\n\n2\n\na\n\nb|S0:1|D0:2\n\na|S0:2",
		},
		{"in a quote", "> <details>\n> <summary>1</summary>\n>\n> a\n\nb", "1\n\na\n\nb|Q0:1\n\na|D1:1\n\na|S0:1"},
		{"no summary", "<details>\n\nb\n\n</details>", "b|D0:b"},
		{"a summary without its end", "<details>\n<summary>1\n\nb\n\n</details>", "1\n\nb|D0:1\n\nb|S0:1"},
		{"a summary alone", "<summary>1</summary>", "<summary>1</summary>"},
		{"other tags", "<div>\n  a\n</div>", "<div>\n  a\n</div>"},
		{"code", "```\n<details>\n```", "<details>|P0:<details>"},
		{"an end alone", "a\n\n</details>\n\nb", "a\n\nb"},
		{"an end of none in a quote", "> </details>\n\n<details>\n<summary>1</summary>\n\n- a\n\nb", "1\n\n• a\n\nb|D1:1\n\n• a\n\nb|S0:1"},
	} {
		if got := details.written(tt.src, false); got != tt.want {
			t.Errorf("%s: got\n%q, want\n%q", tt.name, got, tt.want)
		}
	}
}

// While a text grows, no preview may show an incomplete tag, and the visible text may only get longer.
func TestGrowingDetails(t *testing.T) {
	t.Parallel()
	src := "a\n\n<details>\n<summary>Why <b>not</b></summary>\n\nbecause **x**\n\n</details>\n\nend"
	before := ""
	for i := range len(src) {
		var got string
		for _, p := range Layout(src[:i], Options{Dialect: shapedLike{details}, Limit: 1 << 20, Open: true}) {
			got = p.Rendered.Text
		}
		if strings.ContainsAny(got, "<>") || !strings.HasPrefix(got, before) {
			t.Errorf("%q: shown is %q after %q", src[:i], got, before)
		}
		before = got
	}
	if before != "a\n\nWhy not\n\nbecause x\n\nen" {
		t.Errorf("shown is %q", before)
	}
}

// A dialect whose Shape has the extra CellStyles must get the styles of text within cells.
func TestCellStyles(t *testing.T) {
	t.Parallel()
	cells := extra{styles: map[Style]string{Row: "R", Cell: "C", Bold: "B", Code: "K", Link: "L", Formula: "F"}}
	src := "| **n** | [a  b](https://e.org) |\n|---|--:|\n| `x` | **a**<br> b $y$ |"
	want := "n      a b\n-  -------\nx  a b $y$|R1:n      a b|C1:n|B0:n|C2:a b|L0:a b|R0:x  a b $y$|C1:x|K0:x|C2:a b $y$|B0:a|F0:$y$"
	if got := cells.written(src, false); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
