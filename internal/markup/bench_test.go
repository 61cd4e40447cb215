package markup

import (
	"strings"
	"testing"
)

// prose returns about n bytes of the Markdown a model writes.
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

// The two must cost about the same: what is before the mark is not parsed.
func BenchmarkFromMarkIn1000(b *testing.B)  { fromMark(b, 1000) }
func BenchmarkFromMarkIn10000(b *testing.B) { fromMark(b, 10000) }

func fromMark(b *testing.B, n int) {
	src := prose(n)
	parts := Layout(src, Options{Dialect: Plain{}, Limit: 400})
	from := parts[len(parts)-2].Start
	for b.Loop() {
		Layout(src, Options{Dialect: Plain{}, Limit: 400, From: from, Open: true})
	}
}
