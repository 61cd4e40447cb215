package markup

// Dialect defines how a platform encodes formatted text and counts its length. A Dialect is immutable and safe for
// concurrent use.
type Dialect interface {
	// Shape returns the characters that show blocks for which the platform has no format, such as list items and
	// rules.
	Shape() Shape
	// Render encodes a piece in the platform's form. The layout calls Render for every possible cut, so Render must have no
	// side effects. The rendered text shows exactly the text of the piece; only white space at the edges may be missing, if
	// the platform trims it. Render drops formats that the platform does not support. If the platform recognizes mentions
	// of people in plain text, Render must disable the mentions.
	Render(p Piece) Rendered
	// Len returns the length of a message in the unit of the platform's limit. A message with more text must never have a
	// smaller Len.
	Len(r Rendered) int
}

// Shape holds the characters that show lists and rules.
type Shape struct {
	Bullets []string // bullets of lists by depth; all deeper levels use the last one
	Todo    string   // box of an open task in a task list
	Done    string   // box of a finished task in a task list
	Rule    string   // line that shows a thematic break
	Tab     int      // number of columns between tab stops, for platforms without tabs; 0: keep tabs
	Extras  Extras   // further features of the platform
}

// Extras is a set of constructs that only some platforms can show. On other platforms, these constructs become text or
// code.
type Extras uint8

// CellStyles, Formulas and Details have no effect in messages to which text can only be appended; see Options.Append.
const (
	Tables     Extras = 1 << iota // the platform has the styles Row and Cell
	CellStyles                    // the platform has the styles of text within a Cell
	Tasks                         // the style Task
	Lists                         // the style Item
	Formulas                      // the platform has the style Formula; without it, the content of formulas is parsed as Markdown
	Details                       // the platform has the styles Detail and Summary; without them, the tags are shown as text
)

// onlyGrows are the extras that also work in messages to which text can only be appended.
const onlyGrows = Tables | Tasks | Lists

// Has reports whether the set contains all elements of the set some.
func (e Extras) Has(some Extras) bool { return e&some == some }

// Style is one kind of formatting.
type Style uint8

// Code, Pre and Formula never contain another style, with one exception: the Pre of a table contains Row and Cell, and
// a Cell may contain styles of text.
const (
	Bold Style = iota + 1
	Italic
	Strike
	Code    // inline code
	Pre     // a code block, or a table that is laid out in columns
	Link    // Format.URL is the link's target; images become links
	Quote   // whole lines that quote something
	Heading // a whole line that is a heading
	Row     // a row of a table, which is a line in the table's Pre. Level is 1 for the head
	Cell    // the text of a cell in a Row. Level is its column, from 1
	Task    // the box of an item in a task list. Level is 1 for a finished task
	Item    // the marker of a list item: a bullet, a number or a box. Level is the depth of the list, from 1
	Formula // a formula in LaTeX with its delimiters. Level is 1 if the formula has lines of its own
	Detail  // whole lines that a person can fold. Level is 1 if shown unfolded: the end tag is missing, or the source says so
	Summary // the line of a Detail that stays visible when it is folded
)

// Format gives a style to the bytes of a Piece's text from Start up to End.
type Format struct {
	Style      Style
	Start, End int
	URL        string // for the style Link: the target
	Language   string // for the style Pre: the language of the code; may be empty
	Level      int    // for the style Heading: 1 to 6; for other styles, see the style
	Align      string // for the style Cell: "center" or "right"; empty: left
	Open       bool   // text that is appended later continues the format, so Render omits the format's closing delimiter
}

// Piece is laid-out text for a dialect: the visible text and its formatting. Formats are ordered by their start, outer
// formats before inner ones, and they are properly nested. The text has no blank lines at its edges and no white space
// at its end. The text may begin with the indentation of code.
type Piece struct {
	Text    string
	Formats []Format
}
