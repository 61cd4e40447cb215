//go:build !race

package discord

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"telex/internal/markup"
	"telex/internal/markup/marks"
	"telex/internal/markup/markuptest"
)

// j is the invisible joiner character.
const j = marks.Joiner

// written returns the dialect together with the reader that checks its output.
func written() markuptest.Written {
	return markuptest.Written{Dialect: Dialect{}, Limit: 2000, Check: checkMessage}
}

// F27, F28, F33: for each construct of Markdown, the test compares the text that the bot sends to Discord.
func TestDialectConstructs(t *testing.T) {
	t.Parallel()
	written().Constructs(t, []markuptest.Construct{
		{"table", "|a|b|\n|-|-:|\n|x|10|", "```\na   b\n-  --\nx  10\n```"},
		{"code with marks in bold", "**a `b**` c**", "**a** `b**` **c**"},
		{"bold over lines", "**a\nb**", "**a**\n**b**"},
		{"escapes", `\*a\* \_a\_ \[a\](b) \~ \~~ \\ a_b 2*3 | || ~5 \|\|`, `\*a\* \_a\_ \[a]` + j + `(b) ~ \~\~ \\ a\_b 2\*3 | \|\| ~5 \|\|`},
		{"line starts", "\\# a\\\n\\- b\\\n\\+ c\\\n1\\. d\\\n2\\) e\\\n\\> f\\\n-# g\\\n12 h\\\n-5", "\\# a\n\\- b\n\\+ c\n1\\. d\n2) e\n\\> f\n\\-# g\n12 h\n-5"},
		{"mentions (F35)", "@everyone @here @ann <@12> <@!12> <@&12> me@12.org", "@" + j + "everyone @" + j + "here @ann \\<@" + j + "12> \\<@" + j + "!12> \\<@" + j + "&12> me@" + j + "12.org"},
		{"times", "at 10:30:45 :100: :a1:", "at 10:30:45 \\:100: \\:a1:"},
		{"mentions in code (F35)", "x `@here <@1> a@12`\n```\n@everyone\n```", "x `@here <@1> a@12`\n```\n@everyone\n```"},
		{"other references", "<#1> <:a:1> <t:1:R> <id:guide> </a:1>", "\\<#1> \\<\\:a:1> \\<t:1:R> id:guide \\</a:1>"},
		{"emoji", ":tada: 10:30 a:100: 👋", "\\:tada: 10:30 a\\:100: 👋"},
		{"code with backticks", "x ``a`b`` ```` ``a`` ````", "x ``a`b`` ``" + j + "`" + j + "`a`" + j + "`" + j + "``"},
		{"code with spaces", "x `` `a`  ``", "x ``" + j + "`a`" + j + "``"},
		{"odd language", "```c#\nx\n```\n\n```c++\nx", "```\nx\n```\n\n```c++\nx\n```"},
		{"headings", "# a **b**\n### 1. c\n#### d\n# C\\#\n\ne", "# a **b**\n### 1\\. c\n**d**\n# C#" + j + "\n\ne"},
		{"heading with number signs", "## \\# a", "## \\# a"},
		{"quote", "> a\n> b\n>\n> > c\n\nd", "> a\n> b\n> \n> c\n\nd"},
		{"heading in a list", "- # a", "- **a**"},
		{"quote in a list", "- > a", "- a"},
		{"list", "* **a**\n* b\n  1. c\n  2. d\n\n     e\n* f", "- **a**\n- b\n  1. c\n  2. d\n\n     e\n- f"},
		{"numbers", "3. a\n3. b", "3. a\n4. b"},
		{"numbers that Discord would change", "0. a\n1. b\n\n---\n1) c", "0\\. a\n1. b\n\n──────────\n1) c"},
		{"lists that Discord would join", "- a\n1. b\n2. c", "- a\n1\\. b\n2. c"},
		{"tasks", "- [x] a\n- [ ] b\n  - c\n- d\n  1. [ ] e", "☑ a\n☐ b\n  ◦ c\n- d\n  1. ☐ e"},
		{"an item that begins with a list", "- - a\n  - b\n    - c", "•\n  ◦ a\n  ◦ b\n    ▪ c"},
		{"a loose list in a list", "- a\n\n  - b\n    - c\n- d", "- a\n\n  ◦ b\n    ▪ c\n- d"},
		{"a list behind code in a list", "- a\n  ```\n  x\n  ```\n  - b\n- c", "- a\n```\nx\n```\n  ◦ b\n- c"},
		{"code as an item", "- ```\n  x\n  ```\n- b", "•\n```\nx\n```\n- b"},
		{"an empty item", "-\n- b", "•\n- b"},
		{"a list in a quote", "> - a\n>   - b\n\n- c", "> - a\n>   - b\n\n- c"},
		{"marks as items", "- \\- a\n- \\# b\n- 1\\. c\n- \\> d\n- -# e", "- \\- a\n- \\# b\n- 1\\. c\n- \\> d\n- \\-# e"},
		{"bullets that are text", "• a\n◦ b", "• a\n◦ b"},
		{"code link", "x [`a_b`](https://e.org)", "x [`a_b`](https://e.org)"},
		{"emoji before a link", "[👋 docs](https://e.org)", "👋 [docs](https://e.org)"},
		{"brackets in a link", "[a \\[b\\] c](https://e.org)", "[a](https://e.org) \\[b] c"},
		{"mention in a link", "[@everyone hi](https://e.org)", "@" + j + "[everyone hi](https://e.org)"},
		{"names in a link", "[a_b c_](https://e.org)", "[a_b c](https://e.org)\\_"},
		{"address in a link", "[https://a.org](https://e.org)", "https://a.org"},
		{"brackets behind a link", "[a](https://e.org) b\\](c) x `](y)`", "[a](https://e.org) b]" + j + "(c) x `]" + j + "(y)`"},
		{"link address", "[a](<https://e.org/x (y)*z_~|@me>)", "[a](https://e.org/x%20%28y%29%2Az_%7E%7C%40me)"},
		{"dead links", "[a](/x) [b](javascript:x) [c](mailto:a@b.org) [d]() [e](https://u@e.org)", "a b c d e"},
		{"image", "![alt](https://e.org/i.png)", "[alt](https://e.org/i.png)"},
		{"bare links", "https://e.org/a_b_*c*?d=~~, (https://e.org/_x_).", "<https://e.org/a_b_>*c*?d=\\~\\~, (https://e.org/_x_)."},
		{"bare link in bold", "**https://e.org/a_b**", "**https://e.org/a_b**"},
		{"address that is none", "http://localhost:80/a_b x http://\\_a\\_", "http://localhost:80/a_b x http:" + j + "//\\_a\\_"},
		{"mail", "me@e.org", "me@e.org"},
		{"HTML", "<b>x</b><br>y", "\\<b>x\\</b>\ny"},
	})
}

// Discord searches the whole text after the beginning of a style, such as bold, for the end of the style. If a styled
// text contains a delimiter that would end its style, Render must therefore exclude this text from the style, or change
// the text.
func TestDialectKeepsFragileOut(t *testing.T) {
	t.Parallel()
	bold := []markup.Format{{Style: markup.Bold, Start: 0, End: 22}}
	for _, tt := range []struct {
		text    string
		formats []markup.Format
		want    string
	}{
		{"a https://e.org/**b xyz", bold, "**a** https://e.org/**b **xy**z"},
		{"a https://e.org/--b xyz", bold, "**a https://e.org/--b xy**z"},
		{"https://e.orgb", []markup.Format{{Style: markup.Bold, Start: 13, End: 14}}, "<https://e.org>**b**"},
		{"https://e.org.b", []markup.Format{{Style: markup.Code, Start: 14, End: 15}}, "<https://e.org>.`b`"},
		{"https://e.org 0", []markup.Format{{Style: markup.Code, Start: 13, End: 15}}, "<https://e.org>` 0`"},
		{"https://e.org**]", []markup.Format{{Style: markup.Italic, Start: 0, End: 16}}, "<https://e.org**>*]*"},
		{"a~b", []markup.Format{{Style: markup.Strike, Start: 0, End: 2}}, "~~a~" + j + "~~b"},
	} {
		if got := (Dialect{}).Render(markup.Piece{Text: tt.text, Formats: tt.formats}).Text; got != tt.want {
			t.Errorf("%q %+v\n got %q\nwant %q", tt.text, tt.formats, got, tt.want)
		}
	}
}

// F30: Discord probably counts code points. Len counts UTF-16 code units, so Len may count an emoji as two characters,
// but Len never returns less than Discord counts.
func TestDialectLen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "é世": 2, "😀": 2, "**a**": 5} {
		if got := (Dialect{}).Len(markup.Rendered{Text: text}); got != want {
			t.Errorf("Len(%q) = %d, want %d", text, got, want)
		}
	}
}

var (
	simpleLabel = regexp.MustCompile(`^[A-Za-z0-9]+(?: [A-Za-z0-9]+)*$`)
	pings       = regexp.MustCompile(`@(everyone|here)|<@[!&]?[0-9]`)
)

// checkMessage fails the test unless Discord shows the text, links and styles of a part as package markup intended.
func checkMessage(t markuptest.TB, spy markuptest.Spy, p markup.Part) {
	t.Helper()
	wire := p.Rendered.Text
	if p.Rendered.Spans != nil || !utf8.ValidString(wire) || strings.TrimSpace(wire) != wire || wire == "" {
		t.Fatalf("bad text %q", wire)
	}
	piece := spy.Pieces[wire]
	for _, f := range piece.Formats {
		if f.Open { // the closing delimiter is still missing, so the format is not shown yet
			return
		}
		label := piece.Text[f.Start:f.End]
		if to := goes(f.URL); f.Style == markup.Link && to != "" && simpleLabel.MatchString(label) && !strings.Contains(wire, "]("+to+")") {
			t.Fatalf("%q does not link %q", wire, label)
		}
	}
	if m := pings.FindAllString(wire, -1); len(m) > pingsInCode(piece) {
		t.Fatalf("%q has %q outside of code", wire, m)
	}
	got, want := read(t, wire), markuptest.Glyphs(piece, 3, goes)
	for i := range min(len(got), len(want)) {
		g, w := &got[i], &want[i]
		linked := strings.Contains(g.Styles, "l")
		seen := linked && strings.Contains(piece.Text, g.URL) // people see the link's URL in the text itself
		if linked && !seen && g.URL != w.URL {
			t.Fatalf("%q links to %s, which is not to be seen", wire, g.URL)
		}
		// Discord may show no link if Label does not allow the label, and no style if Fragile returns true for the text.
		drop := "l"
		if seen || strings.Contains(w.Styles, "c") && without(g.Styles, drop) != without(w.Styles, drop) {
			drop = "lbis"
		}
		if without(g.Styles, "l") == without(w.Styles, "l") || without(g.Styles, drop) == without(w.Styles, drop) && without(g.Styles, "l") == without(g.Styles, drop) {
			w.Styles = g.Styles
		}
		g.URL, w.URL = "", ""
	}
	for i := range want {
		want[i].URL = ""
	}
	markuptest.Same(t, wire, got, want)
}

// without returns styles without the letters of some.
func without(styles, some string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(some, c) {
			return -1
		}
		return c
	}, styles)
}

// pingsInCode counts the mentions in code, which stay unchanged.
func pingsInCode(p markup.Piece) (n int) {
	for _, f := range p.Formats {
		if f.Style == markup.Code || f.Style == markup.Pre {
			n += len(pings.FindAllString(p.Text[f.Start:f.End], -1))
		}
	}
	return n
}

// goes returns the target of a link as the dialect writes it.
func goes(url string) string {
	return strings.ReplaceAll(marks.Destination(url, "http", "https"), "@", "%40")
}

// D7, D8, F26-F33, F35: the dialect has the properties that package markuptest checks, for every prefix of each sample
// answer.
func TestAnswersDiscord(t *testing.T) {
	t.Parallel()
	written().Answers(t, 2000)
}

func TestNastyDiscord(t *testing.T) {
	t.Parallel()
	written().Nasty(t)
}

func FuzzDialect(f *testing.F) {
	f.Add("**a `b`** [c](https://e.org) > d\n> e\n```\nf", 100, true)
	f.Add("# a #\n===\n- b\n\n    c\n<@1> https://e.org/_*_ *_x_* :a:", 100, false)
	written().Fuzz(f, 2000)
}

func BenchmarkDialect(b *testing.B) { markuptest.Measure(b, Dialect{}, 2000) }
