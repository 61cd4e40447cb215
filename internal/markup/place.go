package markup

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// These are the kinds of places where a text can be cut, the best kind first.
const (
	atBlock    = iota // a blank line outside code
	atLine            // the end of a line
	atSentence        // white space after the end of a sentence, or a full stop of a script without spaces
	atWord            // white space, or a boundary between ideographs
	atGrapheme
	places
)

// place returns a good place to cut the text between pos and limit, the maximum end of the part. The returned place
// depends only on the text up to limit and on the grapheme after it. Therefore the cut stays the same while the text
// grows.
func (c *cutter) place(pos, limit int) int {
	if pre, ok := c.around(Pre, limit); ok && pre.Start > pos && pre.Start-pos >= (limit-pos)/2 {
		return c.lift(pos, pre.Start)
	}
	best := c.candidates(pos, limit)
	cut := 0
	third := pos + (limit-pos)*2/3
	for kind := range atGrapheme {
		if best[kind] >= third {
			cut = best[kind]
			break
		}
	}
	if cut <= pos {
		cut = slices.Max(best[:atGrapheme])
	}
	if cut <= pos {
		cut = best[atGrapheme]
	}
	if cut <= pos { // the limit is too small for even one grapheme
		_, size := utf8.DecodeRuneInString(c.text[pos:])
		return max(runeFloor(c.text, limit), pos+size)
	}
	return c.lift(pos, cut)
}

// lift moves a cut upwards if headings or summaries would be the last lines of the part. After the cut was moved, these
// lines begin the next part.
func (c *cutter) lift(pos, cut int) int {
	for _, z := range slices.Backward(c.zones) {
		if z.Start <= pos {
			break
		}
		if (z.Style == Heading || z.Style == Summary) && z.Start < cut && strings.TrimSpace(c.text[min(z.End, cut):cut]) == "" {
			cut = z.Start
		}
	}
	return cut
}

// candidates returns the last place of each kind between pos and limit.
func (c *cutter) candidates(pos, limit int) (best [places]int) {
	for s := range c.spots(pos, min(len(c.text), limit+maxLook), 0) {
		if s.at > limit {
			break
		}
		best[atGrapheme] = s.at
		best[s.kind] = s.at
	}
	if at := len(c.text); at <= limit {
		best[atGrapheme] = at
	}
	return best
}

// spot is a place where a part may end.
type spot struct{ at, kind int }

// spots yields the grapheme boundaries between the offsets pos and end, at which the text may be cut. If next, the
// character after end, is known, spots also yields end. Places within one of c.zones, or between a list item's marker
// and its text, have the kind atGrapheme.
func (c *cutter) spots(pos, end int, next rune) iter.Seq[spot] {
	return func(yield func(spot) bool) {
		zone, line := 0, pos
		var prev rune
		g := graphemes.FromString(c.text[pos:end])
		for at := pos; at < end || next != 0 && at == end; {
			r, size := next, 1
			if g.Next() {
				r, _ = utf8.DecodeRuneInString(g.Value())
				size = len(g.Value())
			}
			for zone < len(c.zones) && c.zones[zone].End <= at {
				zone++
			}
			free := zone >= len(c.zones) || c.zones[zone].Start >= at || c.zones[zone].Start <= pos
			kind := kindOf(prev, r)
			switch {
			case r == '\n' && prev == '\n' && !c.within(Pre, at):
				kind = atBlock
			case !free || c.onlyMark(c.text[line:at]):
				kind = atGrapheme
			}
			if at > pos && !yield(spot{at, kind}) {
				return
			}
			if r == '\n' {
				line = at + 1
			}
			prev, _ = utf8.DecodeLastRuneInString(g.Value())
			at += size
		}
	}
}

// kindOf returns the kind of the place between the character prev and the character next.
func kindOf(prev, next rune) int {
	switch {
	case next == '\n':
		return atLine
	case unicode.IsSpace(next) && strings.ContainsRune(".!?…:;", prev):
		return atSentence
	case unicode.IsSpace(prev):
		return atGrapheme // it is better to cut before this space than after it
	case unicode.IsSpace(next):
		return atWord
	case strings.ContainsRune(`。！？、，；：）」』】》”’)]}.,!?;:…`, next):
		return atGrapheme // a character such as next must not begin a line
	case strings.ContainsRune("。！？", prev):
		return atSentence
	case spaceless(prev):
		return atWord
	}
	return atGrapheme
}

// spaceless reports whether r belongs to a script that is written without spaces between words.
func spaceless(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer) ||
		r == '、' || r == '，'
}

// maxMark is the length in bytes of the longest list marker: a number of nine digits and a box.
const maxMark = 16

// onlyMark reports whether a line contains only a list marker. A part must not end between the marker and the item's
// text.
func (c *cutter) onlyMark(line string) bool {
	if line = strings.TrimSpace(line); len(line) > maxMark {
		return false
	}
	for word := range strings.FieldsSeq(line) {
		if word == c.shape.Todo || word == c.shape.Done || slices.Contains(c.shape.Bullets, word) {
			continue
		}
		if digits := strings.TrimRight(word, ".)"); digits == word || strings.Trim(digits, "0123456789") != "" {
			return false
		}
	}
	return true
}
