package markup

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// laid is a laid-out text: all blocks one below the other, before the text is cut into parts.
type laid struct {
	text    string
	formats []Format // ordered by the field Start; an outer format precedes the formats within it
	blocks  []laidBlock
	anchors []anchor // ordered by the field text
}

// laidBlock is the range of the text that shows one top-level block.
type laidBlock struct {
	start, end int
	source     int // start of this block in the source
}

// anchor says which place in the source a place in the laid-out text shows. The field text is the offset in the
// laid-out text, and the field source is the offset in the source. From these two offsets on, the next size bytes of
// the text and of the source are the same. If the field size is 0, the text at its offset differs from the source.
type anchor struct{ text, source, size int }

// cut truncates the laid-out text at the given offset.
func (l *laid) cut(at int) {
	if at >= len(l.text) {
		return
	}
	l.text = strings.TrimRight(l.text[:at], "\n")
	end := len(l.text)
	var formats []Format
	for _, f := range l.formats {
		if f.Start < end {
			f.End = min(f.End, end)
			formats = append(formats, f)
		}
	}
	l.formats = formats
	l.blocks = slices.DeleteFunc(l.blocks, func(b laidBlock) bool { return b.start >= end })
	if n := len(l.blocks); n > 0 {
		l.blocks[n-1].end = min(l.blocks[n-1].end, end)
	}
	l.anchors = slices.DeleteFunc(l.anchors, func(a anchor) bool { return a.text >= end })
}

// cutSource truncates the laid-out text before the first place that shows a part of the source at or after the offset
// end.
func (l *laid) cutSource(end int) {
	i := slices.IndexFunc(l.anchors, func(a anchor) bool { return a.source+max(1, a.size) > end })
	if i >= 0 {
		a := l.anchors[i]
		l.cut(a.text + max(0, end-a.source))
	}
}

// builder writes a laid-out text. The builder keeps back the white space after a word or block until the next text
// arrives. Because the builder keeps this white space back, neither a format nor the whole text ends with white space.
type builder struct {
	src     []byte
	text    []byte
	formats []Format
	anchors []anchor
	base    int   // offset of the builder's src in the whole source
	pending []int // indexes of open formats for which the builder has not written any text yet
	newline int   // number of line breaks to write before the next text
	space   bool  // write a space before the next text, unless a line break comes first
	raw     bool  // the text is code, in which all blank lines count
	tab     int   // columns between tab stops; 0: keep tabs
	indent  string
}

// breakLine requests at least n line breaks before the next text.
func (b *builder) breakLine(n int) {
	if len(b.text) > 0 {
		b.newline = max(b.newline, n)
	}
}

// flush writes the white space that was kept back, and starts the formats that have no text yet.
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

// open begins a format, which covers the text until the call of close. open returns the format's index.
func (b *builder) open(f Format) int {
	b.formats = append(b.formats, f)
	i := len(b.formats) - 1
	b.formats[i].Start = -1
	b.pending = append(b.pending, i)
	return i
}

// close ends the format with the index i. If a format has no text, close marks the format as empty.
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

// write appends visible text. The parameter pos is the text's offset in the source. A negative pos means that the
// source does not contain the text. write drops control characters. If the platform has no tabs, write replaces tabs by
// spaces.
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

// anchor records that the next size bytes of the written text are at offset pos of the source. If pos is negative, the
// source does not contain the text, and anchor does nothing.
func (b *builder) anchor(pos, size int) {
	if pos >= 0 {
		b.anchorAt(len(b.text), pos, size)
	}
}

// anchorAt is like anchor, but for the text that begins at the offset at.
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

// plainRun returns the number of leading bytes of s that need no special handling.
func plainRun(s []byte) int {
	for i, c := range s {
		if c < 0x20 && c != '\n' || c >= 0x7f {
			return i
		}
	}
	return len(s)
}

// dropped reports whether r is a control character, or a character that changes the direction of the text around it.
// Telegram removes such characters, so replies omit them on every platform.
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
