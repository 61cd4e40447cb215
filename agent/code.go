package agent

import (
	"bytes"
	"strings"
)

// codeState follows Markdown closely enough to know whether a place in a text that is still
// growing is inside code: a fence, or a code span, which is taken to end with its line. The
// zero value is the start of a text.
type codeState struct {
	fenceChar byte // of the open fence
	fenceLen  int  // 0: no fence is open
	line      []byte
	span, run int // lengths of the runs of back-ticks in the line that opened the code span, and that is being read; 0: none
}

// inside reports whether the place after what was read is inside code.
func (c *codeState) inside() bool { return c.fenceLen > 0 || c.endRun() > 0 }

// endRun returns span as it is when the run that is being read ends here.
func (c *codeState) endRun() int {
	switch {
	case c.run == 0:
		return c.span
	case c.span == 0:
		return c.run
	case c.run == c.span:
		return 0
	default:
		return c.span
	}
}

// lineStart reports whether only white space came on the current line.
func (c *codeState) lineStart() bool { return len(bytes.Trim(c.line, whiteSpace)) == 0 }

// closing returns what must follow the text to close its open fence; empty: nothing.
func (c *codeState) closing() string {
	c.newLine() // the last line may itself open or close one
	return strings.Repeat(string(c.fenceChar), c.fenceLen)
}

func (c *codeState) read(s string) {
	for i := range len(s) {
		switch s[i] {
		case '\n':
			c.newLine()
			continue
		case '`':
			c.run++
		default:
			c.span, c.run = c.endRun(), 0
		}
		c.line = append(c.line, s[i])
	}
}

// newLine ends the current line. Fences open and close with it.
func (c *codeState) newLine() {
	line := bytes.TrimLeft(c.line, whiteSpace)
	c.line, c.span, c.run = c.line[:0], 0, 0
	if len(line) == 0 || line[0] != '`' && line[0] != '~' {
		return
	}
	rest := bytes.TrimLeft(line, string(line[:1]))
	n := len(line) - len(rest)
	switch {
	case c.fenceLen == 0 && n >= 3 && (line[0] == '~' || !bytes.Contains(rest, []byte("`"))):
		c.fenceChar, c.fenceLen = line[0], n
	case line[0] == c.fenceChar && n >= c.fenceLen && len(bytes.Trim(rest, whiteSpace)) == 0:
		c.fenceChar, c.fenceLen = 0, 0
	}
}
