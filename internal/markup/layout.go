package markup

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
// belongs to the parts before. The zero Mark is the beginning. Text that is only appended
// to the source never moves a Mark.
type Mark struct{ Offset, Line, Col int }

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
}
