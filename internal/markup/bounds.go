package markup

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Bounds that no honest text reaches. Beyond them marks are taken for text: the parser's time
// grows with the square of what is nested or left open, so that a few kilobytes of ">" or
// "[" would hold up everybody else's replies.
const (
	maxDepth      = 16  // quotes and lists in each other
	maxDelimiters = 500 // emphasis marks and opening brackets of one paragraph
)

// delimiterLine is the line below the head of a table.
var delimiterLine = regexp.MustCompile(`^\s{0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$`)

// shallow is a block parser that opens no container in a deep one.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		switch n.(type) {
		case *ast.Blockquote, *ast.List:
			depth++
		}
	}
	if _, ok := parent.(*ast.List); ok {
		depth-- // an item of a list that is there already
	}
	if depth >= maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, r, pc)
}

// sparing is an inline parser that finds no more than maxDelimiters marks in a block. All
// that share a tally count together.
type sparing struct {
	parser.InlineParser
	tally *tally
}

// tally counts the marks in one block. A parser that counts serves one goroutine.
type tally struct {
	block ast.Node
	n     int
}

func (s sparing) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if r.Peek() == ']' { // closes what was counted when it opened
		return s.InlineParser.Parse(parent, r, pc)
	}
	if s.tally.block != parent {
		*s.tally = tally{block: parent}
	}
	if s.tally.n >= maxDelimiters {
		return nil
	}
	n := s.InlineParser.Parse(parent, r, pc)
	if n != nil {
		s.tally.n++
	}
	return n
}

// CloseBlock passes on the end of a block, which the link parser waits for.
func (s sparing) CloseBlock(parent ast.Node, r text.Reader, pc parser.Context) {
	if c, ok := s.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, r, pc)
	}
}

// definitions finds link reference definitions, but leaves footnotes alone: "[^1]: note" is
// text here, because nothing could lead to it.
type definitions struct{ parser.ParagraphTransformer }

func (d definitions) Transform(n *ast.Paragraph, r text.Reader, pc parser.Context) {
	if n.Lines().Len() > 0 {
		first := n.Lines().At(0)
		if bytes.HasPrefix(bytes.TrimLeft(first.Value(r.Source()), " "), []byte("[^")) {
			return
		}
	}
	d.ParagraphTransformer.Transform(n, r, pc)
}

// headings finds underlined headings, but not below a table: there the parser would put the
// paragraph above the table behind it.
type headings struct{ parser.BlockParser }

func (h headings) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if p, ok := pc.LastOpenedBlock().Node.(*ast.Paragraph); ok {
		for i := 1; i < p.Lines().Len(); i++ {
			line := p.Lines().At(i)
			if delimiterRow.Match(bytes.TrimRight(line.Value(r.Source()), "\r\n")) {
				return nil, parser.NoChildren
			}
		}
	}
	return h.BlockParser.Open(parent, r, pc)
}

// doubled finds strikethrough of two tildes only: one tilde often says "about", and would
// hold back what follows.
type doubled struct{ parser.InlineParser }

func (d doubled) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if line, _ := r.PeekLine(); !bytes.HasPrefix(line, []byte("~~")) {
		return nil
	}
	return d.InlineParser.Parse(parent, r, pc)
}

// longestLocal is how long, in bytes, what stands before the @ of an address is at most: the parser looks no further.
const longestLocal = 64

// unmarked finds bare addresses, but no e-mail address in which there are marks before the @. The parser knows
// characters there that GitHub's does not (https://github.github.com/gfm/#extended-email-autolink), and
// would take back the mark that "**words**me@example.org" has shown closed.
type unmarked struct{ parser.InlineParser }

func (u unmarked) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	line, _ := r.PeekLine()
	word := line
	if bytes.IndexByte([]byte(" *_~("), line[0]) >= 0 { // what triggers it, unless the line begins here
		word = line[1:]
	}
	word = word[:min(len(word), longestLocal+1)]
	i := bytes.IndexFunc(word, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(".-_+", c)
	})
	if i >= 0 && bytes.IndexByte([]byte("!#$%&'*/=?^`{|}~"), word[i]) >= 0 && !bytes.HasPrefix(word, []byte("www.")) {
		return nil
	}
	return u.InlineParser.Parse(parent, r, pc)
}

// barred finds tables whose head begins with a bar. Any other line can be shown before the
// line below it is known.
type barred struct{ parser.ParagraphTransformer }

func (b barred) Transform(n *ast.Paragraph, r text.Reader, pc parser.Context) {
	for i := 1; i < n.Lines().Len(); i++ {
		line, above := n.Lines().At(i), n.Lines().At(i-1)
		if !delimiterLine.Match(line.Value(r.Source())) {
			continue
		}
		if bytes.HasPrefix(bytes.TrimLeft(above.Value(r.Source()), " "), []byte("|")) {
			b.ParagraphTransformer.Transform(n, r, pc)
		}
		return
	}
}
