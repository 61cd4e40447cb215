package terminal

import (
	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/mattn/go-runewidth"
)

// cells returns how many terminal cells a text occupies. A line break counts as one cell. If a text is appended to s,
// the result of cells never becomes smaller.
func cells(s string) int {
	cond := runewidth.Condition{StrictEmojiNeutral: true}
	n := 0
	for g := graphemes.FromString(s); g.Next(); {
		n += cluster(&cond, g.Value())
	}
	return n
}

// cluster returns the width of one grapheme cluster in cells: two for flags and emoji, otherwise the width of its
// widest character.
func cluster(cond *runewidth.Condition, s string) int {
	if len(s) == 1 || s == "\r\n" {
		return 1
	}
	width := 0
	for i, r := range s {
		if r == '\ufe0f' || i > 0 && r >= 0x1f1e6 && r <= 0x1f1ff {
			return 2
		}
		width = max(width, cond.RuneWidth(r))
	}
	return width
}
