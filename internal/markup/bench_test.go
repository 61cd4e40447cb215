package markup

import (
	"runtime"
	"strings"
	"testing"
)

// prose returns about n bytes of Markdown that looks like a model's answer.
func prose(n int) string {
	const page = "## The tides\n\nThe **Moon** pulls on the *near* side more than on the `far` one, which is why there are " +
		"two bulges; see [the article](https://example.org/tides) for a proof.\n\n- spring tides: Sun and Moon in line\n" +
		"- neap tides: at a right angle\n\n```go\nfunc tide(t float64) float64 {\n\treturn math.Cos(2 * math.Pi * t / 12.42)\n}\n```\n\n" +
		"| place | metres |\n|:--|--:|\n| Bay of Fundy | 16.3 |\n| Saint-Malo | 13.5 |\n\n> Time and tide wait for no man.\n\n"
	return strings.Repeat(page, n/len(page)+1)[:n]
}

func BenchmarkLayout4000(b *testing.B) {
	src := prose(4000)
	for b.Loop() {
		Layout(src, Options{Dialect: Plain{}, Limit: 4096})
	}
}

func BenchmarkOpen4000(b *testing.B) {
	src := prose(4000)
	for b.Loop() {
		Layout(src, Options{Dialect: Plain{}, Limit: 4096, Open: true})
	}
}

func BenchmarkSplit10000(b *testing.B) {
	src := prose(10000)
	for b.Loop() {
		Layout(src, Options{Dialect: Plain{}, Limit: 1000})
	}
}

// The BenchmarkFromMark functions must all cost about the same, because Layout does not parse the text before the Mark.
func BenchmarkFromMarkIn1000(b *testing.B)  { fromMark(b, 1000) }
func BenchmarkFromMarkIn10000(b *testing.B) { fromMark(b, 10000) }

func BenchmarkFromMarkIn1MB(b *testing.B) { fromMark(b, 1<<20) }

// BenchmarkPreview2000 measures the usual preview, for which Layout begins at the start of the last message.
func BenchmarkPreview2000(b *testing.B) {
	src := prose(12000)
	from := markNear(src, len(src)-2000)
	for b.Loop() {
		Layout(src, Options{Dialect: Plain{}, Limit: 4096, From: from, Open: true})
	}
}

func BenchmarkPreviewAppend2000(b *testing.B) {
	src := prose(12000)
	from := markNear(src, len(src)-2000)
	for b.Loop() {
		Layout(src, Options{Dialect: Plain{}, Limit: 4096, From: from, Open: true, Append: true})
	}
}

// markNear returns the Mark of the first block of prose that begins after the given offset.
func markNear(src string, at int) Mark {
	return Mark{Offset: at + strings.Index(src[at:], "\n## ") + 1}
}

func fromMark(b *testing.B, n int) {
	src := prose(n)
	from := markNear(src, len(src)-1000)
	for b.Loop() {
		Layout(src, Options{Dialect: Plain{}, Limit: 400, From: from, Open: true})
	}
}

// Layout parses the text before the Mark only if this text seems to contain link definitions and the text after the
// Mark contains a bracket.
func BenchmarkFromMarkBelowDefinitions(b *testing.B) {
	src := "[1]: https://example.org\n\n" + prose(100<<10)
	from := markNear(src, len(src)-1000)
	for b.Loop() {
		Layout(src, Options{Dialect: Plain{}, Limit: 400, From: from, Open: true})
	}
}

// The cost of laying out a preview must depend only on the part of the text that is visible. The test compares
// allocated bytes and numbers of allocations instead of times: these figures grow with the parsed text, but not with
// the load of the machine.
func TestCostIsThatOfTheVisiblePart(t *testing.T) {
	for _, o := range []Options{{Open: true}, {Open: true, Append: true}, {}} {
		cost := func(n int) (bytes, allocs uint64) {
			src := prose(n)
			o.Dialect, o.Limit, o.From = Plain{}, 400, markNear(src, len(src)-1000)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			Layout(src, o)
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
		}
		cost(1000) // fill the caches that are filled only once
		bytes, allocs := cost(10 << 10)
		manyBytes, manyAllocs := cost(1 << 20)
		if manyBytes > 2*bytes || manyAllocs > 2*allocs {
			t.Errorf("%+v: %d bytes, %d allocations in 1 MB, %d, %d in 10 KB", o, manyBytes, manyAllocs, bytes, allocs)
		}
	}
}
