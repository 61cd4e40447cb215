package openai

import (
	"unicode"
	"unicode/utf8"
)

// Tokens splits text like a model's tokenizer. A token is a short word with its leading space, a piece of a long word,
// up to three digits, a run of white space, or punctuation. As in real streams, Markdown markers are sometimes split,
// and so are characters of several code points, but never a code point. The tokens joined are the text. Each of them is
// valid UTF-8 if the text is.
func Tokens(text string) []string {
	tokens := make([]string, 0, len(text)/4+1)
	roll := uint64(14695981039346656037)
	for len(text) > 0 {
		n := tokenLen(text, roll)
		tokens = append(tokens, text[:n])
		for i := range n {
			roll = (roll ^ uint64(text[i])) * 1099511628211
		}
		text = text[n:]
	}
	return tokens
}

// tokenLen returns the length in bytes of the first token of a non-empty text. roll decides between possible splits.
func tokenLen(text string, roll uint64) int {
	dice := roll >> 33
	start := 0
	if text[0] == ' ' && len(text) > 1 && text[1] != ' ' && text[1] != '\n' {
		start = 1 // The leading space belongs to what follows.
	}
	r, size := utf8.DecodeRuneInString(text[start:])
	switch {
	case isBlank(r):
		n := runLen(text, 64, isBlank)
		// The last space of a run goes with the word after it.
		if n > 1 && n < len(text) && text[n-1] == ' ' {
			n--
		}
		return n
	case unicode.IsDigit(r):
		return start + runLen(text[start:], 3, unicode.IsDigit)
	case isWide(r):
		return start + runLen(text[start:], 1+int(dice%2), isWide)
	case unicode.IsLetter(r):
		n := runLen(text[start:], 9, isWordLetter)
		if n >= 9 {
			n = runLen(text[start:], 3+int(dice%5), isWordLetter)
		}
		return start + n
	default:
		n := runLen(text[start:], 3, func(c rune) bool { return c == r })
		if n > size && dice%3 == 0 {
			n = size // "**" arrives as "*", "*".
		}
		return start + n
	}
}

// runLen returns the length in bytes of the longest beginning whose code points belong, at most limit of them.
func runLen(text string, limit int, belongs func(rune) bool) int {
	n := 0
	for range limit {
		r, size := utf8.DecodeRuneInString(text[n:])
		if size == 0 || !belongs(r) {
			break
		}
		n += size
	}
	return n
}

// isBlank reports white space that models write between words.
func isBlank(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == '\r' }

// isWordLetter reports letters of scripts whose words are long and parted by spaces.
func isWordLetter(r rune) bool { return unicode.IsLetter(r) && !isWide(r) }

// isWide reports scripts of which a token holds one or two characters.
func isWide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}
