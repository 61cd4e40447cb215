//go:build !race

package terminal

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"telex/internal/markup"
	"telex/internal/markup/markuptest"
)

func dialects() map[string]Dialect {
	return map[string]Dialect{
		"plain": {}, "colour": {Colour: true}, "links": {Links: true}, "both": {Colour: true, Links: true},
	}
}

func render(t *testing.T, d Dialect, src string) string {
	t.Helper()
	parts := markup.Layout(src, markup.Options{Dialect: d, Limit: 4096})
	if len(parts) != 1 {
		t.Fatalf("Layout(%q) has %d parts, want 1", src, len(parts))
	}
	return parts[0].Rendered.Text
}

func TestDialectConstructs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, colour, plain string }{
		{"text", "a.b", "a.b", "a.b"},
		{"styles", "**b** *i* ~~s~~ `c`", "\x1b[1mb\x1b[0m \x1b[3mi\x1b[0m \x1b[9ms\x1b[0m \x1b[2mc\x1b[0m", "b i s c"},
		{"nested", "**a *b* c**", "\x1b[1ma \x1b[0m\x1b[1;3mb\x1b[0m\x1b[1m c\x1b[0m", "a b c"},
		{"headings", "# A\n\n## B", "\x1b[1;4mA\x1b[0m\n\n\x1b[1mB\x1b[0m", "A\n\nB"},
		{"link", "[t](https://e.org/?a=1)", "\x1b]8;;https://e.org/?a=1\x1b\\\x1b[4mt\x1b[0m\x1b]8;;\x1b\\", "t (https://e.org/?a=1)"},
		{"bare link", "https://e.org x", "\x1b]8;;https://e.org\x1b\\\x1b[4mhttps://e.org\x1b[0m\x1b]8;;\x1b\\ x", "https://e.org x"},
		{"mail", "<a@e.org>", "\x1b]8;;mailto:a@e.org\x1b\\\x1b[4ma@e.org\x1b[0m\x1b]8;;\x1b\\", "a@e.org"},
		{"dead links", "[a](javascript:x) [b](file:///etc) [c]()", "a b c", "a b c"},
		{"address with an escape", "[a](<https://e.org/\x1b]8;;\x07é>)", "\x1b]8;;https://e.org/%1B]8;;%07%C3%A9\x1b\\\x1b[4ma\x1b[0m\x1b]8;;\x1b\\", "a (https://e.org/%1B]8;;%07%C3%A9)"},
		{"code block", "x\n\n```go\nif a {\n\n\tb\n}\n```", "x\n\n  \x1b[2mif a {\x1b[0m\n\n  \x1b[2m    b\x1b[0m\n  \x1b[2m}\x1b[0m", "x\n\n  if a {\n\n      b\n  }"},
		{"quote", "> a\n> > b\n>\n> **c**", "│ a\n│ │ b\n\n│ \x1b[1mc\x1b[0m", "│ a\n│ │ b\n\n│ c"},
		{"quote in a list", "- > a", "• │ a", "• │ a"},
		{"table", "|a|世界|\n|-|-:|\n|x|1|", "  \x1b[2ma  世界\x1b[0m\n  \x1b[2m-  ----\x1b[0m\n  \x1b[2mx     1\x1b[0m", "  a  世界\n  -  ----\n  x     1"},
		{"list", "- [x] a\n- b\n  1. c", "☑ a\n• b\n  1. c", "☑ a\n• b\n  1. c"},
		{"rule", "a\n\n---", "a\n\n──────────", "a\n\n──────────"},
		{"escapes", "a\x1b[31mb\x1b]0;t\x07c\u009b1md\x7f\b\re\u202ef", "a[31mb]0;tc1mdef", "a[31mb]0;tc1mdef"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := render(t, Dialect{Colour: true, Links: true}, tt.src); got != tt.colour {
				t.Errorf("%q\n got %q\nwant %q", tt.src, got, tt.colour)
			}
			if got := render(t, Dialect{}, tt.src); got != tt.plain {
				t.Errorf("%q, plain\n got %q\nwant %q", tt.src, got, tt.plain)
			}
		})
	}
}

func TestFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  string
		tty  bool
		want Dialect
	}{
		{"TERM=xterm-256color", true, Dialect{Colour: true}},
		{"TERM=xterm-256color", false, Dialect{}},
		{"TERM=xterm-256color NO_COLOR=1", true, Dialect{}},
		{"TERM=dumb", true, Dialect{}},
		{"", true, Dialect{}},
		{"TERM=xterm-kitty", true, Dialect{Colour: true, Links: true}},
		{"TERM=xterm-256color VTE_VERSION=7200", true, Dialect{Colour: true, Links: true}},
		{"TERM=xterm-256color VTE_VERSION=4600", true, Dialect{Colour: true}},
		{"TERM=xterm-256color TERM_PROGRAM=vscode", true, Dialect{Colour: true, Links: true}},
	} {
		getenv := func(name string) string {
			for pair := range strings.FieldsSeq(tt.env) {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := For(getenv, tt.tty); got != tt.want {
			t.Errorf("For(%s, %v) = %+v, want %+v", tt.env, tt.tty, got, tt.want)
		}
	}
}

func TestLenCountsCells(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"abc", 3},
		{"a\nb", 3},
		{"世界", 4},
		{"e\u0301", 1},
		{"👨‍👩‍👧", 2},
		{"🇩🇪", 2},
		{"❤️", 2},
		{"\x1b[1;3mab\x1b[0m", 2},
		{"\x1b]8;;https://e.org\x1b\\ab\x1b]8;;\x1b\\c", 3},
	} {
		if got := (Dialect{}).Len(markup.Rendered{Text: tt.text}); got != tt.want {
			t.Errorf("Len(%q) = %d, want %d", tt.text, got, tt.want)
		}
	}
}

// ours matches the escape sequences that Dialect writes.
var ours = regexp.MustCompile(`\x1b\[[0-9;]*m|\x1b\]8;;[!-~]*\x1b\\`)

// checkText fails the test if a text contains escape sequences that Dialect does not write. checkText also fails the
// test if a style or a link is still open at the end of the text.
func checkText(t rapid.TB, d Dialect, p markup.Part, whole bool) {
	t.Helper()
	text := p.Rendered.Text
	sgr, link := false, false
	for _, seq := range ours.FindAllString(text, -1) {
		if strings.HasSuffix(seq, "m") {
			sgr = seq != reset
		} else {
			link = seq != osc8("")
		}
		if strings.HasSuffix(seq, "m") && !d.Colour || strings.HasPrefix(seq, "\x1b]") && !d.Links {
			t.Fatalf("%+v writes %q in %q", d, seq, text)
		}
	}
	if whole && (sgr || link) {
		t.Fatalf("%q leaves formatting on", text)
	}
	rest := ours.ReplaceAllString(text, "")
	if i := strings.IndexFunc(rest, func(r rune) bool { return harmful(r) || r != '\n' && unicode.IsControl(r) }); i >= 0 {
		t.Fatalf("%q stays in %q", rest[i:], text)
	}
	if ansi.Strip(text) != rest {
		t.Fatalf("Strip(%q) = %q, want %q", text, ansi.Strip(text), rest)
	}
}

// The test checks the properties that package markuptest defines, for each prefix of each sample answer. For
// TestAnswersTerminal, escape sequences do not count as text (D7, D8).
func TestAnswersTerminal(t *testing.T) {
	t.Parallel()
	for name, src := range markuptest.Answers(t) {
		for kind, d := range dialects() {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				for _, limit := range []int{100, 4096} {
					markuptest.Prefixes(t, d, src, limit, 13, func(p markup.Part) { checkText(t, d, p, false) })
				}
				for _, p := range markup.Layout(src, markup.Options{Dialect: d, Limit: 100}) {
					checkText(t, d, p, true)
				}
			})
		}
	}
}

func TestNastyTerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := Dialect{Colour: rapid.Bool().Draw(t, "colour"), Links: rapid.Bool().Draw(t, "links")}
		src := markuptest.Nasty().Draw(t, "src")
		markuptest.Prefixes(t, d, src, rapid.IntRange(80, 300).Draw(t, "limit"), 1, func(p markup.Part) { checkText(t, d, p, false) })
		for _, p := range markup.Layout(src, markup.Options{Dialect: d, Limit: 100}) {
			checkText(t, d, p, true)
		}
	})
}

func FuzzDialect(f *testing.F) {
	f.Add("**a** [b](https://e.org) `c`\n> d\n```\ne\x1b[2J\n```", true, true, true)
	f.Add("\u009b31m\x1b]8;;x\x1b\\\x07", false, false, false)
	f.Fuzz(func(t *testing.T, src string, colour, links, open bool) {
		d := Dialect{Colour: colour, Links: links}
		for _, p := range markup.Layout(src, markup.Options{Dialect: d, Limit: 400, Open: open}) {
			checkText(t, d, p, true)
		}
	})
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31mb\u009b\xff\n\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if strings.ContainsFunc(got, func(r rune) bool { return harmful(r) || r != '\n' && unicode.IsControl(r) }) {
			t.Errorf("Clean(%q) = %q", s, got)
		}
		if again := Clean(got); again != got {
			t.Errorf("Clean(%q) = %q, again %q", s, got, again)
		}
	})
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"**a** [b](https://e.org)\n\n- c\n": "\x1b[1ma\x1b[0m \x1b[4mb\x1b[0m (https://e.org)\n\n• c",
		"[a]: https://e.org\x1b[2J":         "[a]: https://e.org[2J",
		"":                                  "",
	} {
		if got := (Dialect{Colour: true}).Markdown(source); got != want {
			t.Errorf("%q is shown as %q, want %q", source, got, want)
		}
	}
}
