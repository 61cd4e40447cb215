package markup

import (
	"cmp"
	"strings"

	"github.com/yuin/goldmark/parser"
)

// Rendered is one message's text as a dialect writes it.
type Rendered struct {
	Text  string
	Spans []Span // formatting by offset; nil in dialects that mark up inside Text
}

// Span formats Length units of Text from Offset on, in the dialect's unit.
type Span struct {
	Kind           string // as the dialect names it
	Offset, Length int
	URL            string
	Language       string
}

// Mark is a place in the source where a part begins: Offset is the byte where the top-level
// block that contains it starts; Line and Col say how much of that block, once laid out,
// belongs to the parts before. Shown is where in the source the last character that these
// parts show ends. It decides once later text lays out the block in another way: nothing is
// shown twice and nothing is left out. The zero Mark is the beginning. Text that is only
// appended to the source never moves a Mark.
type Mark struct{ Offset, Line, Col, Shown int }

// Before reports whether a comes earlier in the source than b.
func (a Mark) Before(b Mark) bool {
	return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Shown, b.Shown)) < 0
}

// Part is the content of one message.
type Part struct {
	Rendered Rendered
	Plain    string // the same text without markup
	Start    Mark   // where this part begins
	Next     Mark   // where the following part begins, or would begin
	End      int    // source bytes up to here are shown by this part and those before it
}

// Options says how a source is laid out.
type Options struct {
	Dialect Dialect
	Limit   int  // longest part, in the dialect's unit, after rendering
	From    Mark // leave out what comes before
	Open    bool // the source is an unfinished prefix: heal it, show nothing that may still turn into something else
	Paused  bool // with Open: what follows is another paragraph or nothing, so that the last character is whole
	Append  bool // for a message that can only be added to, see Layout; the same for all parts of a reply, and for the final
}

// Layout renders the Markdown source src and cuts it into parts that fit o.Limit. A source
// with nothing to show has no parts. Parts joined show the whole text once.
//
// While src only grows, a part that is not the last one keeps its text and its Next, and
// laying out from its Next gives the parts that follow it. What Markdown itself changes
// after the fact is the exception: an underline that makes a heading of the paragraph above,
// a link's definition that arrives late, emphasis or a bracket that is never closed, and a
// table whose columns grow. With o.Open a part can also be the last one again for a moment,
// while the little text behind it is held back.
//
// With o.Append there is no exception. Layouts of a growing source with Open, and the one of
// the whole without, have the same parts, of which only the last gets longer: each part's
// Rendered.Text begins with what it was before, and its spans stay, but for growing with the
// text. So the text is shown later, word by word, and a paragraph behind an emphasis mark or
// a bracket only when this is closed, and a table as a whole. What can't be known in time is
// shown as it is written: underlines below headings, reference links and their definitions,
// tables whose head does not begin with a bar, strikethrough of one tilde. A part ends at
// the best place in the last eighth of its room.
//
// The cost depends on the text from o.From on, not on what comes before.
func Layout(src string, o Options) []Part {
	from := min(max(o.From.Offset, 0), len(src))
	if o.Append {
		return layGrown(src, from, o)
	}
	l, end := arrange(src, from, o)
	return newCutter(l, o, end).parts(o.From)
}

// arrange lays out src from offset from on, which is where a top-level block starts. It
// also returns how much of src is shown.
func arrange(src string, from int, o Options) (laid, int) {
	p, shape := newParser(false), o.Dialect.Shape()
	end := len(src)
	var refs []parser.Reference
	if strings.Contains(src[from:], "]") {
		refs = references(src[:from])
	}
	if !o.Open {
		return flatten(shape, false, based{document: parse(p, []byte(src[from:]), refs), base: from}), end
	}
	if !o.Paused {
		end = wholeCharacters(src)
	}
	end = max(from, settled(src[:end]))
	doc := parse(p, []byte(src[from:end]), refs)
	head, tail, shown := heal(p, doc)
	blank := tail.base > 0 && blankBefore(doc.src, tail.base)
	tail.base += from
	return flatten(shape, !blankEnd(doc.src),
		based{document: head, base: from},
		based{document: tail.document, base: tail.base, blank: blank}), from + shown
}
