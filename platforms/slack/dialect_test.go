//go:build !race

package slack

import (
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
	return markuptest.Written{Dialect: Dialect{}, Limit: 12000, Check: checkMessage}
}

// F27, F28, F33: for each construct of Markdown, the test compares the text that the bot sends to Slack.
func TestDialectConstructs(t *testing.T) {
	t.Parallel()
	written().Constructs(t, []markuptest.Construct{
		{"bold punctuation in a word", "a<b>**x.**</b>b", "a&lt;b&gt;**x." + j + "**&lt;/b&gt;b"},
		{"bold between ideographs", "漢**字**漢 **「字」** 漢", "漢**字**漢 **「字」" + j + "** 漢"},
		{"strike in bold", "**~~b~~**", "**~~b~~**"},
		{"bold over lines", "**a\nb**", "**a**  \n**b**"},
		{"escapes", `\*a\* \_a\_ \[a\](b) \~ \~~ \\ a_b_c 2*3 | ~5`, `\*a\* \_a\_ \[a\](b) \~ \~\~ \\ a_b_c 2\*3 | \~5`},
		{"line starts", "\\# a\\\n\\- b\\\n\\+ c\\\n1\\. d\\\n2\\) e\\\n\\> f\\\n\\=== \\\n\\| g\\\n12 h", "\\# a  \n\\- b  \n\\+ c  \n1\\. d  \n2\\) e  \n&gt; f  \n\\===  \n\\| g  \n12 h"},
		{"entities", "a &lt; b & c &amp;lt; <b>", "a &lt; b &amp; c &amp;lt; &lt;b&gt;"},
		{"control sequences (F35)", "<!channel> <@U12> <#C12> @channel @here @everyone @ann", "&lt;!channel&gt; &lt;@U12&gt; &lt;#C12&gt; @" + j + "channel @" + j + "here @" + j + "everyone @ann"},
		{"control sequences in code (F35)", "x `<!here>` `<@U1>` `<https://e.org|x>` `a<b && <div>`", "x `<" + j + "!here>` `<" + j + "@U1>` `<" + j + "https://e.org|x>` `a<b && <div>`"},
		{"no control sequences in code", "`<!-- a -->` `<!DOCTYPE html>` `<#if x>` `<xs:element>` `<@Test>` `<!channels>` `<#1>` `<https://`", "``<!-- a -->`` `<!DOCTYPE html>` `<#if x>` `<xs:element>` `<@Test>` `<!channels>` `<#1>` `<https://`"},
		{"control sequences in a block (F35)", "```\n<!channel> <!subteam^S1> <!date^1^{date}|x>\n```", "```\n<" + j + "!channel> <" + j + "!subteam^S1> <" + j + "!date^1^{date}|x>\n```"},
		{"times", "at 10:30:45, 2026-11-22T10:30:45+01:00, `10:30:45`, `:tada:`", "at 10:30:45, 2026-11-22T10:30:45+01:00, `10:30:45`, `:tada:`"},
		{"emoji of digits", ":100: :+1: :-1: :1234: :99:", ":" + j + "100: :" + j + "+1: :" + j + "-1: :" + j + "1234: :99:"},
		{"emoji", ":tada: 10:30 a:100: 👋", ":" + j + "tada: 10:30 a:" + j + "100: 👋"},
		{"code with backticks", "x ``a`b`` ```` ``a`` ```` `` ` ``", "x ``a`b`` ``" + j + "`" + j + "`a`" + j + "`" + j + "`` ``" + j + "`" + j + "``"},
		{"code with spaces", "x `` a ` ``", "x ``a `" + j + "``"},
		{"odd language", "```a b\nx\n```\n\n```a!b\nx", "```a\nx\n```\n\n```\nx\n```"},
		{"headings", "# a **b**\n###### c #5 #\n\nd", "# a **b**\n###### c \\#5\n\nd"},
		{"quote", "> a\n> b\n>\n> > c\n\nd", "> a  \n> b\n> \n> c\n\nd"},
		{"quote above a list", "> a\n- b", "> a\n\n- b"},
		{"quote below a list", "- a\n- b\n> c", "- a\n- b\n> c"},
		{"heading in a list", "- # a", "- **a**"},
		{"quote in a list", "- > a", "- a"},
		{"list", "* **a**\n* b\n  1. c\n  2. d\n\n     e\n* f", "- **a**\n- b\n  1. c\n  2. d\n\n     e\n- f"},
		{"three lists in each other", "- a\n  - b\n    - c\n  - d\n- e\n\nf", "- a\n  - b\n    - c\n  - d\n- e\n\nf"},
		{"a list below its heading", "a:\n- b\n- c", "a:\n- b\n- c"},
		{"lines of an item", "1. a\nb\n\n   c\n2. d", "1. a  \n   b\n\n   c\n2. d"},
		{"a line of an outer item", "- a\n  - b\n\n  c\n- d", "- a\n  - b\n\n  c\n- d"},
		{"a loose list", "1. a\n\n   b\n\n2. c\n\n   - d", "1. a\n\n   b\n\n2. c\n\n   - d"},
		{"numbers", "1. a\n1. b\n1. c", "1. a\n2. b\n3. c"},
		{"ten numbers", "1. a\n2. a\n3. a\n4. a\n5. a\n6. a\n7. a\n8. a\n9. a\n10. a\n    - b\n", "1. a\n2. a\n3. a\n4. a\n5. a\n6. a\n7. a\n8. a\n9. a\n10. a\n    - b"},
		{"numbers that are not known to count", "3. a\n4. b\n\n---\n\n0. c\n\n---\n\n1) d", "3\\. a  \n4\\. b\n\n──────────\n\n0\\. c\n\n──────────\n\n1\\) d"},
		{"numbers below code", "1. a\n   ```\n   x\n   ```\n2. b\n3. c", "1. a\n```\nx\n```\n2\\. b  \n3\\. c"},
		{"lists below each other", "- a\n1. b\n2. c\n- d", "- a\n1. b\n2. c\n- d"},
		{"a list that begins anew", "1. a\n2. b\n\n<!-- -->\n\n1. c", "1. a\n2. b\n\n&lt;!-- --&gt;\n\n1. c"},
		{"tasks", "- [x] a\n- [ ] b\n  - c\n- d\n  - [ ] e\n  - f\n- [ ] g", "☑ a  \n☐ b  \n\u00a0\u00a0◦ c\n- d  \n  ☐ e\n  - f\n\n☐ g"},
		{"tasks with numbers", "1. [ ] a\n   - b\n2. [x] c", "1. ☐ a\n     - b\n2. ☑ c"},
		{"a rule below a list", "- a\n***\nb", "- a\n\n──────────  \nb"},
		{"an item that begins with a list", "- - a\n  - b\n    - c", "•  \n\u00a0\u00a0◦ a  \n\u00a0\u00a0◦ b  \n\u00a0\u00a0\u00a0\u00a0▪ c"},
		{"code as an item", "- ```\n  x\n  ```\n- b", "•\n```\nx\n```\n- b"},
		{"an empty item", "-\n- b", "•\n- b"},
		{"a list in a quote", "> - a\n>   - b\n> \n> c\n\n- d", "> - a\n>   - b\n> \n> c\n\n- d"},
		{"a rule below a list in a quote", "> - a\n> ***", "> - a\n> \n> ──────────"},
		{"a list in a quote in a list", "- > - a\n  > - b", "- ◦ a\n  - b"},
		{"marks as items", "- \\- a\n- \\# b\n- 1\\. c\n- \\> d\n- === e\n- \\[ ] f", "- \\- a\n- \\# b\n- 1\\. c\n- &gt; d\n- \\=== e\n- \\[ \\] f"},
		{"bullets that are text", "• a\n◦ b", "• a  \n◦ b"},
		{"code link", "[`a`](https://e.org)", "[``a``](https://e.org)"},
		{"label", "[a\\]b](https://e.org)", "[a\\]b](https://e.org)"},
		{"link address", "[a](<https://e.org/x (y)*z~|&lt;>)", "[a](https://e.org/x%20%28y%29%2Az%7E%7C%3C)"},
		{"dead links", "[a](/x) [b](javascript:x) [c](slack://x) [d]()", "a b c d"},
		{"image", "a!![alt](https://e.org/i.png)", "a!" + j + "[alt](https://e.org/i.png)"},
		{"bare link", "https://e.org/a-b x", "https://e.org/a-b x"},
		{"bare link with marks", "https://e.org/a_b?c=1&d=2 x", "[https://e.org/a_b?c=1&amp;d=2](https://e.org/a_b?c=1&d=2) x"},
		{"bare link in bold", "**https://e.org**", "**[https://e.org](https://e.org)" + "**"},
		{"bare link at a full stop", "https://e.org.", "[https://e.org](https://e.org)."},
		{"mail", "me@e.org", "[me@e.org](mailto:me@e.org)"},
		{"table", "a\n\n| n | size |\n|---|--:|\n| **b**\\|c | 10 |\n| | <!here> |\n\nd", "a\n\n| n | size |\n|---|--:|\n| b\\|c | 10 |\n| | &lt;!here&gt; |\n\nd"},
		{"table in a quote", "> a\n> \n> | n |\n> |:-:|\n> | 1 |\n\nb", "> a\n> \n> | n |\n> |:-:|\n> | 1 |\n\nb"},
		{"table in a list", "- a\n\n  | n |\n  |---|\n  | - 1 |\n- b", "- a\n\n| n |\n|---|\n| \\- 1 |\n\n- b"},
		{"HTML", "<b>x</b><br>y", "&lt;b&gt;x&lt;/b&gt;  \ny"},
	})
}

// If a style is still open at the end of a text, Render must not write the closing delimiter, because a stream can't
// remove it later (F48, D13).
func TestDialectKeepsStyleOpen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		p    markup.Piece
		want string
	}{
		{"bold", markup.Piece{Text: "a b", Formats: []markup.Format{{Style: markup.Bold, Start: 2, End: 3, Open: true}}}, "a **b"},
		{"closed in open", markup.Piece{Text: "a b", Formats: []markup.Format{
			{Style: markup.Bold, Start: 0, End: 3, Open: true}, {Style: markup.Italic, Start: 2, End: 3},
		}}, "**a *b*"},
		{"code block", markup.Piece{Text: "a\nb", Formats: []markup.Format{{Style: markup.Pre, Start: 0, End: 3, Open: true}}}, "```\na\nb"},
		{"code block in a quote", markup.Piece{Text: "a\nb", Formats: []markup.Format{
			{Style: markup.Quote, Start: 0, End: 3, Open: true}, {Style: markup.Pre, Start: 0, End: 3},
		}}, "> ```\n> a\n> b\n> ```"},
		{"code", markup.Piece{Text: "a", Formats: []markup.Format{{Style: markup.Code, Start: 0, End: 1, Open: true}}}, "``a"},
		{"link", markup.Piece{Text: "a b", Formats: []markup.Format{{Style: markup.Link, Start: 0, End: 3, URL: "https://e.org", Open: true}}}, "[a b"},
		{"the rest of a table", markup.Piece{Text: "-  -\na  b\n   c", Formats: []markup.Format{
			{Style: markup.Pre, Start: 0, End: 14},
			{Style: markup.Row, Start: 5, End: 9},
			{Style: markup.Cell, Start: 5, End: 6, Level: 1},
			{Style: markup.Cell, Start: 8, End: 9, Level: 2},
			{Style: markup.Row, Start: 10, End: 14},
			{Style: markup.Cell, Start: 13, End: 14, Level: 2},
		}}, "| | |\n|---|---|\n| a | b |\n| | c |"},
		{"more columns than there may be", markup.Piece{Text: "a b c", Formats: []markup.Format{
			{Style: markup.Pre, Start: 0, End: 5},
			{Style: markup.Row, Start: 0, End: 5, Level: 1},
			{Style: markup.Cell, Start: 0, End: 1, Level: 20},
			{Style: markup.Cell, Start: 2, End: 3, Level: 21},
			{Style: markup.Cell, Start: 4, End: 5, Level: 99},
		}}, strings.Repeat("| ", 20) + "a b c |\n|" + strings.Repeat("---|", 20)},
		{"heading", markup.Piece{Text: "a", Formats: []markup.Format{{Style: markup.Heading, Level: 2, Start: 0, End: 1, Open: true}}}, "## a"},
	} {
		if got := (Dialect{}).Render(tt.p).Text; got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// HTML in a model's answer, a split between messages, or Slack's rules about words can put Markdown delimiters in
// places where CommonMark would read them as text. Where CommonMark would read a delimiter as text, the dialect must
// add invisible joiners, so that the delimiter works.
func TestDialectMarksWorkAnywhere(t *testing.T) {
	t.Parallel()
	type formats = []markup.Format
	for _, tt := range []struct {
		text    string
		formats formats
		want    string
	}{
		{"a“b”c", formats{{Style: markup.Bold, Start: 1, End: 8}}, "a**" + j + "“b”" + j + "**c"},
		{"a(b)", formats{{Style: markup.Italic, Start: 1, End: 4}}, "a*" + j + "(b)*"},
		{"a.b", formats{{Style: markup.Strike, Start: 0, End: 2}}, "~~a." + j + "~~b"},
		{"ab", formats{{Style: markup.Bold, Start: 1, End: 2}, {Style: markup.Strike, Start: 1, End: 2}}, "a**" + j + "~~b~~**"},
		{"abc", formats{{Style: markup.Bold, Start: 1, End: 2}, {Style: markup.Strike, Start: 1, End: 2}}, "a**" + j + "~~b~~" + j + "**c"},
		{"a<b", formats{{Style: markup.Bold, Start: 1, End: 2}}, "a**" + j + "&lt;" + j + "**b"},
		{"a*b", formats{{Style: markup.Bold, Start: 1, End: 2}}, `a**` + j + `\*` + j + "**b"},
		{"abc", formats{{Style: markup.Bold, Start: 0, End: 1}, {Style: markup.Bold, Start: 1, End: 2}, {Style: markup.Italic, Start: 2, End: 3}}, "**a**" + j + "**b**" + j + "*c*"},
		{"a`b`c", formats{{Style: markup.Code, Start: 1, End: 4}}, "a``" + j + "`b`" + j + "``c"},
		{"a b", formats{{Style: markup.Bold, Start: 1, End: 3}}, "a **b**"},
		{"a b c", formats{{Style: markup.Bold, Start: 0, End: 2}, {Style: markup.Italic, Start: 3, End: 4}}, "**a** b c"},
		{"ab", formats{{Style: markup.Code, Start: 0, End: 1}, {Style: markup.Code, Start: 1, End: 2}}, "``a``" + j + "`b`"},
		{"a!b", formats{{Style: markup.Link, Start: 2, End: 3, URL: "http://e.org"}}, "a!" + j + "[b](http://e.org)"},
		{"ab", formats{{Style: markup.Pre, Start: 1, End: 2}}, "a\n```\nb\n```"},
		{"ab", formats{{Style: markup.Pre, Start: 0, End: 1}}, "```\na\n```\nb"},
	} {
		piece := markup.Piece{Text: tt.text, Formats: tt.formats}
		got := (Dialect{}).Render(piece).Text
		if got != tt.want {
			t.Errorf("%q %+v\n got %q\nwant %q", tt.text, tt.formats, got, tt.want)
		}
	}
}

// F30: Len counts UTF-16 code units, so an emoji counts as two.
func TestDialectLen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "é世": 2, "😀": 2, "**a**": 5} {
		if got := (Dialect{}).Len(markup.Rendered{Text: text}); got != want {
			t.Errorf("Len(%q) = %d, want %d", text, got, want)
		}
	}
}

// checkMessage fails the test unless Slack shows the text and styles of a part as package markup intended, and finds no
// control sequence in the part.
func checkMessage(t markuptest.TB, spy markuptest.Spy, p markup.Part) {
	t.Helper()
	wire := p.Rendered.Text
	if p.Rendered.Spans != nil || !utf8.ValidString(wire) {
		t.Fatalf("bad text %q", wire)
	}
	if m := controls.FindString(wire); m != "" {
		t.Fatalf("%q has %q", wire, m)
	}
	piece := spy.Pieces[wire]
	want := markuptest.Glyphs(cellsOnly(piece), 6, func(url string) string { return marks.Destination(url, "http", "https", "mailto") })
	for _, f := range piece.Formats {
		if f.Open { // the closing delimiter is still missing, so the style is not shown yet
			return
		}
	}
	if markuptest.Tangled(piece) {
		markuptest.SameText(t, wire, read(t, wire), want)
		return
	}
	markuptest.Same(t, wire, unlinked(read(t, wire)), unlinked(want))
}

// unlinked removes the link style from simple URLs, because the dialect writes no markup for a link whose URL is
// simple. Slack turns a simple URL into a link by itself.
func unlinked(glyphs []markuptest.Glyph) []markuptest.Glyph {
	for i, g := range glyphs {
		if simple.MatchString(g.URL) {
			glyphs[i].URL, glyphs[i].Styles = "", strings.ReplaceAll(g.Styles, "l", "")
		}
	}
	return glyphs
}

// D7, D8, D13, F26-F33, F35: the dialect has the properties that package markuptest checks, for every prefix of each sample
// answer.
func TestAnswersSlack(t *testing.T) {
	t.Parallel()
	written().Answers(t, 4000)
}

func TestNastySlack(t *testing.T) {
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
