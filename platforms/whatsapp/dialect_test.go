package whatsapp

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
	"telex/internal/markup/marks"
	"telex/internal/markup/markuptest"
)

// j is the invisible joiner character.
const j = marks.Joiner

// written returns the dialect together with the reader that checks its output.
func written() markuptest.Written {
	return markuptest.Written{Dialect: Dialect{}, Limit: textLimit, Check: checkMessage}
}

// F27, F28, F33: for each construct of Markdown, the test compares the text that the bot sends to WhatsApp.
func TestDialectConstructs(t *testing.T) {
	t.Parallel()
	for _, c := range []markuptest.Construct{
		{Name: "plain", Source: "a.b!c(d)-e", Want: "a.b!c(d)-e"},
		{Name: "styles", Source: "x **b** *i* ~~s~~ `c`", Want: "x *b* _i_ ~s~ `c`"},
		{Name: "nested", Source: "**a *b* c** ***d***", Want: "*a _b_ c* _*d*_"},
		{Name: "in a word", Source: "a**b**c a*b*c", Want: "abc abc"},
		{Name: "at punctuation", Source: "(**a**), \"*b*\".", Want: "(*a*), \"_b_\"."},
		{Name: "bold with an asterisk", Source: "**a \\* b** **2\\*3**", Want: "a * b 2*3"},
		{Name: "over lines", Source: "**a\nb**", Want: "*a*\n*b*"},
		{Name: "literal marks", Source: `\*a\* \_b\_ \~c\~ 2\*3 snake_case ~5 km`, Want: j + "*a* " + j + "_b_ " + j + "~c~ 2*3 snake_case " + j + "~5 km"},
		{Name: "headings", Source: "# a **b** c\n\nd\n\n### e", Want: "*a b c*\n\nd\n\n*e*"},
		{Name: "code", Source: "`a` x `b_c` ``d`e``", Want: "`a` x `b_c` d`e"},
		{Name: "code in bold", Source: "**a `b` c** **a `2*3` c**", Want: "*a `b` c* a `2*3` c"},
		{Name: "fence", Source: "a\n\n```go\nx < 1 && y\n\n\tz\n```\nb", Want: "a\n\n```\nx < 1 && y\n\n\tz\n```\nb"},
		{Name: "fence in a fence", Source: "````md\n```\nx\n```\n````", Want: "```\n``" + j + "`\nx\n``" + j + "`\n```"},
		{Name: "link", Source: "see [the *page*](https://e.org/?a=1&b=2)!", Want: "see the _page_ (https://e.org/?a=1&b=2)!"},
		{Name: "links", Source: "[a](https://e.org/a) [b](https://e.org/b) c", Want: "a (https://e.org/a) b (https://e.org/b) c"},
		{Name: "bold link", Source: "**a [b](https://e.org) c** d", Want: "*a b (https://e.org) c* d"},
		{Name: "bare link", Source: "https://e.org/a_b_c and <https://e.org>.", Want: "https://e.org/a_b_c and https://e.org."},
		{Name: "mail", Source: "me@e.org", Want: "me@e.org"},
		{Name: "dead links", Source: "[a](/x) [b](javascript:x)", Want: "a b"},
		{Name: "quote", Source: "> a\n> b\n\nc \\> d\n\n\\> e", Want: "> a\n> b\n\nc > d\n\n" + j + "> e"},
		{Name: "list", Source: "* **a**\n* b\n  1. c\n  2. d\n* f", Want: "- *a*\n- b\n  1. c\n  2. d\n- f"},
		{Name: "list in a list", Source: "- a\n  - b\n    - c", Want: "- a\n  ◦ b\n    ▪ c"},
		{Name: "tasks", Source: "- [x] a\n- [ ] b", Want: "☑ a\n☐ b"},
		{Name: "table", Source: "| n | size |\n|---|--:|\n| a | 10 |", Want: "```\nn  size\n-  ----\na    10\n```"},
		{Name: "mentions", Source: "@everyone <@1>", Want: "@everyone <@1>"},
	} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if got := written().Render(t, c.Source); got != c.Want {
				t.Errorf("Layout(%q)\n got %q\nwant %q", c.Source, got, c.Want)
			}
		})
	}
}

// F30: Len counts UTF-16 code units, so an emoji counts as two.
func TestDialectLen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "é世": 2, "😀": 2, "*a*": 3} {
		if got := (Dialect{}).Len(markup.Rendered{Text: text}); got != want {
			t.Errorf("Len(%q) = %d, want %d", text, got, want)
		}
	}
}

// checkMessage fails the test unless the text that the bot sends contains all characters of a part of the answer, in
// order. checkMessage ignores characters that may be delimiters.
func checkMessage(t markuptest.TB, spy markuptest.Spy, p markup.Part) {
	t.Helper()
	wire := p.Rendered.Text
	if p.Rendered.Spans != nil || !utf8.ValidString(wire) {
		t.Fatalf("bad text %q", wire)
	}
	if want, got := letters(withLinkURLs(spy.Pieces[wire]).Text), letters(wire); got != want {
		t.Fatalf("%q shows\n got %q\nwant %q", wire, got, want)
	}
}

// letters returns the characters of s that are neither white space nor possible delimiters.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("*_~`>"+j, r) {
			return -1
		}
		return r
	}, s)
}

// D7, D8, F26-F33: the dialect has the properties that package markuptest checks, for every prefix of each sample
// answer.
func TestAnswersWhatsApp(t *testing.T) {
	t.Parallel()
	written().Answers(t, 4000)
}

func TestNastyWhatsApp(t *testing.T) {
	t.Parallel()
	written().Nasty(t)
}

func FuzzDialect(f *testing.F) {
	f.Add("**a `b`** [c](https://e.org) > d\n> e\n```\nf", 100, true)
	f.Add("- a\n  1. b\n\n     c\n- [ ] d\n  - e\n\n3. f\n4. g", 100, true)
	f.Add("# a #\n===\n- b\n\n    c\n<!here> &lt; *_x_* :a:", 100, false)
	written().Fuzz(f, 4096)
}

func BenchmarkDialect(b *testing.B) { markuptest.Measure(b, Dialect{}, 4000) }
