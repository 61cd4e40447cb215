package markup

import "unicode/utf8"

// room returns the maximum number of bytes of s that fit into a part, if the dialect adds no delimiters.
func room(d Dialect, s string, limit int) int {
	fits := func(n int) bool { return d.Len(Rendered{Text: s[:runeFloor(s, n)]}) <= limit }
	low, high := 0, min(len(s), limit)
	for high < len(s) && fits(high) {
		low, high = high, min(len(s), 2*high)
	}
	if high == len(s) && fits(high) {
		return len(s)
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		if fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return runeFloor(s, low)
}

// Units returns the length of s in UTF-16 code units.
func Units(s string) int {
	n := utf8.RuneCountInString(s)
	for i := range len(s) {
		if s[i] >= 0xf0 { // a character of four bytes is a surrogate pair in UTF-16
			n++
		}
	}
	return n
}
