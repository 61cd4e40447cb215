package markup

import (
	"cmp"
	"strings"

	"github.com/yuin/goldmark/parser"
)

// Rendered is the text of one message in the form of a dialect.
type Rendered struct {
	Text  string
	Spans []Span // formatting by offset; nil if the dialect encodes formatting in Text
}

// Span gives a format to Length units of Text, beginning at Offset. The dialect defines the unit of Offset and Length.
type Span struct {
	Kind           string // name of the style in the dialect
	Offset, Length int
	URL            string
	Language       string
}

// Mark is the place in the source at which a part begins. Offset is the source offset of the top-level block in which
// the part begins. Line and Col say where the part begins in the laid-out text of this block. Everything before the
// Mark belongs to earlier parts. Shown is the source offset up to which earlier parts show the text. If text that
// arrives later changes the layout of the block, Line and Col become wrong. If Line and Col are wrong, Shown determines
// where the part begins, so that no text is shown twice or left out. The zero Mark is the beginning of the source.
// Appending to the source does not change a Mark.
type Mark struct{ Offset, Line, Col, Shown int }

// Before reports whether the Mark a is earlier in the source than the Mark b.
func (a Mark) Before(b Mark) bool {
	return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Shown, b.Shown)) < 0
}

// Part is the content of one message.
type Part struct {
	Rendered Rendered
	Plain    string // text of the part without markup
	Start    Mark   // place in the source at which this part begins
	Next     Mark   // place in the source at which the following part begins
	End      int    // number of source bytes that this part and the parts before it show
}

// Options configure a layout.
type Options struct {
	Dialect Dialect
	Limit   int  // maximum length of a part after rendering, in the dialect's unit
	From    Mark // skip the source before this Mark
	Open    bool // more source may follow: close open constructs, and hide text that may still change its meaning
	Paused  bool // with Open: only a new paragraph or nothing can follow, so the last character is complete
	Append  bool // text can only be appended to the message, see Layout; must have the same value in all layouts of one reply
}

// Layout renders the Markdown source src and cuts it into parts that fit o.Limit. A source that shows nothing has no
// parts. All parts together show the whole text once.
//
// While src grows, every part except the last one keeps its text and its Next, and a layout from its Next returns the
// parts after it. The exceptions are constructs that change earlier text: an underline that turns the paragraph above
// into a heading, a link definition that comes after its link, emphasis or a bracket that is never closed, and a table
// whose columns get wider. With o.Open there is another exception: if none of the last part's text may be shown for a
// moment, this part is missing, and the part before it becomes the last one again.
//
// With o.Append, none of these exceptions occurs. Layouts of a growing source with Open, and of the whole source
// without Open, have the same parts. With o.Append, only the last part gets longer as the source
// grows: text is appended to its Rendered.Text, and its spans stay the same or grow with the text. In return, with
// o.Append the layout shows text later than without it. With o.Append, the layout shows text word by word, and a table
// only as a whole. With o.Append, the layout shows the text after an opening emphasis delimiter or bracket only when
// the construct is closed. With o.Append, some constructs can't be recognized in time, so the layout shows their
// source: underlines below headings, reference links and their definitions, tables whose head does not begin with a
// vertical bar, and strikethrough with one tilde. With o.Append, Layout ends a part at the best place within the
// last eighth of the part's maximum length.
//
// The cost of Layout depends only on the text after o.From.
func Layout(src string, o Options) []Part {
	from := min(max(o.From.Offset, 0), len(src))
	if o.Append {
		return layGrown(src, from, o)
	}
	l, end := arrange(src, from, o)
	return newCutter(l, o, end).parts(o.From)
}

// arrange lays out the source src, beginning at the offset from, which is the start of a top-level block. arrange also
// returns the number of source bytes that are shown.
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
	l := flatten(shape, !blankEnd(doc.src),
		based{document: head, base: from},
		based{document: tail.document, base: tail.base, blank: blank})
	l.cutSource(from + shown) // if a closing delimiter that was added closes nothing, the parser reads it as text, so cut it off
	return l, from + shown
}
