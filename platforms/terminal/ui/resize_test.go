package ui

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"telex/internal/chat"
	"telex/platforms/terminal/screentest"
)

// In this test, the size of the window changes again and again. After each change of the size, each line, the prompt
// and the status line must be visible once and in order.
func TestResizeLeavesNothingTwice(t *testing.T) {
	t.Parallel()
	sizes := [][2]int{{80, 24}, {40, 24}, {100, 24}, {30, 12}, {60, 30}, {33, 10}, {80, 24}}
	for _, lines := range []int{5, 60} {
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			t.Parallel()
			w, c, welcome := newWorld(t)
			var frames atomic.Int32
			p := sit(t, c, welcome, sizes[0][0], sizes[0][1], func([]string) { frames.Add(1) }, func(o *Options) { o.Reflows = true })
			resize := func(i int) {
				size := sizes[i%len(sizes)]
				p.screen.Reflow(size[0], size[1])
				before := frames.Load()
				p.types(fmt.Sprintf("\x1b[48;%d;%d;0;0t", size[1], size[0]))
				p.screen.Await(t, fmt.Sprintf("the status at %v", size), func(stand []string) bool {
					return frames.Load() > before && screentest.Count(stand, "main ·") == 1 && strings.HasPrefix(stand[len(stand)-1], "main ·")
				})
				for range 6 { // each key press draws the screen again, because lines move to the scrollback in several steps
					p.types("x")
					p.screen.Await(t, "what is typed", screentest.Has("> x"))
					p.types("\x7f")
					p.screen.Await(t, "what is typed", func(stand []string) bool { return screentest.Count(stand, "> x") == 0 })
				}
			}
			p.types("count\r")
			in := w.hears()
			var all []string
			for i := range lines {
				all = append(all, fmt.Sprintf("line %03d with as many words as make it longer than narrow windows are", i))
			}
			w.send(final(strings.Join(all, "\n")))
			w.hub.Concluded(session, []chat.MessageID{in.ID}, false)
			p.screen.Await(t, "all lines", func(stand []string) bool {
				return len(numbered(stand)) == lines && strings.HasPrefix(stand[len(stand)-1], "main ·")
			})
			for i := range sizes {
				resize(i)
			}
			p.types("\x04")
			stand, err := p.leaves()
			if err != nil {
				t.Error(err)
			}
			var want []string
			for i := range lines {
				want = append(want, fmt.Sprintf("line %03d", i))
			}
			if got := numbered(stand); !slices.Equal(got, want) || screentest.Count(stand, "> count") != 1 {
				t.Errorf("there stand %q\n%s", got, strings.Join(stand, "\n"))
			}
		})
	}
}
