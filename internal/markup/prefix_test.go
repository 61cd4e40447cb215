package markup_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"telex/internal/markup"
	"telex/internal/markup/markuptest"
)

// unit is the dialect Plain with another unit of length.
type unit struct {
	markup.Plain
	len func(string) int
}

func (u unit) Len(r markup.Rendered) int { return u.len(r.Text) }

func units() []markup.Dialect {
	return []markup.Dialect{
		markup.Plain{},
		unit{len: func(s string) int { return len(s) }},
		unit{len: func(s string) int { return len(utf16.Encode([]rune(s))) }},
	}
}

// TestAnswersPlain checks the layouts of each beginning of an answer, in each unit of length, with small and large
// limits (D7, D8, F26, F30, F31).
func TestAnswersPlain(t *testing.T) {
	t.Parallel()
	for name, src := range markuptest.Answers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, d := range units() {
				for _, limit := range []int{60, 400, 4096} {
					step := 3
					if i > 0 || limit > 60 {
						step = 19
					}
					markuptest.Prefixes(t, d, src, limit, step, func(markup.Part) {})
				}
			}
		})
	}
}

func TestNastyPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(units()).Draw(t, "dialect")
		markuptest.Prefixes(t, d, markuptest.Nasty().Draw(t, "src"), rapid.IntRange(60, 400).Draw(t, "limit"), 1, func(markup.Part) {})
	})
}

// F26, F27: each preview must show all text that the preview before it showed, except where Markdown itself changes
// earlier text. The test counts the bytes that disappear because Markdown changes earlier text.
func TestHealingIsStable(t *testing.T) {
	t.Parallel()
	changes := map[string]struct {
		most int
		why  string
	}{
		"links":     {90, "definitions that come after what refers to them"},
		"setext":    {20, "underlined headings, emphasis that is never closed"},
		"table":     {210, "columns that get wider"},
		"emoji":     {0, ""},
		"footnotes": {4, "brackets that are no link"},
	}
	for name, src := range markuptest.Answers(t) {
		got := markuptest.Prefixes(t, markup.Plain{}, src, 4096, 1+len(src)/400, func(markup.Part) {})
		if want := changes[name]; got > want.most {
			t.Errorf("%s: %d bytes were taken back, want at most %d for %s", name, got, want.most, want.why)
		} else if got > 0 {
			t.Logf("%s: %d bytes taken back for %s", name, got, want.why)
		}
	}
}

// D7, D8, D13: FuzzPrefixes lays out random texts, cut at random places.
func FuzzPrefixes(f *testing.F) {
	for _, src := range markuptest.Answers(f) {
		f.Add(src[:200], 100, 40)
	}
	f.Add("**a *b** c* [d](e", 60, 1)
	f.Fuzz(func(t *testing.T, src string, limit, step int) {
		if len(src) > 1000 {
			return
		}
		src = strings.ToValidUTF8(src, "�") // the sources must be valid UTF-8, as texts that are decoded from JSON are
		step = max(step%100, 1+len(src)/8)
		markuptest.Prefixes(t, markup.Plain{}, src, 60+max(limit, 0)%1000, step, func(markup.Part) {})
	})
}
