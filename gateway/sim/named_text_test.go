package sim

import (
	"strings"
	"testing"

	"telex/internal/chat"
)

// marked returns an answer of the model with the Markdown src. The parameter shown is the text that people must see for
// this Markdown.
func marked(src, shown string) answer {
	a := talk(src)
	a.shown = shown
	return a
}

// TestNamedText plays schedules in which bots of other projects failed because of texts and markup. The judge checks
// every version that a person saw. The expected final texts are written by hand.
func TestNamedText(t *testing.T) {
	t.Parallel()
	spans := func(w *world) (list []chat.Span) {
		for _, m := range w.person.messages {
			list = append(list, m.now().Spans...)
		}
		return list
	}
	for _, c := range []struct {
		name  string
		a     answer
		limit int
		style style
		want  []string
		spans []chat.Span
	}{
		{
			name: "F26 F27 bold is bold from the first preview on", style: formed,
			a:    marked("some **very bold words in a row** and plain ones", "some very bold words in a row and plain ones"),
			want: []string{"some very bold words in a row and plain ones"}, spans: []chat.Span{{Kind: "bold", Offset: 5, Length: 24}},
		},
		{
			name: "F29 a code block is closed in every preview", style: formed,
			a:     marked("look:\n\n```go\nx := 1\ny := 2\nz := 3\n```\n\nthat is all", "look: x := 1 y := 2 z := 3 that is all"),
			want:  []string{"look:\n\nx := 1\ny := 2\nz := 3\n\nthat is all"},
			spans: []chat.Span{{Kind: "pre", Offset: 7, Length: 20, Language: "go"}},
		},
		{
			name: "F28 nothing needs an escape", style: plain,
			a:    talk("1. is (not) a-list! it = {that} | this. + > # never"),
			want: []string{"1. is (not) a-list! it = {that} | this. + > # never"},
		},
		{
			name: "F30 length is counted as the platform does", style: plain, limit: 60,
			a:    talk(strings.Repeat("😀", 40)),
			want: []string{strings.Repeat("😀", 29), strings.Repeat("😀", 11)},
		},
		{
			name: "F31 what is one character stays one", style: plain, limit: 62,
			a:    talk(strings.Repeat("👨‍👩‍👧", 9)),
			want: []string{strings.Repeat("👨‍👩‍👧", 7), strings.Repeat("👨‍👩‍👧", 2)},
		},
		{
			name: "F32 bold goes on behind a cut", style: formed, limit: 62,
			a:     marked("**"+strings.Repeat("bold ", 19)+"end**", strings.Repeat("bold ", 19)+"end"),
			want:  []string{strings.TrimSpace(strings.Repeat("bold ", 12)), strings.Repeat("bold ", 7) + "end"},
			spans: []chat.Span{{Kind: "bold", Length: 59}, {Kind: "bold", Length: 38}},
		},
		{
			name: "F33 a table becomes columns", style: nasty,
			a:     marked("| a | b |\n|---|---|\n| one | 2 |", "a b --- - one 2"),
			want:  []string{"a    b\n---  -\none  2"},
			spans: []chat.Span{{Kind: "pre", Length: 20}},
		},
		{
			name: "F35 nobody is called", style: plain,
			a:    talk("dear @somebody come here"),
			want: []string{"dear @somebody come here"}, spans: []chat.Span{{Kind: "code", Offset: 5, Length: 9}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := story("edit", c.a)
			s.style, s.measure = c.style, entities
			if c.limit > 0 {
				s.profile.TextLimit, s.real = c.limit, c.limit
			}
			w := perform(t, s)
			equal(t, "the person sees", w.see(0), c.want)
			equal(t, "spans", spans(w), c.spans)
		})
	}
}
