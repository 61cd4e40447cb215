package markup

import (
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"
)

// marker is a dialect that writes delimiters into the text, as the dialects of Discord and Slack do. So in this
// dialect, the rendered text is longer than the piece.
type marker struct{ Plain }

func (marker) Render(p Piece) Rendered {
	type edge struct {
		at   int
		text string
	}
	var edges []edge
	marks := map[Style]string{Bold: "**", Italic: "_", Strike: "~~", Code: "`", Heading: "**"}
	var open []Format
	closeTo := func(at int) {
		for len(open) > 0 && open[len(open)-1].End <= at {
			f := open[len(open)-1]
			edges = append(edges, edge{f.End, closing(f, marks)})
			open = open[:len(open)-1]
		}
	}
	for _, f := range p.Formats {
		closeTo(f.Start)
		edges = append(edges, edge{f.Start, opening(f, marks)})
		open = append(open, f)
	}
	closeTo(len(p.Text))
	var out strings.Builder
	at := 0
	for _, e := range edges {
		out.WriteString(p.Text[at:e.at] + e.text)
		at = e.at
	}
	return Rendered{Text: out.String() + p.Text[at:]}
}

func opening(f Format, marks map[Style]string) string {
	switch f.Style {
	case Pre:
		return "```" + f.Language + "\n"
	case Link:
		return "["
	}
	return marks[f.Style]
}

func closing(f Format, marks map[Style]string) string {
	switch f.Style {
	case Pre:
		return "\n```"
	case Link:
		return "](" + f.URL + ")"
	}
	return marks[f.Style]
}

// bare returns s without white space.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func joined(parts []Part) string {
	var s strings.Builder
	for _, p := range parts {
		s.WriteString(p.Plain)
		s.WriteString("\n")
	}
	return s.String()
}

func clusters(s string) []string {
	var out []string
	for g := graphemes.FromString(s); g.Next(); {
		if bare(g.Value()) != "" {
			out = append(out, g.Value())
		}
	}
	return out
}

// checkParts fails the test if a platform would not accept the parts.
func checkParts(t rapid.TB, parts []Part, o Options) {
	t.Helper()
	for i, p := range parts {
		if n := o.Dialect.Len(p.Rendered); n > o.Limit {
			t.Fatalf("part %d is %d long, limit %d: %q", i, n, o.Limit, p.Rendered.Text)
		}
		if !utf8.ValidString(p.Rendered.Text) || strings.TrimSpace(p.Plain) != p.Plain || p.Plain == "" {
			t.Fatalf("part %d: bad text %q", i, p.Plain)
		}
		if i > 0 && (parts[i-1].Next != p.Start || parts[i-1].End > p.End) {
			t.Fatalf("part %d begins at %v, part before ends at %v (ends %d, %d)", i, p.Start, parts[i-1].Next, parts[i-1].End, p.End)
		}
	}
}

func limits() *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(60, 200), rapid.SampledFrom([]int{60, 400, 1000, 2000, 4096}))
}

func dialects() *rapid.Generator[Dialect] {
	return rapid.SampledFrom([]Dialect{Plain{}, Plain{}, marker{}})
}

// F30, F31, F32: the parts of a text must fit the limit and break no grapheme. Joined, the parts must be the whole
// text.
func TestPartsAreTheWholeText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := markdown(2).Draw(t, "src")
		o := Options{Dialect: dialects().Draw(t, "dialect"), Limit: limits().Draw(t, "limit")}
		if _, ok := o.Dialect.(marker); ok {
			o.Limit += 200 // leave room for the delimiters of deeply nested formats
		}
		parts := Layout(src, o)
		checkParts(t, parts, o)
		whole := Layout(src, Options{Dialect: o.Dialect, Limit: 1 << 20})
		if got, want := bare(joined(parts)), bare(joined(whole)); got != want {
			t.Fatalf("parts joined\n got %q\nwant %q", got, want)
		}
		if got, want := clusters(joined(parts)), clusters(joined(whole)); !reflect.DeepEqual(got, want) {
			t.Fatalf("graphemes of the parts\n got %q\nwant %q", got, want)
		}
		if n := len(parts); n > 0 && parts[n-1].End != len(src) {
			t.Fatalf("last part ends at %d, source at %d", parts[n-1].End, len(src))
		}
	})
}

// If a layout begins at the Mark at which a part ends, it must return the parts after this part.
func TestLayoutGoesOnFromAMark(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := markdown(2).Draw(t, "src")
		o := Options{Dialect: Plain{}, Limit: limits().Draw(t, "limit"), Open: rapid.Bool().Draw(t, "open")}
		parts := Layout(src, o)
		for i, p := range parts {
			o.From = p.Next
			rest := Layout(src, o)
			want := parts[i+1:]
			if len(rest) == 0 && len(want) == 0 {
				continue
			}
			if !reflect.DeepEqual(rest, want) {
				t.Fatalf("from %v\n got %+v\nwant %+v", p.Next, rest, want)
			}
		}
	})
}

// F26, F27, F29: every beginning of a text must be shown in a valid form, and a preview of the finished text must look
// like the final.
func TestEveryPrefixIsValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := markdown(2).Draw(t, "src")
		o := Options{Dialect: Plain{}, Limit: limits().Draw(t, "limit"), Open: true}
		step := 1 + len(src)/200
		for i := rapid.IntRange(0, step).Draw(t, "first"); i < len(src); i += step {
			parts := Layout(src[:i], o)
			checkParts(t, parts, o)
			for _, p := range parts {
				if strings.ContainsRune(p.Plain, utf8.RuneError) {
					t.Fatalf("prefix %q shows half a character: %q", src[:i], p.Plain)
				}
			}
		}
		src += "\n\n"
		open := Layout(src, o)
		o.Open = false
		if closed := Layout(src, o); !reflect.DeepEqual(open, closed) {
			t.Fatalf("finished text\n open %+v\nclosed %+v", open, closed)
		}
	})
}

// While the source grows, a part that is not the last one must keep its text and its end.
func TestSealedPartsStay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := stableMarkdown().Draw(t, "src")
		o := Options{Dialect: Plain{}, Limit: rapid.IntRange(60, 120).Draw(t, "limit"), Open: true}
		var sealed []Part
		for i := range len(src) {
			parts := Layout(src[:i], o)
			// While text at the end is not shown yet, a part that was complete can be the last one again for a moment.
			for k, s := range sealed[:max(0, min(len(sealed), len(parts)-1))] {
				if parts[k].Plain != s.Plain || parts[k].Next != s.Next {
					t.Fatalf("prefix %q\npart %d was %+v\nnow %+v", src[:i], k, s, parts[k:])
				}
			}
			if n := len(parts) - 1; n > len(sealed) {
				sealed = parts[:n]
			}
		}
	})
}

// stableMarkdown generates text without constructs that change earlier text: no delimiters that are never closed, no
// tables and no link definitions.
func stableMarkdown() *rapid.Generator[string] {
	word := rapid.SampledFrom([]string{"alpha", "beta,", "gamma.", "I", "end!", "snake_case", "世界", "これは長い文です。", "👨‍👩‍👧", "🇩🇪", "naïve", "longerwordhere"})
	return rapid.Custom(func(t *rapid.T) string {
		var out strings.Builder
		sentence := func() string { return strings.Join(rapid.SliceOfN(word, 1, 12).Draw(t, "words"), " ") }
		for range rapid.IntRange(2, 8).Draw(t, "blocks") {
			switch rapid.IntRange(0, 6).Draw(t, "kind") {
			case 0:
				out.WriteString("## " + sentence() + "\n\n")
			case 1:
				out.WriteString("- " + sentence() + "\n- **" + sentence() + "** " + sentence() + "\n  1. " + sentence() + "\n\n")
			case 2:
				out.WriteString("```go\n" + sentence() + "\n  " + sentence() + "\n```\n\n")
			case 3:
				out.WriteString("> " + sentence() + "\n> " + sentence() + "\n\n")
			case 4:
				out.WriteString(sentence() + " [" + word.Draw(t, "link") + " " + word.Draw(t, "link") + "](https://example.org/x) `" + sentence() + "` " + sentence() + "\n\n")
			default:
				out.WriteString(sentence() + " *" + sentence() + "* " + sentence() + "\n" + sentence() + "\n\n")
			}
		}
		return out.String()
	})
}
