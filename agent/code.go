package agent

import "strings"

// codeState follows Markdown closely enough to know whether a place in a text that is still
// growing is inside code: a fence, or a code span, which is taken to end with its line. The
// zero value is the start of a text.
type codeState struct {
	fenceChar byte // of the open fence
	fenceLen  int  // 0: no fence is open

	// The current line.
	begun   bool // something but white space came
	mark    byte // the fence character that the line begins with; 0: none
	markLen int
	marking bool // the run of marks goes on
	blank   bool // only white space after the marks
	tick    bool // a back-tick after the marks: no opening fence

	span int // length of the back-tick run that opened the code span; 0: none
	run  int // length of the back-tick run being read
}

// inside reports whether the place after what was read is inside code.
func (c *codeState) inside() bool {
	if c.fenceLen > 0 {
		return true
	}
	if c.run > 0 { // a run that ends here opens or closes a span
		return c.span == 0 || c.run != c.span
	}
	return c.span > 0
}

// lineStart reports whether only white space came on the current line.
func (c *codeState) lineStart() bool { return !c.begun }

// closing returns what must follow the text to close its open fence; empty: nothing.
func (c *codeState) closing() string {
	if c.marking || c.begun {
		c.newLine() // the last line may itself open or close one
	}
	return strings.Repeat(string(c.fenceChar), c.fenceLen)
}

func (c *codeState) read(s string) {
	for i := range len(s) {
		c.readByte(s[i])
	}
}

func (c *codeState) readByte(b byte) {
	if b == '\n' {
		c.newLine()
		return
	}
	if b != '`' {
		c.endRun()
	} else {
		c.run++
	}
	white := strings.IndexByte(whiteSpace, b) >= 0
	switch {
	case !c.begun && white:
	case !c.begun:
		c.begun = true
		if b == '`' || b == '~' {
			c.mark, c.markLen, c.marking, c.blank = b, 1, true, true
		}
	case c.marking && b == c.mark:
		c.markLen++
	default:
		c.marking = false
		c.blank = c.blank && white
		c.tick = c.tick || b == '`'
	}
}

// endRun ends a run of back-ticks: it opens a code span, closes it, or is part of its text.
func (c *codeState) endRun() {
	switch c.run {
	case 0:
	case c.span:
		c.span = 0
	default:
		if c.span == 0 {
			c.span = c.run
		}
	}
	c.run = 0
}

// newLine ends the current line. Fences open and close with it.
func (c *codeState) newLine() {
	next := codeState{fenceChar: c.fenceChar, fenceLen: c.fenceLen}
	switch {
	case c.fenceLen == 0 && c.markLen >= 3 && (c.mark == '~' || !c.tick):
		next.fenceChar, next.fenceLen = c.mark, c.markLen
	case c.fenceLen > 0 && c.mark == c.fenceChar && c.markLen >= c.fenceLen && c.blank:
		next.fenceChar, next.fenceLen = 0, 0
	}
	*c = next
}
