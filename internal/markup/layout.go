package markup

import (
	"cmp"
	"strings"

	"github.com/yuin/goldmark/parser"
)

// Rendered is the text of one message as encoded by a dialect.
type Rendered struct {
	Text  string
	Spans []Span // formatting by offset; nil if the dialect encodes formatting in Text
}

// Span formats Length units of Text starting at Offset, in the dialect's unit.
type Span struct {
	Kind           string // the dialect's name for the style
	Offset, Length int
	URL            string
	Language       string
}

// Mark is the start of a part in the source. Offset is the start of the top-level block that contains it. Line
// and Col are the amount of that block's laid-out text that belongs to earlier parts. Shown is the source offset
// up to which the earlier parts show the text. If later text changes the layout of the block, Shown decides, so
// that nothing is shown twice or left out. The zero Mark is the beginning. Appending to the source never moves a
// Mark.
type Mark struct{ Offset, Line, Col, Shown int }

// Before reports whether a comes earlier in the source than b.
func (a Mark) Before(b Mark) bool {
	return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Shown, b.Shown)) < 0
}

// Part is the content of one message.
type Part struct {
	Rendered Rendered
	Plain    string // the same text without markup
	Start    Mark   // start of this part
	Next     Mark   // start of the following part
	End      int    // source bytes shown by this part and the parts before it
}

// Options configure a layout.
type Options struct {
	Dialect Dialect
	Limit   int  // maximum length of a part after rendering, in the dialect's unit
	From    Mark // skip the source before this mark
	Open    bool // the source is an unfinished prefix: close open constructs and hide text that may still change its meaning
	Paused  bool // with Open: only another paragraph or nothing can follow, so the last character is complete
	Append  bool // for a message that can only be appended to, see Layout; must be the same for all parts of a reply and for the final
}

// Layout renders the Markdown source src and cuts it into parts that fit o.Limit. A source that shows nothing
// has no parts. Together the parts show the whole text once.
//
// While src grows, a part that is not the last one keeps its text and its Next, and a layout from its Next
// returns the parts after it. The exceptions are constructs that change earlier text: an underline that turns
// the paragraph above into a heading, a link definition that arrives late, emphasis or a bracket that is never
// closed, and a table whose columns grow. With o.Open a part can also become the last one again for a moment,
// while the short text after it is held back.
//
// With o.Append there are no exceptions. Layouts of a growing source with Open, and of the whole source without
// Open, have the same parts, and only the last one gets longer: the Rendered.Text of a part only gets longer,
// and its spans stay or grow with the text. The text is therefore shown later, word by word. A paragraph after
// an emphasis mark or a bracket is shown when the construct is closed, and a table as a whole. Constructs that
// can't be recognized in time are shown as source: underlines below headings, reference links and their
// definitions, tables whose head does not begin with a bar, and strikethrough with one tilde. A part ends at the
// best place in the last eighth of its room.
//
// The cost depends only on the text after o.From.
func Layout(src string, o Options) []Part {
	from := min(max(o.From.Offset, 0), len(src))
	if o.Append {
		return layGrown(src, from, o)
	}
	l, end := arrange(src, from, o)
	return newCutter(l, o, end).parts(o.From)
}

// arrange lays out src from offset from on, the start of a top-level block. It also returns the number of source
// bytes shown.
func arrange(src string, from int, o Options) (laid, int) {
	shape := o.Dialect.Shape()
	p := newParser(shape.Extras, false)
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
	head, tail, shown := heal(p, doc, shape.Extras)
	blank := tail.base > 0 && blankBefore(doc.src, tail.base)
	tail.base += from
	return flatten(shape, !blankEnd(doc.src),
		based{document: head, base: from},
		based{document: tail.document, base: tail.base, blank: blank}), from + shown
}
