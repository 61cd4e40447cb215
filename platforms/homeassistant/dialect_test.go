package homeassistant

import (
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	goldtext "github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"telex/internal/markup"
	"telex/internal/markup/marks"
	"telex/internal/markup/markuptest"
)

// j is the invisible joiner character.
const j = marks.Joiner

// template matches text that Home Assistant treats as the beginning of a template:
// https://github.com/home-assistant/core/blob/dev/homeassistant/helpers/template/__init__.py (is_template_string)
var template = regexp.MustCompile(`\{[{%#]`)

func written() markuptest.Written {
	return markuptest.Written{Dialect: Markdown{}, Limit: notificationLimit, Check: checkMessage}
}

func TestDialectConstructs(t *testing.T) {
	t.Parallel()
	written().Constructs(t, []markuptest.Construct{
		{"HTML", `<img src="https://e.org"> <b>x</b>`, `&lt;img src="https://e.org"&gt; &lt;b&gt;x&lt;/b&gt;`},
		{"image", "![a](https://e.org/i.png)", "[a](https://e.org/i.png)"},
		{"image after a mark", "a!![alt](https://e.org/i.png)", "a!" + j + "[alt](https://e.org/i.png)"},
		{"dead links", "[a](/x) [b](javascript:x) [c](homeassistant://x)", "a b c"},
		{"alert", "> [!WARNING]\n> a", "> \\[!WARNING\\]  \n> a"},
		{"template", "{{ states.light }} {% if x %} {# a #} {{{ {x}", "{" + j + "{ states.light }} {" + j + "% if x %} {" + j + "# a #} {" + j + "{" + j + "{ {x}"},
		{"template in code", "x `{{ a }}`\n\n```\n{% b %}\n```", "x `{" + j + "{ a }}`\n\n```\n{" + j + "% b %}\n```"},
		{"template in a link", "[a](https://e.org/{{b}})", "[a](https://e.org/%7B%7Bb%7D%7D)"},
		{"table", "| n | size |\n|---|--:|\n| **b**\\|c | 10 |", "| n | size |\n|---|--:|\n| b\\|c | 10 |"},
		{"list", "* **a**\n* b\n  1. c\n  2. d\n* f", "- **a**\n- b\n  1. c\n  2. d\n- f"},
		{"lines", "a  \nb", "a  \nb"},
		{"address", "see https://e.org/a_b", "see [https://e.org/a_b](https://e.org/a_b)"},
	})
}

// checkMessage fails the test if Home Assistant would load a resource for a part of an answer, show HTML in the part,
// or evaluate the part as a template.
func checkMessage(t markuptest.TB, _ markuptest.Spy, p markup.Part) {
	t.Helper()
	wire := p.Rendered.Text
	if at := template.FindString(wire); at != "" {
		t.Fatalf("%q has %q", wire, at)
	}
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	err := ast.Walk(parser.Parse(goldtext.NewReader([]byte(wire))), func(n ast.Node, _ bool) (ast.WalkStatus, error) {
		switch n.(type) {
		case *ast.Image, *ast.RawHTML, *ast.HTMLBlock:
			t.Fatalf("%q shows an image or HTML: %v", wire, n.Kind())
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatalf("walk: %v", err)
	}
}

// D7, D8, F26-F33: the dialect has the properties that package markuptest checks, for every prefix of each sample
// answer.
func TestAnswersHomeAssistant(t *testing.T) {
	t.Parallel()
	written().Answers(t, 4000)
}

func TestNastyHomeAssistant(t *testing.T) {
	t.Parallel()
	written().Nasty(t)
}

func FuzzDialect(f *testing.F) {
	f.Add("**a `b`** [c](https://e.org) > d\n> e\n```\nf", 100, true)
	f.Add("![{{a}}](https://e.org/{%b%}) <img> {#", 100, false)
	written().Fuzz(f, 4096)
}

// Home Assistant must not evaluate any text as a template. escapeTemplates may only insert joiners, and must not
// change other characters.
func TestLiteral(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("{%#} a\n"))).Draw(t, "text")
		got := escapeTemplates(s)
		if template.MatchString(got) || strings.ReplaceAll(got, j, "") != s {
			t.Fatalf("%q becomes %q", s, got)
		}
		if plain := (Text{}).Render(markup.Piece{Text: s}).Text; template.MatchString(plain) {
			t.Fatalf("%q becomes %q", s, plain)
		}
	})
}

// Notifications on a phone are plain text, in which each link must be followed by its URL. If a long text is divided
// into several notifications, no URL may be lost.
func TestText(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"see [the **page**](https://e.org/a) and [it](https://e.org/b).": "see the page (https://e.org/a) and it (https://e.org/b).",
		"https://e.org/a, me@e.org, ![x](https://e.org/{{i}}.png)":       "https://e.org/a, me@e.org, x (https://e.org/%7B%7Bi%7D%7D.png)",
		"[a](javascript:x) `{{ b }}`\n\n- *c*":                           "a {" + j + "{ b }}\n\n• c",
	} {
		parts := markup.Layout(source, markup.Options{Dialect: Text{}, Limit: textLimit})
		if len(parts) != 1 || parts[0].Rendered.Text != want {
			t.Errorf("%q becomes %+v, want %q", source, parts, want)
		}
	}
	long := strings.Repeat("some [words](https://example.org/a/long/address) in **bold**\n\n", 200)
	addresses := 0
	for _, p := range markup.Layout(long, markup.Options{Dialect: Text{}, Limit: textLimit}) {
		if len(p.Rendered.Text) > textLimit {
			t.Errorf("a part has %d bytes", len(p.Rendered.Text))
		}
		addresses += strings.Count(p.Rendered.Text, "words (https://example.org/a/long/address)")
	}
	if addresses != 200 {
		t.Errorf("%d addresses are shown, want 200", addresses)
	}
}

func TestLen(t *testing.T) {
	t.Parallel()
	r := markup.Rendered{Text: "é😀"}
	if n, bytes := (Markdown{}).Len(r), (Text{}).Len(r); n != 2 || bytes != 6 {
		t.Errorf("%d characters and %d bytes, want 2 and 6", n, bytes)
	}
}
