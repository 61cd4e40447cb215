package markuptest

import (
	"slices"
	"strings"
	"testing"

	"telex/internal/markup"
)

// Written tests a dialect that writes both the text and its formatting into one string. The function Check parses this
// string as the platform would.
type Written struct {
	Dialect markup.Dialect
	Limit   int // maximum length of a message on the platform
	// Check fails the test if the platform would not show the part p as it was laid out. The parameter spy contains the
	// piece of each rendered text.
	Check func(t TB, spy Spy, p markup.Part)
}

// shortest is the smallest message limit in the tests. Every dialect must work with this message limit.
const shortest = 100

func (w Written) spy() Spy { return Spy{Dialect: w.Dialect, Pieces: map[string]markup.Piece{}} }

// Render renders a source that fits into one message.
func (w Written) Render(t TB, src string) string {
	t.Helper()
	spy := w.spy()
	parts := markup.Layout(src, markup.Options{Dialect: spy, Limit: w.Limit})
	if len(parts) != 1 {
		t.Fatalf("Layout(%q) has %d parts, want 1", src, len(parts))
	}
	w.Check(t, spy, parts[0])
	return parts[0].Rendered.Text
}

// Construct is a sample of Markdown with the text that a dialect must write for it.
type Construct = struct{ Name, Source, Want string }

// j is the invisible character marks.Joiner, which tests need often.
const j = "\u2060"

// constructs returns constructs for which all dialects that write Markdown must write the same text.
func constructs() []Construct {
	return []Construct{
		{"plain", "a.b!c(d)-e", "a.b!c(d)-e"},
		{"styles", "x **b** *i* ~~s~~ `c`", "x **b** *i* ~~s~~ `c`"},
		{"underscores", "x __b__ _i_", "x **b** *i*"},
		{"nested", "**a *b* c** *a **b** c*", "**a *b* c** *a **b** c*"},
		{"same range", "***a***", "***a***"},
		{"ends together", "**a *b*** *a **b***", "**a *b*** *a **b***"},
		{"begins together", "***a** b* ***a* b**", "***a** b* ***a* b**"},
		{"in a word", "a**b**c a*b*c", "a**b**c a*b*c"},
		{"bold after bold", "**a**__b__", "**a**" + j + "**b**"},
		{"italic after bold", "**a**_b_", "**a**" + j + "*b*"},
		{"bold that ends with punctuation", "**Note:** a **b!**", "**Note:** a **b!**"},
		{"code in bold", "**a `b` c**", "**a `b` c**"},
		{"code first", "`a` b", "``a`` b"},
		{"fence", "a\n\n```go\nx < 1 && y\n\n\tz\n```\nb", "a\n\n```go\nx < 1 && y\n\n\tz\n```\nb"},
		{"fence in a fence", "````md\n```\nx\n```\n````", "```md\n``" + j + "`\nx\n``" + j + "`\n```"},
		{"indented code", "    a\n      b", "```\na\n  b\n```"},
		{"code in a quote", "> a\n> ```\n> x\n>   y\n> ```\n> b", "> a\n> ```\n> x\n>   y\n> ```\n> b"},
		{"rule", "a\n\n---\n\nb", "a\n\n──────────\n\nb"},
		{"link", "see [the *page*](https://e.org/?a=1&b=2)!", "see [the *page*](https://e.org/?a=1&b=2)!"},
		{"bold link", "**a [b](https://e.org) c**", "**a [b](https://e.org) c**"},
		{"bold in a link", "[**a**](https://e.org)", "[**a**](https://e.org)"},
	}
}

// Constructs checks what the dialect writes for its own constructs and for the common ones.
func (w Written) Constructs(t *testing.T, own []Construct) {
	t.Helper()
	for _, c := range slices.Concat(constructs(), own) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if got := w.Render(t, c.Source); got != c.Want {
				t.Errorf("Layout(%q)\n got %q\nwant %q", c.Source, got, c.Want)
			}
		})
	}
}

// Prefixes checks the layouts of src and of prefixes of src, each of which is step bytes longer than the one before.
func (w Written) Prefixes(t TB, src string, limit, step int) {
	t.Helper()
	spy := w.spy()
	Prefixes(t, spy, src, limit, step, func(p markup.Part) { w.Check(t, spy, p) })
}

// Answers checks the prefixes of every typical answer, with two limits on the length of a message.
func (w Written) Answers(t *testing.T, longest int) {
	t.Helper()
	for name, src := range Answers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, limit := range []int{shortest, longest} {
				w.Prefixes(t, src, limit, 7)
			}
		})
	}
}

// Nasty checks the same difficult sources in each run. Random sources would sometimes fail a test although the code is
// unchanged, because no dialect that writes one string can write all nested delimiters correctly. Fuzz searches for
// more sources that fail.
func (w Written) Nasty(t *testing.T) {
	t.Helper()
	for seed := range 150 {
		w.Prefixes(t, Nasty().Example(seed), shortest+seed, 1)
	}
}

// Fuzz checks arbitrary sources that the fuzzer generates. The fuzzed limit of a message is between shortest and
// shortest+longer.
func (w Written) Fuzz(f *testing.F, longer int) {
	f.Helper()
	f.Fuzz(func(t *testing.T, src string, limit int, open bool) {
		spy := w.spy()
		for _, p := range markup.Layout(src, markup.Options{Dialect: spy, Limit: shortest + max(0, limit)%longer, Open: open}) {
			w.Check(t, spy, p)
		}
	})
}

// Measure is the benchmark of a dialect. Measure lays out a typical answer in messages that are not longer than limit.
func Measure(b *testing.B, d markup.Dialect, limit int) {
	b.Helper()
	src := strings.Repeat("Some **bold** text with `code` and a [link](https://e.org).\n\n- item\n- item\n\n", 50)
	for b.Loop() {
		markup.Layout(src, markup.Options{Dialect: d, Limit: limit})
	}
}
