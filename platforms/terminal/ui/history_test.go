package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"telex/platforms/terminal"
	"telex/platforms/terminal/screentest"
)

// On a screen of any size, the client must show the whole earlier conversation with its formatting.
func TestHistory(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {40, 10}, {30, 6}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			const n = 40
			_, c, welcome := newWorld(t,
				terminal.Line{Mine: true, Text: "**count**"}, terminal.Line{Text: "# Numbers\n\n" + answer(n/2), ID: "a.0"},
				terminal.Line{Mine: true, Text: "more"}, terminal.Line{Text: "```\n" + answer(n) + "\n```", ID: "b.0"})
			p := sit(t, c, welcome, size[0], size[1], nil)
			p.types("\x04")
			stand, err := p.leaves()
			if err != nil {
				t.Error(err)
			}
			said, want := firstWords(stand), []string{}
			want = append(want, "> **count**", "Numbers")
			for i := range n / 2 {
				want = append(want, fmt.Sprintf("line %03d", i))
			}
			want = append(want, "> more")
			for i := range n {
				want = append(want, fmt.Sprintf("line %03d", i))
			}
			if !slices.Equal(said, want) || screentest.Count(stand, "```") > 0 {
				t.Errorf("there stands\n%s", strings.Join(stand, "\n"))
			}
		})
	}
}

// firstWords returns the first two words of each line that is not empty.
func firstWords(lines []string) []string {
	var said []string
	for _, l := range lines {
		if words := strings.Fields(l); len(words) > 0 {
			said = append(said, strings.Join(words[:min(2, len(words))], " "))
		}
	}
	return said
}

// In this test, an answer arrives right after the client has connected, before the screen is drawn for the first time.
// The client must show the whole answer, even if the answer arrives before the first drawing.
func TestAnswerBeforeTheFirstFrame(t *testing.T) {
	t.Parallel()
	w, c, welcome := newWorld(t)
	var want []string
	for i, n := range []int{20, 1} {
		w.send(final(strings.ReplaceAll(answer(n), "line", fmt.Sprintf("line%d", i))))
		for k := range n {
			want = append(want, fmt.Sprintf("line%d %03d", i, k))
		}
	}
	p := sit(t, c, welcome, 80, 24, nil)
	p.screen.Await(t, "the last line", screentest.Has("line1 000"))
	p.types("\x04")
	stand, err := p.leaves()
	if said := firstWords(stand); err != nil || !slices.Equal(said, want) {
		t.Errorf("%v; there stands\n%s", err, strings.Join(stand, "\n"))
	}
}
