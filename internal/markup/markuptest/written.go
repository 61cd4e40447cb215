package markuptest

import (
	"strings"
	"testing"

	"telex/internal/markup"
)

// Written is a dialect that writes everything into one string, and how a test reads that again.
type Written struct {
	Dialect markup.Dialect
	Limit   int // of a message
	// Check fails the test unless the platform shows a part as it was laid out; spy knows the pieces.
	Check func(t TB, spy Spy, p markup.Part)
}

// shortest is the least limit of the tests: so much must fit in every dialect.
const shortest = 100

func (w Written) spy() Spy { return Spy{Dialect: w.Dialect, Pieces: map[string]markup.Piece{}} }

// Render returns what a source becomes, which is one message.
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

// Prefixes checks each beginning of an answer, step bytes apart.
func (w Written) Prefixes(t TB, src string, limit, step int) {
	t.Helper()
	spy := w.spy()
	Prefixes(t, spy, src, limit, step, func(p markup.Part) { w.Check(t, spy, p) })
}

// Answers checks each beginning of every answer, in messages of two lengths.
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

// Nasty checks the same nasty sources every time: among tens of thousands there are some whose nested marks no writer
// of one string gets right, and a test that meets one in passing says nothing about the change it fails on. Fuzz looks
// for more.
func (w Written) Nasty(t *testing.T) {
	t.Helper()
	for seed := range 150 {
		w.Prefixes(t, Nasty().Example(seed), shortest+seed, 1)
	}
}

// Fuzz checks whatever source there is, in messages that are up to so much longer than the shortest.
func (w Written) Fuzz(f *testing.F, longer int) {
	f.Helper()
	f.Fuzz(func(t *testing.T, src string, limit int, open bool) {
		spy := w.spy()
		for _, p := range markup.Layout(src, markup.Options{Dialect: spy, Limit: shortest + max(0, limit)%longer, Open: open}) {
			w.Check(t, spy, p)
		}
	})
}

// Measure is the benchmark of a dialect: an ordinary answer in messages of a length.
func Measure(b *testing.B, d markup.Dialect, limit int) {
	b.Helper()
	src := strings.Repeat("Some **bold** text with `code` and a [link](https://e.org).\n\n- item\n- item\n\n", 50)
	for b.Loop() {
		markup.Layout(src, markup.Options{Dialect: d, Limit: limit})
	}
}
