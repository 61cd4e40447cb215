package markup

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// growing cuts a growing text into parts, for messages to which text can only be appended. Where a part ends depends
// only on the text before this place and on a little text after it. The last part contains only text that certainly
// belongs to this part.
type growing struct {
	cutter
	next rune // the character after the text; see the field next of grown
	open bool
}

func layGrown(src string, from int, o Options) []Part {
	g := arrangeGrown(src, from, o.Open, o.Dialect.Shape())
	c := growing{cutter: *newCutter(g.laid, o, g.end), next: g.next, open: o.Open}
	return c.parts(o.From)
}

// parts returns the parts that begin at or after the Mark from.
func (c *growing) parts(from Mark) []Part {
	var parts []Part
	pos := c.skipBlank(c.find(from))
	for pos < len(c.text) {
		cut, full, more := c.end(pos)
		if cut <= pos {
			break
		}
		p := c.piece(pos, cut)
		next, shows := c.skipBlank(cut), 0
		if full || !c.open {
			shows = c.sourceEnd(next)
		} else {
			next = pos + len(p.Text)
			shows = c.sourceOf(next)
			c.leaveOpen(&p, pos, more)
		}
		r := c.dialect.Render(p)
		if Visible(r.Text) {
			parts = append(parts, Part{
				Rendered: r, Plain: strings.TrimSpace(p.Text),
				Start: c.mark(pos), Next: c.mark(next), End: shows,
			})
		} else if n := len(parts); n > 0 {
			parts[n-1].Next, parts[n-1].End = c.mark(next), shows
		}
		if !full {
			break
		}
		pos = next
	}
	return parts
}

// sourceOf returns the source offset at which the text before pos ends.
func (c *growing) sourceOf(pos int) int {
	i := sort.Search(len(c.anchors), func(i int) bool { return c.anchors[i].text >= pos })
	if i == 0 {
		return c.mark(pos).Offset
	}
	a := c.anchors[i-1]
	return a.source + min(pos-a.text, a.size)
}

// leaveOpen sets the field Open in those formats of the piece at pos that continue after the piece. The parameter more
// is the end of the text that has arrived. A block that ends at the end of the arrived text may still get longer, so
// its format counts as open.
func (c *growing) leaveOpen(p *Piece, pos, more int) {
	end := pos + len(p.Text)
	last := sort.Search(len(c.formats), func(i int) bool { return c.formats[i].Start >= end })
	k := 0
	for _, f := range c.formats[:last] {
		if f.End <= pos {
			continue
		}
		block := f.Style == Pre || f.Style == Quote || f.Style == Heading
		p.Formats[k].Open = f.End > end || block && f.End == end && more <= end
		k++
	}
}

// end returns the end of the part that begins at pos, and whether the part is full. If the part is not full, cut is the
// end of the text that certainly belongs to the part. The text between the offsets cut and more has also arrived, but
// may belong to the next part.
func (c *growing) end(pos int) (cut int, full bool, more int) {
	limit := pos + room(c.dialect, c.text[pos:], c.limit)
	spots := c.ends(pos, limit)
	over := func(i, limit int) bool { return !c.fits(pos, spots[i].at, limit) }
	fit, late := len(spots), len(spots)
	if fit > 0 && over(fit-1, c.limit-c.limit/8) { // the text exceeds 7/8 of the limit, so a cut may be necessary
		fit = sort.Search(fit, func(i int) bool { return over(i, c.limit) })
		late = sort.Search(fit, func(i int) bool { return over(i, c.limit-c.limit/8) })
	}
	full = fit < len(spots)
	if !full && !c.open {
		return len(c.text), false, len(c.text)
	}
	best := max(late-1, 0)
	for i := late; i < fit; i++ {
		if i == late || spots[i].kind <= spots[best].kind {
			best = i
		}
	}
	if fit > 0 {
		more = spots[fit-1].at
		if cut = c.lift(pos, spots[best].at); cut > pos {
			return cut, full, more
		}
	}
	if !full {
		return pos, false, more
	}
	return c.force(pos, limit), true, more
}

// fits reports whether the rendered text between the offsets pos and end is not longer than limit.
func (c *growing) fits(pos, end, limit int) bool {
	return c.dialect.Len(c.dialect.Render(c.piece(pos, end))) <= limit
}

// force returns where to cut a text that contains no good place for a cut. If at least one grapheme fits, force cuts
// between two graphemes.
func (c *growing) force(pos, limit int) int {
	cut := pos
	g := graphemes.FromString(c.text[pos:min(len(c.text), limit+maxLook)])
	var ends []int
	for g.Next() && pos+g.End() <= limit {
		ends = append(ends, pos+g.End())
	}
	if i := sort.Search(len(ends), func(i int) bool { return !c.fits(pos, ends[i], c.limit) }); i > 0 {
		cut = ends[i-1]
	}
	if cut == pos {
		_, n := utf8.DecodeRuneInString(c.text[pos:])
		cut = max(runeFloor(c.text, limit), pos+n)
	}
	return cut
}

// ends returns the places after pos at which a part may end, up to the first place at which the part exceeds the limit.
func (c *growing) ends(pos, limit int) []spot {
	var ends []spot
	for s := range c.spots(pos, len(c.text), c.next) {
		// If the part may end at a blank line, end it already at the end of the line above, because the text after the blank
		// line may still change.
		if last := s.at == len(c.text) && !c.open; !last && (s.kind == atGrapheme || s.kind == atBlock) {
			continue
		}
		ends = append(ends, s)
		if s.at > limit && !c.fits(pos, s.at, c.limit) {
			break
		}
	}
	return ends
}
