package markup

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// appender is a dialect that writes Markdown to which text can be appended: formats that continue later get no closing
// delimiters.
type appender struct{ marker }

func (a appender) Render(p Piece) Rendered {
	p.Formats = append([]Format(nil), p.Formats...)
	end := len(p.Text)
	var open []Format
	for i, f := range p.Formats {
		if f.Open {
			open = append(open, f)
			p.Formats[i].End = end
		}
	}
	r := a.marker.Render(p)
	for i := range open { // the closing delimiter of the outermost format comes last
		r.Text = strings.TrimSuffix(r.Text, closing(open[i], a.marks()))
	}
	return r
}

func (marker) marks() map[Style]string {
	return map[Style]string{Bold: "**", Italic: "_", Strike: "~~", Code: "`", Heading: "**"}
}

// D13: the visible text of a message to which text is appended never changes, whatever follows.
func TestAppendedTextStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.OneOf(markdown(2), nastyMarkdown(), nastyMarkdown()).Draw(t, "src")
		// Remove a rare exception from the source: if a tag and a URL follow a single ~, the layout removes a ~ that it has
		// shown.
		src = strings.ReplaceAll(src, "~<", "~ <")
		checkAppended(t, src, Options{
			Dialect: rapid.SampledFrom([]Dialect{Plain{}, appender{}}).Draw(t, "dialect"),
			Limit:   limits().Draw(t, "limit") + 200,
		})
	})
}

// A URL after a <br> tag is recognized as a link only when its last letter has arrived. When the URL is recognized, the
// layout no longer shows it, until more text has arrived. The text before the tag must nevertheless stay visible.
func TestAppendedTagBeforeAddress(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"世界<br>https://e.org", "a 世**界**<br>https://e.org x", "*_*<br>https://e.org"} {
		checkAppended(t, src, Options{Dialect: Plain{}, Limit: 300})
	}
}

// A URL directly after closing delimiters is recognized as a link only when its last letter has arrived. If the text could
// be cut at a place before the URL, it must be possible to cut it there later, too.
func TestAppendedMarksBeforeAddress(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"***世界***https://e.org", "a **世界**www.e.org x", "_世界_http://e.org"} {
		checkAppended(t, src, Options{Dialect: Plain{}, Limit: 300})
	}
}

// checkAppended lays out every beginning of src, each time with more text. checkAppended fails the test if a later
// layout removes text that an earlier layout has shown.
func checkAppended(t rapid.TB, src string, o Options) {
	t.Helper()
	o.Append = true
	var before []Part
	was := ""
	compare := func(now []Part, src string) {
		for k, p := range before {
			switch {
			case k >= len(now):
				t.Fatalf("%q\nshows %q\nthen %q\nshows %d parts", was, joined(before), src, len(now))
			case !strings.HasPrefix(now[k].Rendered.Text, p.Rendered.Text),
				k < len(before)-1 && (now[k].Rendered.Text != p.Rendered.Text || now[k].Next != p.Next):
				t.Fatalf("%q\nshows in part %d\n     %q\nthen %q\nshows\n     %q\nnext %v, %v", was, k, p.Rendered.Text, src, now[k].Rendered.Text, p.Next, now[k].Next)
			case now[k].Start != p.Start || now[k].End < p.End:
				t.Fatalf("%q\npart %d was %+v\nthen %q\n     %+v", was, k, p, src, now[k])
			}
		}
	}
	o.Open = true
	step := 1 + len(src)/200
	for i := 0; i <= len(src); i += step {
		parts := Layout(src[:i], o)
		checkParts(t, parts, o)
		compare(parts, src[:i])
		before, was = parts, src[:i]
		if i%(16*step) == 0 {
			o.Open = false
			compare(Layout(src[:i], o), src[:i]+" (whole)")
			o.Open = true
		}
	}
}

// nastyMarkdown generates lines with incomplete constructs.
func nastyMarkdown() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"**", "*", "_", "~~", "~", "`", "``", "```", "[", "]", "(", ")", "](https://e.org/x)", "](", "![", "<", ">", "&amp;", "\\", "|",
			"\n", "\n\n", "\n- ", "\n1. ", "\n> ", "\n```go\n", "\n```\n", "\n    ", "\n| a | b |\n|---|:-:|\n| ", "\n# ", "\n---\n", "\n===\n", "\n[1]: https://e.org\n",
			" ", " ", " ", " ", "word", "two words", "more words here, really.", "snake_case", "2 * 3", "~5 km", "a*b", "[1]", "[^1]", "<b>", "</b>", "<div>", "<a href=\"", "\">", "<br>", "<!--", "-->",
			"👨‍👩‍👧", "🇩🇪", "世界", "你好，", "これは", "e\u0301", "❤️", "https://e.org", "www.e.org/a_b", "me@e.org", "[ ] ", "- ", "**bold** ", "*it* ", "`code` ", "[link](https://e.org) ", "\t", "==", "\r\n",
		}), 1, 60).Draw(t, "snippets"), "")
	})
}

func TestAppendShowsWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ src, want string }{
		{"", ""},
		{"one", ""},
		{"one ", "one"},
		{"one two thr", "one two"},
		{"one\n", "one"},
		{"one **two thr", "one"},
		{"one **two** thr", "one **two**"},
		{"one **two**", "one"},
		{"one *two **three", "one"},
		{"one [two", "one"},
		{"one [two] three", "one [two]"},
		{"one [two](https://e", "one"},
		{"one [two](https://e.org) th", "one [two](https://e.org)"},
		{"one `two three", "one"},
		{"one `two` three", "one `two`"},
		{"2 * 3 is six", "2 * 3 is"},
		{"about ~5 km or so", "about ~5 km or"},
		{"snake_case is it", "snake_case is"},
		{"see https://e.org/x", "see"},
		{"see https://e.org/x now", "see [https://e.org/x](https://e.org/x)"},
		{"a < b and so", "a < b and"},
		{"a <b and so", "a"},
		{"open **to\n\nnext one", "open **to\n\nnext"},
		{"Title\n---\ntext here", "Title\n──────────\ntext"},
		{"see [x][1].\n\n[1]: https://e.org\n", "see [x][1].\n\n[1]: [https://e.org](https://e.org)"},
		{"- one two\n- thr", "• one two"},
		{"- one\n- [x] two thr", "• one\n☑ two"},
		{"# Title\n", "**Title"},
		{"text\n\n# Title\n", "text"},
		{"text\n\n# Title\n\nmore of", "text\n\n**Title**\n\nmore"},
		{"```go\na := 1\nb :=", "```go\na := 1\nb"},
		{"```go\na := 1\n```\n", "```go\na := 1"},
		{"```go\na := 1\n```\nso it", "```go\na := 1\n```\nso"},
		{"text\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "text"},
		{"text\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n", "text\n\n```\na  b\n-  -\n1  2"},
		{"text | bar\n", "text | bar"},
		{"世界和平", "世界"},
		{"> one two", "one"},
	} {
		var got []string
		for _, p := range Layout(tt.src, Options{Dialect: appender{}, Limit: 4096, Open: true, Append: true}) {
			got = append(got, p.Rendered.Text)
		}
		if text := strings.Join(got, "\x00"); text != tt.want {
			t.Errorf("%q\n got %q\nwant %q", tt.src, text, tt.want)
		}
	}
}

// If a complete text is laid out with Options.Append, its parts together show the whole text.
func TestAppendedPartsAreTheWholeText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := markdown(2).Draw(t, "src")
		o := Options{Dialect: Plain{}, Limit: limits().Draw(t, "limit"), Append: true}
		parts := Layout(src, o)
		checkParts(t, parts, o)
		o.Limit = 1 << 20
		whole := Layout(src, o)
		if got, want := clusters(joined(parts)), clusters(joined(whole)); !reflect.DeepEqual(got, want) {
			t.Fatalf("graphemes of the parts\n got %q\nwant %q", got, want)
		}
		if n := len(parts); n > 0 && parts[n-1].End != len(src) {
			t.Fatalf("last part ends at %d, source at %d", parts[n-1].End, len(src))
		}
	})
}
