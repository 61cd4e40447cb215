package markup

import (
	"sort"
	"strings"
	"unicode"
)

// cutter cuts a laid-out text into parts.
type cutter struct {
	laid
	dialect Dialect
	limit   int
	end     int // number of source bytes that the laid-out text shows
	shape   Shape
	zones   []Format // ranges such as links, code and headings; only a part that begins with a range may end within it
	shown   int      // source offset up to which earlier parts show the text
}

// newCutter returns a cutter of the laid-out text l. The laid-out text shows the source up to the offset end.
func newCutter(l laid, o Options, end int) *cutter {
	c := &cutter{laid: l, dialect: o.Dialect, shape: o.Dialect.Shape(), limit: max(o.Limit, 1), end: end, shown: o.From.Shown}
	for _, f := range l.formats {
		switch f.Style {
		case Pre, Quote, Row, Cell, Task, Item, Detail:
			continue
		case Bold, Italic, Strike:
			if !o.Append { // with Append, no format of these kinds may stay open at the end of a part
				continue
			}
		}
		if n := len(c.zones); n == 0 || c.zones[n-1].End <= f.Start {
			c.zones = append(c.zones, f)
		}
	}
	return c
}

// parts returns the parts that begin at or after the Mark from.
func (c *cutter) parts(from Mark) []Part {
	var parts []Part
	pos := c.skipBlank(c.find(from))
	for pos < len(c.text) {
		cut, rendered, plain := c.part(pos)
		next := c.skipBlank(cut)
		if Visible(rendered.Text) {
			parts = append(parts, Part{
				Rendered: rendered, Plain: plain,
				Start: c.mark(pos), Next: c.mark(next), End: c.sourceEnd(next),
			})
		} else if n := len(parts); n > 0 {
			parts[n-1].Next, parts[n-1].End = c.mark(next), c.sourceEnd(next)
		}
		pos = next
	}
	return parts
}

// part finds the end of the part that begins at the position pos.
func (c *cutter) part(pos int) (cut int, r Rendered, plain string) {
	limit := pos + room(c.dialect, c.text[pos:], c.limit)
	for {
		cut = len(c.text)
		if limit < cut {
			cut = c.place(pos, limit)
		}
		piece := c.piece(pos, cut)
		r = c.dialect.Render(piece)
		over := c.dialect.Len(r) - c.limit
		if over <= 0 || cut-pos <= 1 {
			return cut, r, strings.TrimSpace(piece.Text)
		}
		smaller := pos + runeFloor(c.text[pos:], min(cut-pos-1, max(limit-pos-over, (limit-pos)/2)))
		if smaller <= pos {
			return cut, r, strings.TrimSpace(piece.Text)
		}
		limit = smaller
	}
}

// piece returns the text between the offsets start and end, with its formats. piece cuts off white space at the end.
func (c *cutter) piece(start, end int) Piece {
	text := strings.TrimRightFunc(c.text[start:end], unicode.IsSpace)
	end = start + len(text)
	p := Piece{Text: text}
	last := sort.Search(len(c.formats), func(i int) bool { return c.formats[i].Start >= end })
	for _, f := range c.formats[:last] {
		if f.End <= start {
			continue
		}
		f.Start, f.End = max(f.Start, start)-start, min(f.End, end)-start
		p.Formats = append(p.Formats, f)
	}
	return p
}

// skipBlank returns the start of the next text after the position pos. skipBlank skips white space, but not the
// indentation of code.
func (c *cutter) skipBlank(pos int) int {
	next := pos + len(c.text[pos:]) - len(strings.TrimLeftFunc(c.text[pos:], unicode.IsSpace))
	if next >= len(c.text) || !c.within(Pre, next) {
		return next
	}
	start := next
	for start > pos && c.text[start-1] != '\n' {
		start--
	}
	if next-start > c.limit/2 { // skip the indentation too, because it would fill more than half of the message
		return next
	}
	if start > pos || pos == 0 || c.text[pos-1] == '\n' {
		return start
	}
	return next
}

// within reports whether a format with the given style covers the byte at pos.
func (c *cutter) within(s Style, pos int) bool {
	_, ok := c.around(s, pos)
	return ok
}

// around returns the format with the given style that covers the byte at pos.
func (c *cutter) around(s Style, pos int) (Format, bool) {
	last := sort.Search(len(c.formats), func(i int) bool { return c.formats[i].Start > pos })
	for _, f := range c.formats[:last] {
		if f.Style == s && f.End > pos {
			return f, true
		}
	}
	return Format{}, false
}

// Visible reports whether a text shows any visible character. Platforms refuse messages without visible text.
func Visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		switch {
		case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // signs that are written over numbers
			return true
		case unicode.IsSpace(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Mn, r):
			return false
		case r == '\u2800', r == '\u3164', r == '\u115f', r == '\u1160', r == '\uffa0':
			return false
		}
		return true
	})
}

// mark returns the Mark of the text at the position pos.
func (c *cutter) mark(pos int) Mark {
	i := sort.Search(len(c.blocks), func(i int) bool { return c.blocks[i].start > pos }) - 1
	if i < 0 {
		return Mark{}
	}
	b := c.blocks[i]
	shown := c.text[b.start:min(pos, b.end)]
	line := strings.LastIndexByte(shown, '\n') + 1
	return Mark{Offset: b.source, Line: strings.Count(shown, "\n"), Col: len(shown) - line, Shown: c.shownBefore(pos)}
}

// shownBefore returns the source offset at which the text before the position pos ends.
func (c *cutter) shownBefore(pos int) int {
	i := sort.Search(len(c.anchors), func(i int) bool { return c.anchors[i].text >= pos })
	if i == 0 {
		return c.shown
	}
	a := c.anchors[i-1]
	return a.source + max(1, min(pos-a.text, a.size))
}

// find returns the position of a Mark in the text. find uses the line and column of the Mark. If later text has changed
// the layout so that line and column are wrong, find uses Mark.Shown instead.
func (c *cutter) find(m Mark) int {
	pos := c.findColumn(m)
	if m.Shown <= 0 {
		return pos
	}
	next := sort.Search(len(c.anchors), func(i int) bool { return c.anchors[i].text+max(1, c.anchors[i].size) > pos })
	if c.shownBefore(pos) <= m.Shown && (next == len(c.anchors) || c.sourceAt(next, pos) >= m.Shown) {
		return pos
	}
	return c.findShown(m.Shown)
}

// sourceAt returns the source offset of the text at the position pos. The parameter i is the index of the first anchor
// that ends after pos.
func (c *cutter) sourceAt(i, pos int) int {
	a := c.anchors[i]
	return a.source + max(0, pos-a.text)
}

// findShown returns the position of the first text whose source is at or after the offset shown. If a list marker is
// directly before this text, findShown returns the position of the marker.
func (c *cutter) findShown(shown int) int {
	for i, a := range c.anchors {
		if a.source < shown && a.source+a.size <= shown {
			continue
		}
		if a.source < shown {
			pos := a.text + shown - a.source
			line := strings.LastIndexByte(c.text[:pos], '\n') + 1
			return line + graphemeFloor(c.text[line:], pos-line)
		}
		line := strings.LastIndexByte(c.text[:a.text], '\n') + 1
		if i == 0 || c.anchors[i-1].text+c.anchors[i-1].size <= line && c.anchors[i-1].text < line {
			return line // a list marker has no anchor, because the source contains it in another form
		}
		return a.text
	}
	return len(c.text)
}

// findColumn returns the position of a Mark in the text by the Mark's line and column.
func (c *cutter) findColumn(m Mark) int {
	if len(c.blocks) == 0 || c.blocks[0].source != m.Offset {
		return 0
	}
	b := c.blocks[0]
	pos := b.start
	for range max(m.Line, 0) {
		n := strings.IndexByte(c.text[pos:b.end], '\n')
		if n < 0 {
			return b.end
		}
		pos += n + 1
	}
	lineEnd := b.end
	if n := strings.IndexByte(c.text[pos:b.end], '\n'); n >= 0 {
		lineEnd = pos + n
	}
	return pos + graphemeFloor(c.text[pos:lineEnd], max(m.Col, 0))
}

// sourceEnd returns the number of source bytes that the text before the position pos shows.
func (c *cutter) sourceEnd(pos int) int {
	if pos >= len(c.text) {
		return c.end
	}
	end := c.end
	i := sort.Search(len(c.blocks), func(i int) bool { return c.blocks[i].start >= pos })
	if i < len(c.blocks) {
		end = c.blocks[i].source
		if c.blocks[i].start == pos {
			return end
		}
	}
	i = sort.Search(len(c.anchors), func(i int) bool { return c.anchors[i].text > pos })
	if i < len(c.anchors) {
		end = min(end, c.anchors[i].source)
	}
	if i == 0 {
		return min(end, c.mark(pos).Offset)
	}
	a := c.anchors[i-1]
	return min(end, a.source+min(pos-a.text, a.size))
}
