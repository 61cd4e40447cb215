package agent

import (
	"bytes"
	"strings"
)

// codeState parses Markdown closely enough to know whether the end of a growing text is inside code: a fenced block or a code
// span. codeState assumes that a code span ends with its line. The zero value is the state at the start of a text.
type codeState struct {
	fenceChar byte // the character of the open fence
	fenceLen  int  // 0: no fence is open
	line      []byte
	span, run int // lengths of the back-tick run that opened the code span, and of the back-tick run that is being read; 0: none
}

// inside reports whether the end of the text is inside code.
func (c *codeState) inside() bool { return c.fenceLen > 0 || c.endRun() > 0 }

// endRun returns the value that span gets if the current run of back-ticks ends here.
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

// lineStart reports whether the current line has only white space so far.
func (c *codeState) lineStart() bool { return len(bytes.Trim(c.line, whiteSpace)) == 0 }

// closing returns the fence that closes the open code block, or an empty text if no code block is open.
func (c *codeState) closing() string {
	c.newLine() // the last line may itself open or close a block
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

// newLine ends the current line. A fence opens or closes a code block when its line ends.
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
