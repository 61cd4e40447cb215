package markuptest

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"telex/internal/markup"
)

// TB contains those methods of testing.TB that the checks use.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Prefixes lays out src and prefixes of src, each of which is step bytes longer than the one before. Prefixes lays out
// each text as a preview, as a final, and for a message to which text can only be appended. Prefixes fails the test if
// a part exceeds the limit, if the parts don't show the whole text exactly once, or if a part breaks a grapheme.
// Prefixes calls the function valid for each part; valid fails the test if the part is wrong. Prefixes returns how many
// bytes of visible text disappeared from one preview to the next, in total.
func Prefixes(t TB, d markup.Dialect, src string, limit, step int, valid func(markup.Part)) (flicker int) {
	t.Helper()
	c := checker{TB: t, dialect: d, limit: limit, valid: valid}
	seen := ""
	grows := utf8.ValidString(src) // invalid characters may disappear later, but models don't write any
	var grown []markup.Part
	for i := 0; ; i = min(i+step, len(src)) {
		c.src = src[:i]
		open := c.joined(markup.Options{Open: true})
		flicker += len(seen) - common(seen, open)
		seen = open
		if grows {
			grown = c.grows(grown, markup.Options{Open: true, Append: true})
		}
		if i == len(src) {
			break
		}
	}
	c.joined(markup.Options{})
	if grows {
		c.grows(grown, markup.Options{Append: true})
	}
	return flicker
}

// common returns the length of the common prefix of a and b, in bytes.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

type checker struct {
	TB
	dialect markup.Dialect
	src     string
	limit   int
	valid   func(markup.Part)
}

// joined makes a layout, checks its parts, and returns their text.
func (c *checker) joined(o markup.Options) string {
	c.Helper()
	parts := c.layout(o)
	o.Dialect, o.Limit = c.dialect, 1<<20
	whole := markup.Layout(c.src, o)
	if got, want := clusters(text(parts)), clusters(text(whole)); !slices.Equal(got, want) {
		c.Fatalf("%q, %+v: graphemes of the parts\n got %q\nwant %q", c.src, o, got, want)
	}
	return strings.TrimRight(text(whole), "\n")
}

// layout returns the parts of a layout. layout checks that the parts fit and are valid.
func (c *checker) layout(o markup.Options) []markup.Part {
	c.Helper()
	o.Dialect, o.Limit = c.dialect, c.limit
	parts := markup.Layout(c.src, o)
	for i, p := range parts {
		switch n := c.dialect.Len(p.Rendered); {
		case n > c.limit:
			c.Fatalf("%q, %+v: part %d is %d long: %q", c.src, o, i, n, p.Rendered.Text)
		case !utf8.ValidString(p.Rendered.Text), !utf8.ValidString(p.Plain), p.Plain == "", strings.TrimSpace(p.Plain) != p.Plain:
			c.Fatalf("%q, %+v: part %d is %q, plain %q", c.src, o, i, p.Rendered.Text, p.Plain)
		case strings.ContainsFunc(p.Plain, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }):
			c.Fatalf("%q, %+v: part %d has control characters: %q", c.src, o, i, p.Plain)
		case i > 0 && (parts[i-1].Next != p.Start || parts[i-1].End > p.End):
			c.Fatalf("%q, %+v: part %d begins at %v, the one before ends at %v", c.src, o, i, p.Start, parts[i-1].Next)
		}
		c.valid(p)
	}
	return parts
}

// grows makes a layout for a message to which text can only be appended, and compares it with the parameter before, the
// layout of the previous prefix.
func (c *checker) grows(before []markup.Part, o markup.Options) []markup.Part {
	c.Helper()
	parts := c.layout(o)
	if len(parts) < len(before) {
		c.Fatalf("%q: %d parts, had %d: %q", c.src, len(parts), len(before), text(before))
	}
	for i, was := range before {
		now := parts[i]
		switch {
		case !strings.HasPrefix(now.Rendered.Text, was.Rendered.Text), i < len(before)-1 && now.Rendered.Text != was.Rendered.Text:
			c.Fatalf("%q: part %d was\n%q, is\n%q", c.src, i, was.Rendered.Text, now.Rendered.Text)
		case now.Start != was.Start, i < len(before)-1 && now.Next != was.Next, now.End < was.End:
			c.Fatalf("%q: part %d was %+v, is %+v", c.src, i, was, now)
		case !keeps(was.Rendered.Spans, now.Rendered.Spans):
			c.Fatalf("%q: part %d had %+v, has %+v", c.src, i, was.Rendered.Spans, now.Rendered.Spans)
		}
	}
	return parts
}

// keeps reports whether each span in was still exists in now, perhaps longer. keeps ignores the order of the spans: of
// two spans with the same start, the longer one comes first, so the order changes when the shorter one outgrows the
// longer one.
func keeps(was, now []markup.Span) bool {
	was, now = longestFirst(was), longestFirst(now)
	for _, s := range was {
		i := slices.IndexFunc(now, func(n markup.Span) bool {
			longer := n.Length >= s.Length
			n.Length = s.Length
			return longer && n == s
		})
		if i < 0 {
			return false
		}
		now = slices.Delete(now, i, i+1)
	}
	return true
}

func longestFirst(spans []markup.Span) []markup.Span {
	return slices.SortedFunc(slices.Values(spans), func(a, b markup.Span) int { return b.Length - a.Length })
}

func text(parts []markup.Part) string {
	var s strings.Builder
	for _, p := range parts {
		s.WriteString(p.Plain + "\n")
	}
	return s.String()
}

// clusters returns the visible graphemes of s.
func clusters(s string) []string {
	var out []string
	for g := graphemes.FromString(s); g.Next(); {
		if strings.ContainsFunc(g.Value(), func(r rune) bool {
			return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cf, unicode.Mn) && r != '\ufe0f'
		}) {
			out = append(out, g.Value())
		}
	}
	return out
}
