package preview

import (
	"sort"
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

const ellipsis = "…"

// clip shortens a text until it fits; an ellipsis takes the place of what is left out. What goes first is the
// middle of the lines between the first, which says what it is about, and the last, which says what to do.
func clip(text string, fits func(string) bool) string {
	if fits(text) {
		return text
	}
	first, rest, more := strings.Cut(text, "\n")
	details, last, between := "", rest, false
	if i := strings.LastIndexByte(rest, '\n'); i >= 0 {
		details, last, between = rest[:i], rest[i+1:], true
	}
	if between {
		if short, ok := shorten(details, fits, func(s string) string { return first + "\n" + s + "\n" + last }); ok {
			return short
		}
	}
	if more {
		if short, ok := shorten(first, fits, func(s string) string { return s + "\n" + last }); ok {
			return short
		}
		first = last
	}
	short, _ := shorten(first, fits, func(s string) string { return s })
	return short
}

// shorten leaves out as little as possible of the middle of text, so that within fits; false when nothing helps.
func shorten(text string, fits func(string) bool, within func(string) string) (string, bool) {
	if whole := within(text); fits(whole) {
		return whole, true
	}
	cuts := []int{0} // between graphemes
	for g := graphemes.FromString(text); g.Next(); {
		cuts = append(cuts, g.End())
	}
	n := len(cuts) - 1
	keeping := func(k int) string { return within(text[:cuts[(k+1)/2]] + ellipsis + text[cuts[n-k/2]:]) }
	k := sort.Search(n, func(k int) bool { return !fits(keeping(k)) }) - 1
	for k > 0 && !fits(keeping(k)) { // marks make a text longer than it reads, not evenly
		k--
	}
	short := keeping(max(0, k))
	return short, fits(short)
}
