package markup

import (
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// graphemeFloor returns the last grapheme boundary of s that is not beyond n.
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

// runeFloor returns the last boundary of a code point of s that is not beyond n.
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
	joiner    = '\u200d' // glues two emoji into one
	variation = '\ufe0f' // asks for the emoji form; after a digit it waits for a keycap
	keycap    = '\u20e3'
)

// finished returns how much of s, the beginning of a longer text, ends in a whole grapheme
// that does not visibly wait for more.
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

// wholeCharacters returns how much of s, the beginning of a longer text, shows no character that what follows may still
// make another one: an emoji that is joined to the next, or a letter that gets one more accent. Letters of ASCII and
// scripts that know no accents don't wait.
func wholeCharacters(s string) int {
	n := wholeRunes(s)
	r, _ := utf8.DecodeLastRuneInString(s[:n])
	if r < utf8.RuneSelf || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || unicode.In(r, unicode.P, unicode.Z) {
		return n
	}
	return graphemeStart(s[:n])
}

// wholeRunes returns how much of s does not end in a part of a character.
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

// regional reports whether r is half of a flag.
func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// graphemeStart returns where the last grapheme of s begins, behind the white space that
// it may begin with.
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
	if !utf8.ValidString(s[start:]) { // then these are no graphemes
		_, size := utf8.DecodeLastRuneInString(s)
		return len(s) - size
	}
	if n := len(s) - start; n > 1 && (s[start] == ' ' || s[start] == '\n') {
		start++
	}
	return start
}

// maxLook is how far back, in bytes, the search for a grapheme's start begins.
const maxLook = 64
