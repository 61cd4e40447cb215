package markup

import (
	"strings"
	"testing"
)

// styledText is a dialect that shows formats as tags, so that the tests can state the expected formats as text.
type styledText struct{ Plain }

func (styledText) Render(p Piece) Rendered {
	names := map[Style]string{
		Bold: "b", Italic: "i", Strike: "s", Code: "code", Pre: "pre", Link: "a", Quote: "q", Heading: "h",
	}
	ends := make(map[int]string)
	starts := make(map[int]string)
	for _, f := range p.Formats {
		name := names[f.Style]
		ends[f.End] = "</" + name + ">" + ends[f.End]
		if f.Style == Link {
			name += " " + f.URL
		}
		if f.Style == Pre && f.Language != "" {
			name += " " + f.Language
		}
		starts[f.Start] += "<" + name + ">"
	}
	var out strings.Builder
	for i := range len(p.Text) + 1 {
		out.WriteString(ends[i])
		out.WriteString(starts[i])
		if i < len(p.Text) {
			out.WriteByte(p.Text[i])
		}
	}
	return Rendered{Text: out.String()}
}

func shown(src string, open bool) string {
	var all []string
	for _, p := range Layout(src, Options{Dialect: styledText{}, Limit: 1 << 20, Open: open}) {
		all = append(all, p.Rendered.Text)
	}
	return strings.Join(all, "\n=====\n")
}

func TestConstructs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, want string }{
		{"nothing", "", ""},
		{"white space", " \n\t\n ", ""},
		{"invisible", "\u200b\u200d", ""},
		{"emphasis", "**b** *i* _i_ ~~s~~ ***bi***", "<b>b</b> <i>i</i> <i>i</i> <s>s</s> <i><b>bi</b></i>"},
		{"intraword underscore", "snake_case_name", "snake_case_name"},
		{"inline code", "`a * b` and ``x ` y``", "<code>a * b</code> and <code>x ` y</code>"},
		{"code over two lines", "`a\nb`", "<code>a b</code>"},
		{"escapes and entities", `\*a\* \_ &amp; &copy; &#35; &#x41; &nope; \q`, `*a* _ & © # A &nope; \q`},
		{"link", `[t **b**](https://e.org/a?b=1&amp;c=2 "title")`, "<a https://e.org/a?b=1&c=2>t <b>b</b></a>"},
		{"autolinks", "<https://e.org> https://e.org/x, a@b.org", "<a https://e.org>https://e.org</a> <a https://e.org/x>https://e.org/x</a>, <a mailto:a@b.org>a@b.org</a>"},
		{"an address after a mark", "**two words**a@b.org a_b.c+d-e@f.org", "<b>two words</b><a mailto:a@b.org>a@b.org</a> <a mailto:a_b.c+d-e@f.org>a_b.c+d-e@f.org</a>"},
		{"addresses of pages", "www.e.org/a_b?c=d (www.e.org/a@b) *https://e.org/~a*", "<a http://www.e.org/a_b?c=d>www.e.org/a_b?c=d</a> (<a http://www.e.org/a@b>www.e.org/a@b</a>) <i><a https://e.org/~a>https://e.org/~a</a></i>"},
		{"image", "![alt](http://i.org/i.png) ![](http://i.org/j.png)", "<a http://i.org/i.png>alt</a> <a http://i.org/j.png>http://i.org/j.png</a>"},
		{"reference link", "[t][1] and [1]\n\n[1]: https://e.org", "<a https://e.org>t</a> and <a https://e.org>1</a>"},
		{"footnote", "fact[^1]\n\n[^1]: https://e.org", "fact[^1]\n\n[^1]: <a https://e.org>https://e.org</a>"},
		{"headings", "# One #\ntext\n\nTwo\n---\n", "<h>One</h>\ntext\n\n<h>Two</h>"},
		{"paragraphs", "a\nb  \nc\\\nd\n\n\n\ne", "a\nb\nc\nd\n\ne"},
		{"rule", "a\n\n***\n\nb", "a\n\n──────────\n\nb"},
		{"quote", "> a\n> > b\n>\n> c", "<q>a\n<q>b</q>\n\nc</q>"},
		{"fenced code", "```go title\nx := 1\n\n  y\n```", "<pre go>x := 1\n\n  y</pre>"},
		{"indented code", "    a\n      b", "<pre>a\n  b</pre>"},
		{"empty code", "a\n\n```\n\n```", "a"},
		{"unclosed fence", "~~~py\nx = 1", "<pre py>x = 1</pre>"},
		{"tight list", "- a\n- b\n  - c\n    - d\n      - e", "• a\n• b\n  ◦ c\n    ▪ d\n      ▪ e"},
		{"loose list", "- a\n\n- b\n\n  more", "• a\n\n• b\n\n  more"},
		{"numbers", "3. a\n4. b\n   lazy\n\n7) c", "3. a\n4. b\n   lazy\n\n7) c"},
		{"tasks", "- [ ] a\n- [x] **b**\n\n1. [x] c", "☐ a\n☑ <b>b</b>\n\n1. ☑ c"},
		{"code in a list", "1. a\n   ```sh\n   ls\n   ```\n2. ```\n   x\n   ```", "1. a\n<pre sh>ls</pre>\n2.\n<pre>x</pre>"},
		{"intro and list", "Todo:\n- a", "Todo:\n• a"},
		{"empty item", "- a\n-\n- b", "• a\n•\n• b"},
		{"table (F33)", "| a | long |\n|--:|:-:|\n| **1** | x |\n| 22 | 世界 |\n| 👍 |", "<pre>a   long\n--  ----\n 1   x\n22  世界\n👍</pre>"},
		{"table below text", "text\na | b\n-|-\n1 | `x\\|y`", "text\n<pre>a  b\n-  ---\n1  x|y</pre>"},
		{"cells lose line breaks", "|a|\n|-|\n|x<br>y|", "<pre>a\n---\nx y</pre>"},
		{"HTML", "<b>x</b><br>y <BR/> z", "<b>x</b>\ny \n z"},
		{"HTML block", "<div>\n*x*\n</div>\n\n<!-- c -->", "<div>\n*x*\n</div>\n\n<!-- c -->"},
		{"carriage returns", "a\r\nb\r\n\r\n```\r\nx\r\n```", "a\nb\n\n<pre>x</pre>"},
		{"control characters", "a\x00b\x07c\u202ed", "abcd"},
		{"invalid UTF-8", "a\xffb", "a\ufffdb"},
		{"a number alone", "2.", "2."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := shown(tt.src, false); got != tt.want {
				t.Errorf("Layout(%q)\n got %q\nwant %q", tt.src, got, tt.want)
			}
		})
	}
}

// F26, F27, F29: TestHealing checks what a preview shows of an unfinished text.
func TestHealing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ src, want string }{
		{"**bo", "<b>bo</b>"},
		{"**bo*", "<b>bo</b>"},
		{"**bo**", "<b>bo</b>"},
		{"**bold *it", "<b>bold <i>it</i></b>"},
		{"*a **b", "<i>a <b>b</b></i>"},
		{"a **b** *", "a <b>b</b>"},
		{"a **", "a"},
		{"a **`", "a"},
		{"2 * 3", "2 * 3"},
		{"2 * ", "2"},
		{"snake_", "snake"},
		{"snake_case", "snake_case"},
		{"~~gone", "<s>gone</s>"},
		{"~~gone~", "<s>gone</s>"},
		{"a ~", "a"},
		{"use `co", "use <code>co</code>"},
		{"use ``co`", "use <code>co</code>"},
		{"use `", "use"},
		{"`a*b", "<code>a*b</code>"},
		{"[te", "<a >te</a>"},
		{"[text]", "<a >text</a>"},
		{"[text](", "<a >text</a>"},
		{"[text](http://exa", "<a >text</a>"},
		{"[text](http://e.org \"ti", "<a >text</a>"},
		{"[text](http://e.org)", "<a http://e.org>text</a>"},
		{"[text][re", "<a >text</a>"},
		{"**[text](http", "<b><a >text</a></b>"},
		{"[note] and", "[note] and"},
		{"fact[^1", "fact[^1"},
		{"see ![al", "see"},
		{"see ![alt](ht", "see"},
		{"see !", "see"},
		{"Hello! You", "Hello! You"},
		{"a <", "a"},
		{"a <https://e.o", "a"},
		{"a <br", "a"},
		{"a < b", "a < b"},
		{"a &am", "a"},
		{"a & b", "a & b"},
		{"a \\", "a"},
		{"a \\\\", "a \\"},
		{"``", ""},
		{"text\n\n```py", "text"},
		{"```py\nx =", "<pre py>x =</pre>"},
		{"```py\nx = 1\n``", "<pre py>x = 1</pre>"},
		{"```py\nx = 1\n```", "<pre py>x = 1</pre>"},
		{"```py\nx = '**", "<pre py>x = '**</pre>"},
		{"> ```\n> x\n> `", "<q><pre>x</pre></q>"},
		{"text\n-", "text"},
		{"text\n---", "text"},
		{"text **b\n--", "text <b>b</b>"},
		{"text\n==", "text"},
		{"text\n---\n", "<h>text</h>"},
		{"text\n\n---", "text"},
		{"- a\n- ", "• a"},
		{"- a\n-", "• a"},
		{"- a\n- **", "• a"},
		{"- a\n- ![x", "• a"},
		{"- a\n  -", "• a"},
		{"1. a\n2", "1. a"},
		{"1. a\n2.", "1. a"},
		{"- [", ""},
		{"- [x", ""},
		{"- [ ] ta", "☐ ta"},
		{"# ", ""},
		{"## Ti", "<h>Ti</h>"},
		{"## **Ti", "<h><b>Ti</b></h>"},
		{"> ", ""},
		{"> **q", "<q><b>q</b></q>"},
		{"text\n| a |", "text"},
		{"text\n\n| a | b |\n", "text"},
		{"text\n\n| a | b |\n|--", "text"},
		{"a | b\n--|-", ""},
		{"| a | b |\n|---|---|", ""},
		{"| a | b |\n|---|---|\n", "<pre>a  b\n-  -</pre>"},
		{"| a | b |\n|---|---|\n| 1 | 2", "<pre>a  b\n-  -</pre>"},
		{"| a | b |\n|---|---|\n| 1 | 2 |\n", "<pre>a  b\n-  -\n1  2</pre>"},
		{"a\n\n[1]: htt", "a"},
		{"[1", ""},
		{"a **b\n\nc", "a **b\n\nc"},
		{"**b\n", "<b>b</b>"},
		{"a 👩\u200d", "a"},
		{"a 👩\u200d💻", "a"}, // a joiner and another emoji may follow and change this emoji
		{"a 👩\u200d💻 ", "a 👩\u200d💻"},
		{"a 👩", "a"},
		{"a 👩.", "a 👩."},
		{"caf\u00e9", "caf"},
		{"caf\u00e9 ", "caf\u00e9"},
		{"a 世界", "a 世界"},
		{"a 🇩", "a"},
		{"a 🇩🇪🇫", "a 🇩🇪"},
		{"a 1\ufe0f", "a"},
		{"a ❤\ufe0f", "a"},
		{"a ❤\ufe0f ", "a ❤\ufe0f"},
		{"a \xf0\x9f\x91", "a"},
	} {
		if got := shown(tt.src, true); got != tt.want {
			t.Errorf("open %q\n got %q\nwant %q", tt.src, got, tt.want)
		}
	}
}

// With Options.Paused, the last character counts as complete, and open constructs are still closed.
func TestPaused(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{"**a 👩\u200d💻": "<b>a 👩\u200d💻</b>", "caf\u00e9": "caf\u00e9", "a ❤\ufe0f": "a ❤\ufe0f", "a 👩\u200d": "a", "a 🇩": "a"} {
		parts := Layout(src, Options{Dialect: styledText{}, Limit: 4096, Open: true, Paused: true})
		if len(parts) != 1 || parts[0].Rendered.Text != want {
			t.Errorf("%q: %+v, want %q", src, parts, want)
		}
	}
}

// cutText lays out src in parts of at most limit code points.
func cutText(src string, limit int) []string {
	var out []string
	for _, p := range Layout(src, Options{Dialect: styledText{}, Limit: limit}) {
		out = append(out, p.Rendered.Text)
	}
	return out
}

// D8, F31, F32: TestPlaces checks at which places a text is cut into parts.
func TestPlaces(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.TrimSpace(strings.Repeat("xxxx ", n/5)) }
	for _, tt := range []struct {
		name  string
		src   string
		limit int
		want  []string
	}{
		{"block", x(50) + "\n\n" + x(20) + "\n\n" + x(30), 80, []string{x(50) + "\n\n" + x(20), x(30)}},
		{"line", x(50) + "\n" + x(20) + "\n" + x(30), 80, []string{x(50) + "\n" + x(20), x(30)}},
		{"sentence", x(50) + ". " + x(40), 70, []string{x(50) + ".", x(40)}},
		{"word", x(100), 62, []string{x(60), x(40)}},
		{"ideographs", strings.Repeat("世", 70) + "。好", 70, []string{strings.Repeat("世", 69), "世。好"}},
		{"grapheme", strings.Repeat("👨‍👩‍👧", 30), 62, []string{strings.Repeat("👨‍👩‍👧", 12), strings.Repeat("👨‍👩‍👧", 12), strings.Repeat("👨‍👩‍👧", 6)}},
		{"heading stays with its text", x(50) + "\n\n# " + x(10) + "\n\n" + x(40), 70, []string{x(50), "<h>" + x(10) + "</h>\n\n" + x(40)}},
		{"a mark stays with its item", x(55) + "\n- " + strings.Repeat("y", 40), 62, []string{x(55), "• " + strings.Repeat("y", 40)}},
		{"late code moves", x(50) + "\n\n```go\n" + x(20) + "\n" + x(20) + "\n```", 80, []string{x(50), "<pre go>" + x(20) + "\n" + x(20) + "</pre>"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range Layout(tt.src, Options{Dialect: longTags{}, Limit: tt.limit}) {
				got = append(got, p.Rendered.Text)
			}
			if strings.Join(got, "\x00") != strings.Join(tt.want, "\x00") {
				t.Errorf("parts\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

// longTags shows formats as styledText does, but does not count the tags in the length.
type longTags struct{ styledText }

func (longTags) Len(r Rendered) int {
	n, tag := 0, false
	for _, c := range r.Text {
		switch {
		case c == '<':
			tag = true
		case c == '>':
			tag = false
		case !tag:
			n++
		}
	}
	return n
}

// F29, F32: if a code block is cut, each of its parts has a fence, with the language.
func TestFenceIsReopened(t *testing.T) {
	t.Parallel()
	src := "```go\n" + strings.Repeat("aaaa aaaa\n", 12) + "```"
	line := "aaaa aaaa"
	want := []string{
		"<pre go>" + strings.TrimSpace(strings.Repeat(line+"\n", 5)) + "</pre>",
		"<pre go>" + strings.TrimSpace(strings.Repeat(line+"\n", 5)) + "</pre>",
		"<pre go>" + line + "\n" + line + "</pre>",
	}
	if got := cutText(src, 70); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		t.Errorf("parts\n got %q\nwant %q", got, want)
	}
}

func TestTinyLimitsEnd(t *testing.T) {
	t.Parallel()
	const src = "# 👨‍👩‍👧 Title\n\n- **a** `code`\n\n```go\n  x\n```\n\n|a|b|\n|-|-|\n|1|2|"
	whole := bare(joined(Layout(src, Options{Dialect: Plain{}, Limit: 4096})))
	for limit := 2; limit < 20; limit++ {
		if got := bare(joined(Layout(src, Options{Dialect: Plain{}, Limit: limit}))); got != whole {
			t.Errorf("limit %d\n got %q\nwant %q", limit, got, whole)
		}
	}
}

func TestEndIsWhatIsShown(t *testing.T) {
	t.Parallel()
	const src = "Some **bold** text. More of it here, and more.\n\n- item one\n- item two\n\nThe end **is"
	parts := Layout(src, Options{Dialect: Plain{}, Limit: 60, Open: true})
	if len(parts) != 2 {
		t.Fatalf("parts = %d, want 2: %q", len(parts), joined(parts))
	}
	if got, want := src[:parts[0].End], "Some **bold** text. More of it here, and more.\n\n"; got != want {
		t.Errorf("first part ends after %q, want %q", got, want)
	}
	if parts[1].End != len(src) {
		t.Errorf("last part ends at %d, want %d", parts[1].End, len(src))
	}
}

// Layout must apply link definitions before Options.From also to the text after this Mark.
func TestDefinitionsBeforeTheMark(t *testing.T) {
	t.Parallel()
	src := "[1]: https://e.org\n\nfirst\n\nsee [here][1] **and"
	from := Mark{Offset: strings.Index(src, "see")}
	parts := Layout(src, Options{Dialect: styledText{}, Limit: 4096, From: from, Open: true})
	if len(parts) != 1 || parts[0].Rendered.Text != "see <a https://e.org>here</a> <b>and</b>" {
		t.Errorf("parts = %+v", parts)
	}
}

// A Mark may point outside of the text, because the layout has changed since the Mark was made. If a Mark points
// outside of the text, Layout must return the whole text, or nothing.
func TestMarkBeyondTheText(t *testing.T) {
	t.Parallel()
	for _, m := range []Mark{{Line: 9}, {Col: 99}, {Offset: 99}, {Offset: -1}, {Line: -1, Col: -1}} {
		for _, p := range Layout("some text", Options{Dialect: Plain{}, Limit: 99, From: m}) {
			if p.Plain != "some text" {
				t.Errorf("from %v: %q", m, p.Plain)
			}
		}
	}
}

// For some meaningless texts, the time that the parser needs grows with the square of the length. The limits in
// bounds.go must keep this time small.
func TestNonsenseIsCheap(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"*a_ ", "[", "![", "[a](", "[a][", "`a``b```c ", "<a ", ">", "> > ", "- ", "* a ", "**a *b ", "_a ", "1. ", "![a](b)", "\n- a\n  ", "世*", "| a ",
	} {
		src := strings.Repeat(s, 32<<10/len(s))
		for _, open := range []bool{false, true} {
			o := Options{Dialect: Plain{}, Limit: 4096, Open: open}
			checkParts(t, Layout(src, o), o)
		}
	}
}

// The time for laying out text that looks like a URL must grow only linearly. If the time grew with the square of the
// text's length, this test would take hours.
func TestNoAddressIsCheap(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"_a", "ab_", "a.b-c", "*a@", "(www."} {
		if parts := Layout(strings.Repeat(s, 1<<20/len(s)), Options{Dialect: Plain{}, Limit: 4096}); len(parts) == 0 {
			t.Errorf("%q over and over: nothing is shown", s)
		}
	}
}

func FuzzLayout(f *testing.F) {
	f.Add("# a\n\n- **b** `c`\n\n| x |\n|---|\n| y |\n", 60, true)
	f.Add("```go\nx\n```\n> q\n\n[a](b) ![c](d) <e> &amp; \\*", 100, false)
	f.Add("a \xf0\x9f👩\u200d", 77, true)
	f.Fuzz(func(t *testing.T, src string, limit int, open bool) {
		o := Options{Dialect: Plain{}, Limit: 60 + max(0, limit)%4096, Open: open}
		parts := Layout(src, o)
		checkParts(t, parts, o)
		o.Limit = 1 << 30
		seen := func(parts []Part) string {
			return strings.Map(func(r rune) rune {
				if !Visible(string(r)) { // a part that contains only invisible characters is not sent
					return -1
				}
				return r
			}, joined(parts))
		}
		if got, want := seen(parts), seen(Layout(src, o)); got != want {
			t.Errorf("parts joined\n got %q\nwant %q", got, want)
		}
	})
}

func TestUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "äß": 2, "世界": 2, "🦊": 2, "👨‍👩‍👧": 8} {
		if got := Units(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}
