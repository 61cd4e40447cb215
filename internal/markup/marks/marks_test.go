package marks

import (
	"strings"
	"testing"
	"unicode/utf8"

	"telex/internal/markup"
)

// toy is the grammar of a small invented platform. The toy grammar escapes delimiters with backslashes, and turns words
// that begin with "https:" into links.
type toy struct {
	rules Rules
}

func (g toy) Rules() Rules { return g.rules }

func (g toy) Escape(out []byte, at Place) []byte {
	c := at.Text[at.At]
	switch {
	case strings.IndexByte("*_~`[]\\", c) >= 0, c == '#' && at.Start(), c == '.' && at.Ordinal():
		return append(out, '\\', c)
	}
	return append(out, at.Rest()[:at.Size]...)
}

func (g toy) Code(out []byte, _ string, _ int, r rune) []byte { return utf8.AppendRune(out, r) }

func (g toy) Address(out []byte, text string, i, end int, _ bool) ([]byte, int) {
	n := strings.IndexAny(text[i:end]+" ", " \n")
	if !strings.HasPrefix(text[i:end], "https:") {
		return out, 0
	}
	return append(out, "<"+text[i:i+n]+">"...), n
}

func (g toy) Link(_ string, f markup.Format, _ bool) string { return Destination(f.URL, "https") }

func (g toy) Label(text string, i int, first bool) bool {
	return text[i] != ']' && (!first || text[i] != '^')
}

func (g toy) Fragile(s string) bool { return strings.Contains(s, "*") }

// dialect is a dialect that writes text with a grammar.
type dialect struct {
	markup.Plain
	g Grammar
}

func (d dialect) Render(p markup.Piece) markup.Rendered { return markup.Rendered{Text: Write(d.g, p)} }

func (d dialect) Len(r markup.Rendered) int { return markup.Units(r.Text) }

const j = Joiner

func TestWrite(t *testing.T) {
	t.Parallel()
	common, other := Rules{Headings: 6, CommonMark: true}, Rules{Headings: 2}
	for _, tt := range []struct {
		name, src    string
		common, want string // expected text on a platform that follows CommonMark, and on a platform that does not
	}{
		{"plain", "one *two* **three** ~~four~~", "one *two* **three** ~~four~~", "one *two* **three** ~~four~~"},
		{"literal marks", `2 \* 3 \_a\_ \~ 1`, `2 \* 3 \_a\_ \~ 1`, `2 \* 3 \_a\_ \~ 1`},
		{"both", "***a***", "***a***", "***a***"},
		{"one within the other", "**a *b* c**", "**a *b* c**", "**a *b* c**"},
		{"in a word", "a**b**c", "a**b**c", "a**b**c"},
		{"a mark before punctuation", "a **b)** c", "a **b)** c", "a **b)** c"},
		{"behind a literal star", `\***a**`, `\***a**`, `\*` + j + `**a**`},
		{"two that touch", "**a**_b_", "**a**" + j + "*b*", "**a**" + j + "*b*"},
		{"code", "`a` and ``b`c``", "``a`` and ``b`c``", "``a`` and ``b`c``"},
		{"code with spaces and ticks at its edges", "`` `a` ``", "``" + j + "`a`" + j + "``", "``" + j + "`a`" + j + "``"},
		{"code in bold", "**a `b` c**", "**a `b` c**", "**a `b` c**"},
		{"fragile code in bold", "**a `*` c**", "**a** `*` **c**", "**a** `*` **c**"},
		{"a block", "```go\na\n\nb ``` c\n```", "```go\na\n\nb ``" + j + "` c\n```", "```go\na\n\nb ``" + j + "` c\n```"},
		{"a quote", "> a\n> b\n\nc", "> a  \n> b\n\nc", "> a\n> b\n\nc"},
		{"a block in a quote", "> ```\n> a\n> ```", "> ```\n> a\n> ```", "> ```\n> a\n> ```"},
		{"headings", "# a\n\n### b", "# a\n\n### b", "# a\n\n**b**"},
		{"a heading in italics", "# *a*", "# *a*", "# *a*"},
		{"lines", "a\\\nb", "a  \nb", "a\nb"},
		{"a list", "- a\n  - b", "• a  \n\u00a0\u00a0◦ b", "• a\n  ◦ b"},
		{"an ordinal", `1\. a`, `1\. a`, `1\. a`},
		{"a link", "[a *b*](https://e.org/(x))", "[a *b*](https://e.org/%28x%29)", "[a *b*](https://e.org/%28x%29)"},
		{"a link to nowhere", "[a](tg://user?id=1)", "a", "a"},
		{"a label with a bracket", `[a\]b](https://e.org)`, `[a](https://e.org)\]b`, `[a](https://e.org)\]b`},
		{"behind an exclamation mark", `\![a](https://e.org)`, "!" + j + "[a](https://e.org)", "!" + j + "[a](https://e.org)"},
		{"an address", "see https://e.org/a_b now", "see <https://e.org/a_b> now", "see <https://e.org/a_b> now"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []struct {
				rules Rules
				want  string
			}{{common, tt.common}, {other, tt.want}} {
				laid := markup.Layout(tt.src, markup.Options{Dialect: dialect{g: toy{r.rules}}, Limit: 4000})
				if len(laid) != 1 || laid[0].Rendered.Text != r.want {
					t.Errorf("CommonMark %t: got %q, want %q", r.rules.CommonMark, laid[0].Rendered.Text, r.want)
				}
			}
		})
	}
}

// If text that arrives later may continue a format, Write must not write the format's closing delimiter.
func TestWriteOpen(t *testing.T) {
	t.Parallel()
	for _, style := range []markup.Style{markup.Bold, markup.Italic, markup.Strike, markup.Code, markup.Pre} {
		piece := func(open bool) markup.Piece {
			return markup.Piece{Text: "some words", Formats: []markup.Format{{Style: style, Start: 5, End: 10, Open: open}}}
		}
		g := toy{Rules{CommonMark: true}}
		if open, whole := Write(g, piece(true)), Write(g, piece(false)); !strings.HasPrefix(whole, open) || whole == open {
			t.Errorf("style %d: open %q, whole %q", style, open, whole)
		}
	}
}

func TestDestination(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://e.org/a?b=c&d#e":    "https://e.org/a?b=c&d#e",
		"https://e.org/a b)":         "https://e.org/a%20b%29",
		"https://e.org/&amp;x":       "https://e.org/&amp%3Bx",
		"HTTPS://e.org":              "HTTPS://e.org",
		"mailto:a@e.org":             "mailto:a@e.org",
		"http://e.org":               "",
		"https://user:secret@e.org/": "",
		"https:///path":              "",
		"javascript:alert(1)":        "",
		"https://e.org/\u202eexe":    "https://e.org/%E2%80%AEexe",
		"https://e.org]/":            "",
		"\x00":                       "",
	} {
		if got := Destination(address, "https", "mailto"); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}
