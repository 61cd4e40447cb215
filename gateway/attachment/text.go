package attachment

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// What text may have that is not text, as one in so many characters: a log has a stray NUL, a
// binary file has many. Of a page of one byte a character only what has mostly ASCII is
// guessed at; Cyrillic as Latin would be gibberish.
const (
	strayEvery = 20
	latinEvery = 3
)

// windows1252 is what the bytes 0x80 to 0x9F mean where Latin-1 has no signs; the five without
// a meaning stay what they are. https://encoding.spec.whatwg.org/index-windows-1252.txt
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

// Decode returns a text file as clean UTF-8: without byte order mark and control characters,
// its lines ended by "\n". It reads UTF-8, even with some damage, UTF-16 that says so by its
// mark, and what looks like Latin-1. The text is cut at limit bytes, before a character that
// does not fit, and cut tells that there was more. What is no text is ErrUnreadable.
func Decode(data []byte, limit int) (text string, cut bool, err error) {
	next := decoderOf(data)
	if next == nil || !looksLikeText(next, data) {
		return "", false, ErrUnreadable
	}
	var b strings.Builder
	b.Grow(max(0, min(limit, len(data))))
	afterCR := false
	for rest := data; len(rest) > 0; {
		r, size := next(rest)
		rest = rest[size:]
		if r == '\n' && afterCR {
			afterCR = false
			continue // the line was ended by the \r before
		}
		if afterCR = r == '\r'; afterCR {
			r = '\n'
		}
		if stray(r) || r == byteOrderMark {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > limit {
			return b.String(), true, nil
		}
		b.WriteRune(r)
	}
	return b.String(), false, nil
}

const byteOrderMark = '\ufeff'

// stray reports whether r has no place in a text.
func stray(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }

// decoder reads the first character of what is not empty. It takes at least a byte, and gives
// [utf8.RuneError] for what is none.
type decoder func(rest []byte) (r rune, size int)

// decoderOf returns the decoder for data, nil where no guess can be right.
func decoderOf(data []byte) decoder {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return func(rest []byte) (rune, int) { return fromUTF16(rest, binary.LittleEndian) }
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return func(rest []byte) (rune, int) { return fromUTF16(rest, binary.BigEndian) }
	}
	multiple, broken, high := 0, 0, 0
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			broken++
			high++
		case size > 1:
			multiple++
			high += size
		}
		rest = rest[size:]
	}
	switch {
	case broken <= multiple: // UTF-8 is hardly ever there by chance
		return utf8.DecodeRune
	case high <= len(data)/latinEvery:
		return fromLatin
	}
	return nil
}

// looksLikeText reports whether most of data has a place in a text.
func looksLikeText(next decoder, data []byte) bool {
	all, bad := 0, 0
	for rest := data; len(rest) > 0; {
		r, size := next(rest)
		rest = rest[size:]
		all++
		if stray(r) || r == utf8.RuneError {
			bad++
		}
	}
	return bad <= all/strayEvery
}

// fromUTF16 reads a character of UTF-16. A byte or a surrogate that is alone is none.
func fromUTF16(rest []byte, order binary.ByteOrder) (rune, int) {
	if len(rest) < 2 {
		return utf8.RuneError, 1
	}
	r := rune(order.Uint16(rest))
	if !utf16.IsSurrogate(r) {
		return r, 2
	}
	if len(rest) < 4 {
		return utf8.RuneError, 2
	}
	if r = utf16.DecodeRune(r, rune(order.Uint16(rest[2:]))); r == utf8.RuneError {
		return r, 2
	}
	return r, 4
}

// fromLatin reads a character of Latin-1, as Windows writes it.
func fromLatin(rest []byte) (rune, int) {
	r := rune(rest[0])
	if r >= 0x80 && r < 0xa0 {
		r = []rune(windows1252)[r-0x80]
	}
	return r, 1
}
