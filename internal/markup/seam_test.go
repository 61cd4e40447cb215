package markup

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// seamPieces generates pieces of Markdown, which the test joins. The constructs in these pieces are closed late or
// never, and each piece contains a word that occurs only once.
func seamPieces() *rapid.Generator[[]string] {
	return rapid.Custom(func(t *rapid.T) (out []string) {
		for i := range rapid.IntRange(2, 25).Draw(t, "pieces") {
			w := fmt.Sprintf("w%dx", i)
			out = append(out, rapid.SampledFrom([]string{
				w + " ", w + " ", w + ".\n\n", w + " **", w + "*", w + " _", w + " ~~", w + " `", w + "\n```go\n", w + "\n```\n",
				"- " + w + "\n", "  - " + w + "\n", "1. " + w + "\n", "> " + w + "\n", "# " + w + "\n", w + "\n---\n", w + "\n===\n",
				"\n| a | b |\n|---|---|\n| " + w + " | 2 |\n", "[" + w + "](https://example.org) ", w + " [half](htt", w + " &amp; ",
				w + ` \*`, w + " <b>", "- [ ] " + w + "\n", w + " é̂🇩🇪 ",
			}).Draw(t, "piece"))
		}
		return out
	})
}

var seamWord = regexp.MustCompile(`w\d+x`)

// The test ends a part, and begins the next part, before all text of these parts is known. Text that arrives later may
// then change the layout of earlier text. All parts together must nevertheless show each word once, and in order.
func TestNoWordIsShownTwiceAtASeam(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := seamPieces().Draw(t, "pieces")
		o := Options{Dialect: Plain{}, Limit: limits().Draw(t, "limit"), Open: true}
		var shown []string
		src := ""
		for i, piece := range pieces {
			src += piece
			if i < len(pieces)-1 && rapid.IntRange(0, 3).Draw(t, "full") > 0 {
				continue
			}
			for _, p := range Layout(src, o) {
				shown, o.From = append(shown, p.Plain), p.Next
			}
		}
		got := seamWord.FindAllString(strings.Join(shown, "\n"), -1)
		want := seamWord.FindAllString(src, -1)
		if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("%q\nis shown as %q", src, shown)
		}
	})
}

// Layout adds closing delimiters for open formats. A closing delimiter that Layout has added is not in the source, so
// it must not count as shown source.
func TestRegressionClosingMarksAreNotShownSource(t *testing.T) {
	o, src := Options{Dialect: Plain{}, Limit: 60, Open: true}, ""
	for _, piece := range []string{"a _", "b **", "c*", "- d\n", "e \\*"} {
		src += piece
		for _, p := range Layout(src, o) {
			if o.From = p.Next; o.From.Shown > len(src) {
				t.Errorf("%d of the %d bytes of %q are shown", o.From.Shown, len(src), src)
			}
		}
	}
	if got := Layout(src+"word", Options{Dialect: Plain{}, Limit: 60, From: o.From}); len(got) != 1 || got[0].Plain != "word" {
		t.Errorf("the next part is %+v, want the whole word", got)
	}
}

// If a closing delimiter that Layout has added closes nothing, the parser reads it as text. A closing delimiter that
// Layout has added is not in the source, so no preview may show it.
func TestRegressionClosingMarksAreNotShown(t *testing.T) {
	src := "~~b ~~c~~~~ ~~d e~~\n"
	parts := Layout(src, Options{Dialect: Plain{}, Limit: 60, Open: true})
	if want := "~~b ~~c~~~~ ~~d e~~"; len(parts) != 1 || parts[0].Plain != want {
		t.Fatalf("got %+v, want %q", parts, want)
	}
	if rest := Layout(src, Options{Dialect: Plain{}, Limit: 60, Open: true, From: parts[0].Next}); len(rest) != 0 {
		t.Errorf("behind the last part are %+v", rest)
	}
}
