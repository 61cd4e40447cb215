package markup

// Dialect is how a platform writes formatted text and how it counts length. A Dialect is
// immutable and safe for concurrent use.
type Dialect interface {
	// Shape says which characters stand for blocks that have no formatting of their own.
	Shape() Shape
	// Render encodes a piece. It is called for every candidate of a cut, so it must be pure.
	// It shows exactly the piece's text, less white space at its edges where the platform
	// trims it, and leaves out formatting that the platform lacks. A dialect whose platform
	// reads mentions out of the text makes them harmless here.
	Render(p Piece) Rendered
	// Len is the length of a message in the unit of the platform's limit. It must not
	// shrink when text is appended.
	Len(r Rendered) int
}

// Shape holds the characters that stand for lists and rules.
type Shape struct {
	Bullets []string // by depth; the last one also serves everything deeper
	Todo    string   // an open task of a task list
	Done    string   // a finished task of a task list
	Rule    string   // a thematic break
	Tab     int      // columns between tab stops, for platforms that know no tabs; 0: tabs stay
}

// Style is one kind of formatting.
type Style uint8

// The styles. Code and Pre never contain another style.
const (
	Bold Style = iota + 1
	Italic
	Strike
	Code    // inline code
	Pre     // a code block, or a table laid out in columns
	Link    // URL is where it goes; images are links as well
	Quote   // whole lines
	Heading // a whole line
)

// Format gives the bytes of a Piece's text from Start up to End a style.
type Format struct {
	Style      Style
	Start, End int
	URL        string // Link
	Language   string // Pre; empty when the source names none
	Level      int    // Heading: 1 to 6
	Open       bool   // goes on in text that is appended to the piece later: marks that would close it are left out
}

// Piece is laid-out text on its way to a dialect: what a person reads, and how it looks.
// Formats are ordered by where they start, the outer before the inner, and are properly
// nested. The text has no blank lines at its edges and no trailing white space, but it may
// start with the indentation of code.
type Piece struct {
	Text    string
	Formats []Format
}
