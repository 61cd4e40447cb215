package markup

import (
	"bytes"
	"unicode/utf8"
)

// laid is a laid-out text: its blocks one below the other, before it is cut into parts.
type laid struct {
	text    string
	formats []Format // ordered by Start, outer before inner
	blocks  []laidBlock
	anchors []anchor // ordered by text
}

// laidBlock says which part of the text a top-level block became.
type laidBlock struct {
	start, end int
	source     int // where the block begins in the source
}

// anchor says that the text from offset text on was written in the source from offset
// source on, the same for size bytes. What has no size is not the same.
type anchor struct{ text, source, size int }

// builder writes a laid text. White space between words and blocks is pending until the
// next text arrives, so that nothing ends in it.
type builder struct {
	src     []byte
	text    []byte
	formats []Format
	anchors []anchor
	base    int   // where src stands in the whole source
	pending []int // open formats that have no text yet
	newline int   // pending line breaks
	space   bool  // a pending space, given up before a line break
	raw     bool  // in a code block, whose blank lines all count
	tab     int   // columns between tab stops; 0: tabs stay
	indent  string
}

// breakLine asks for n line breaks before the next text; the greatest wish wins.
func (b *builder) breakLine(n int) {
	if len(b.text) > 0 {
		b.newline = max(b.newline, n)
	}
}

// flush writes what is pending and starts the formats that wait for text.
func (b *builder) flush() {
	if !b.raw {
		b.newline = min(b.newline, 2)
	}
	if b.newline > 0 && len(b.text) > 0 {
		for range b.newline {
			b.text = append(b.text, '\n')
		}
		b.text = append(b.text, b.indent...)
	} else if b.space {
		b.text = append(b.text, ' ')
	}
	b.newline, b.space = 0, false
	for _, i := range b.pending {
		b.formats[i].Start = len(b.text)
	}
	b.pending = b.pending[:0]
}

// open begins a format; it covers what is written until close.
func (b *builder) open(f Format) int {
	b.formats = append(b.formats, f)
	i := len(b.formats) - 1
	b.formats[i].Start = -1
	b.pending = append(b.pending, i)
	return i
}

// close ends format i. One that got no text is marked as empty.
func (b *builder) close(i int) {
	f := &b.formats[i]
	f.End = len(b.text)
	if f.Start < 0 {
		f.End = -1
		for k, p := range b.pending {
			if p == i {
				b.pending = append(b.pending[:k], b.pending[k+1:]...)
				break
			}
		}
	}
}

// write appends visible text that stands in the source at offset pos, or nowhere if pos is
// negative. Characters that no message can carry are left out, and tabs become spaces where
// the platform knows none.
func (b *builder) write(s []byte, pos int) {
	if len(s) == 0 {
		return
	}
	b.flush()
	b.anchor(pos, len(s))
	for len(s) > 0 {
		n := plainRun(s)
		b.text = append(b.text, s[:n]...)
		if n == len(s) {
			return
		}
		r, size := utf8.DecodeRune(s[n:])
		same := false
		at := len(b.text)
		switch {
		case r == utf8.RuneError && size == 1:
			b.text = utf8.AppendRune(b.text, r)
		case r == '\t' && b.tab > 0:
			b.writeTab()
		case !dropped(r):
			b.text = append(b.text, s[n:n+size]...)
			same = true
		}
		s = s[n+size:]
		if pos < 0 {
			continue
		}
		pos += n + size
		if !same {
			b.anchorAt(at, pos-size, 0)
			if len(s) > 0 {
				b.anchor(pos, len(s))
			}
		}
	}
}

// anchor notes that the text from here on stands in the source at offset pos, size bytes of
// it. A negative offset is nowhere.
func (b *builder) anchor(pos, size int) {
	if pos >= 0 {
		b.anchorAt(len(b.text), pos, size)
	}
}

// anchorAt is anchor for the text from offset at on.
func (b *builder) anchorAt(at, pos, size int) {
	pos += b.base
	if n := len(b.anchors); n > 0 && b.anchors[n-1].source <= pos {
		b.anchors[n-1].size = min(b.anchors[n-1].size, pos-b.anchors[n-1].source)
	}
	b.anchors = append(b.anchors, anchor{at, pos, size})
}

// writeTab writes spaces up to the next tab stop of the line.
func (b *builder) writeTab() {
	line := b.text[bytes.LastIndexByte(b.text, '\n')+1:]
	for n := b.tab - utf8.RuneCount(line)%b.tab; n > 0; n-- {
		b.text = append(b.text, ' ')
	}
}

// plainRun returns how many leading bytes of s need no look.
func plainRun(s []byte) int {
	for i, c := range s {
		if c < 0x20 && c != '\n' || c >= 0x7f {
			return i
		}
	}
	return len(s)
}

// dropped reports whether r is a control character, or one that turns the direction of the
// text around it. Telegram removes these; a reply has no honest use for them elsewhere.
func dropped(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff:
		return true
	}
	return false
}
