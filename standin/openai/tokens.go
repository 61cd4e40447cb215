package openai

import (
	"unicode"
	"unicode/utf8"
)

// Tokens splits text like a model's tokenizer. A token is a short word with its leading space, a piece of a long word,
// up to three digits, a run of white space, or punctuation. As in real streams, some tokens end within a Markdown
// marker, or within a character that has several code points. No token ends within a code point. The joined tokens are
// equal to the text. If the text is valid UTF-8, each token is valid, too.
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

// tokenLen returns the length in bytes of the first token of a text that is not empty. If several splits are possible,
// the pseudo-random number roll selects one.
func tokenLen(text string, roll uint64) int {
	dice := roll >> 33
	start := 0
	if text[0] == ' ' && len(text) > 1 && text[1] != ' ' && text[1] != '\n' {
		start = 1 // a single space belongs to the token after it
	}
	r, size := utf8.DecodeRuneInString(text[start:])
	switch {
	case isBlank(r):
		n := runLen(text, 64, isBlank)
		// The last space of a run belongs to the token after it.
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
			n = size // split "**" into the tokens "*" and "*"
		}
		return start + n
	}
}

// runLen returns the length in bytes of the longest prefix of text for whose code points the function belongs returns
// true. The parameter limit is the maximum number of code points in the prefix.
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

// isBlank reports whether r is white space that models write between words.
func isBlank(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == '\r' }

// isWordLetter reports whether r is a letter of a script that puts spaces between words.
func isWordLetter(r rune) bool { return unicode.IsLetter(r) && !isWide(r) }

// isWide reports whether r belongs to a script in which a token consists of only one or two characters.
func isWide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}
