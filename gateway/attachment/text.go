package attachment

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	utf16 "golang.org/x/text/encoding/unicode"
)

// A file counts as text if at most one character in strayEvery is a stray control character. A log may contain a stray
// NUL, but a binary file contains many. A file that is not UTF-8 or UTF-16 is read as Latin-1 if at most one character
// in latinEvery is not ASCII. Without this limit, Cyrillic text in another encoding would become gibberish.
const (
	strayEvery = 20
	latinEvery = 3
)

const byteOrderMark = '\ufeff'

// Decode returns a text file as clean UTF-8: without byte order mark and control characters, and with line feeds as
// line ends. Decode reads UTF-8, even if slightly damaged, UTF-16 with a byte order mark, and probable Latin-1. Decode
// cuts the text after limit bytes, between characters. cut reports whether the text was longer. If the file is not
// text, Decode returns ErrUnreadable.
func Decode(data []byte, limit int) (text string, cut bool, err error) {
	data, ok := toUTF8(data)
	if !ok || !looksLikeText(data) {
		return "", false, ErrUnreadable
	}
	var b strings.Builder
	b.Grow(max(0, min(limit, len(data))))
	for _, r := range strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)) {
		switch {
		case stray(r), r == byteOrderMark:
		case b.Len()+utf8.RuneLen(r) > limit:
			return b.String(), true, nil
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), false, nil
}

// stray reports whether r is a control character that does not belong in a text.
func stray(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }

// toUTF8 converts data, which may be damaged, to UTF-8. toUTF8 returns false if no encoding is plausible.
func toUTF8(data []byte) ([]byte, bool) {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		data, err := utf16.UTF16(utf16.LittleEndian, utf16.ExpectBOM).NewDecoder().Bytes(data)
		return data, err == nil
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
	case broken <= multiple: // valid multi-byte UTF-8 hardly ever occurs in files of another encoding
		return data, true
	case high <= len(data)/latinEvery:
		data, err := charmap.Windows1252.NewDecoder().Bytes(data) // Windows-1252 contains all printable characters of Latin-1
		return data, err == nil
	}
	return nil, false
}

// looksLikeText reports whether most of data, in UTF-8, are text characters.
func looksLikeText(data []byte) bool {
	all, bad := 0, 0
	for _, r := range string(data) {
		all++
		if stray(r) || r == utf8.RuneError {
			bad++
		}
	}
	return bad <= all/strayEvery
}
