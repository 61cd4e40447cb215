package preview

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

const ellipsis = "…"

// clip shortens a text until the function fits accepts it. In place of the removed characters, clip writes their
// number, or an ellipsis if there is no room for the number. The number or the ellipsis shows a person who approves a
// tool call that the text of the call is not complete. The first line of a question contains the subject and the last
// line the instruction, so clip first shortens the lines between these two.
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

// shorten removes as little as possible from the middle of text so that the result of within(text) fits. shorten
// returns false if the result does not fit even with an empty text.
func shorten(text string, fits func(string) bool, within func(string) string) (short string, ok bool) {
	if whole := within(text); fits(whole) {
		return whole, true
	}
	cuts := []int{0} // offsets between graphemes
	for g := graphemes.FromString(text); g.Next(); {
		cuts = append(cuts, g.End())
	}
	n := len(cuts) - 1
	for _, gap := range []func(left string) string{omissionNote, func(string) string { return ellipsis }} {
		keeping := func(k int) string {
			from, to := cuts[(k+1)/2], cuts[n-k/2]
			return within(text[:from] + gap(text[from:to]) + text[to:])
		}
		k := sort.Search(n, func(k int) bool { return !fits(keeping(k)) }) - 1
		for k > 0 && !fits(keeping(k)) {
			// A shorter text may need more escapes, so the binary search may find a k that is too large.
			k--
		}
		if short = keeping(max(0, k)); fits(short) {
			return short, true
		}
	}
	return short, false
}

// omissionNote returns the note that replaces the omitted text.
func omissionNote(text string) string {
	return fmt.Sprintf("… (%d characters are not shown) …", utf8.RuneCountInString(text))
}
