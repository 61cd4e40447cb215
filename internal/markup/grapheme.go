package markup

import (
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// graphemeFloor returns the last grapheme boundary of s at or before n.
func graphemeFloor(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	from := n
	for from > 0 && s[from-1] != '\n' {
		from--
	}
	g := graphemes.FromString(s[from:])
	last := from
	for g.Next() {
		if from+g.End() > n {
			break
		}
		last = from + g.End()
	}
	return last
}

// runeFloor returns the last code point boundary of s at or before n.
func runeFloor(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

const (
	joiner    = '\u200d' // zero width joiner, which joins two emoji into one
	variation = '\ufe0f' // selects the emoji form of a character; after a digit, the character keycap may follow it
	keycap    = '\u20e3'
)

// finished returns the length of the part of s that ends with a complete grapheme. More text may follow after s. A
// grapheme counts as incomplete if the next characters are likely to extend it.
func finished(s string) int {
	n := wholeRunes(s)
	r, size := utf8.DecodeLastRuneInString(s[:n])
	switch {
	case r == joiner:
		return graphemeStart(s[:n])
	case r == variation:
		if base, _ := utf8.DecodeLastRuneInString(s[:n-size]); base < utf8.RuneSelf && base != ' ' {
			return graphemeStart(s[:n])
		}
	case regional(r):
		if start := graphemeStart(s[:n]); start == n-size {
			return start
		}
	}
	return n
}

// wholeCharacters returns the length of the part of s whose last character can't change any more. More text may follow
// after s. The last character may still change if it is an emoji, which may be joined with the next one, or a letter
// that may get an accent. An ASCII letter, or a letter of a script without accents, can't change any more.
func wholeCharacters(s string) int {
	n := wholeRunes(s)
	r, _ := utf8.DecodeLastRuneInString(s[:n])
	if r < utf8.RuneSelf || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || unicode.In(r, unicode.P, unicode.Z) {
		return n
	}
	return graphemeStart(s[:n])
}

// wholeRunes returns the length of s without an incomplete character at its end.
func wholeRunes(s string) int {
	n := len(s)
	for back := 1; back < utf8.UTFMax && back <= n; back++ {
		if utf8.RuneStart(s[n-back]) {
			if !utf8.FullRuneInString(s[n-back:]) {
				n -= back
			}
			break
		}
	}
	return n
}

// regional reports whether a character is one of the two halves of a flag emoji.
func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// graphemeStart returns the start of the last grapheme of s. graphemeStart skips white space at the start of the
// grapheme.
func graphemeStart(s string) int {
	from := max(0, len(s)-maxLook)
	for from > 0 && s[from-1] != '\n' && s[from-1] != ' ' {
		from--
	}
	start := from
	g := graphemes.FromString(s[from:])
	for g.Next() {
		start = from + g.Start()
	}
	if !utf8.ValidString(s[start:]) { // invalid UTF-8 has no graphemes
		_, size := utf8.DecodeLastRuneInString(s)
		return len(s) - size
	}
	if n := len(s) - start; n > 1 && (s[start] == ' ' || s[start] == '\n') {
		start++
	}
	return start
}

// maxLook limits the backward search for the start of a grapheme, in bytes.
const maxLook = 64
