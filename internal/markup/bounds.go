package markup

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Normal texts do not reach these limits on the parser. Beyond these limits, the parser treats Markdown delimiters as
// text. Without these limits, a few kilobytes of ">" or "[" would delay all other replies, because the parser's time
// grows with the square of the number of nested or open constructs.
const (
	maxDepth      = 16  // maximum nesting of quotes and lists
	maxDelimiters = 500 // maximum number of emphasis delimiters and opening brackets in one paragraph
)

// delimiterLine matches the line below the head of a table.
var delimiterLine = regexp.MustCompile(`^\s{0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$`)

// shallow is a block parser that limits the nesting depth of quotes and lists.
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
		depth-- // an item of an existing list does not increase the depth
	}
	if depth >= maxDepth {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, r, pc)
}

// sparing is an inline parser that limits the number of delimiters in a block to maxDelimiters. All parsers that share
// a tally count their delimiters together.
type sparing struct {
	parser.InlineParser
	tally *tally
}

// tally counts the delimiters in one block. Only one goroutine at a time may use a tally.
type tally struct {
	block ast.Node
	n     int
}

func (s sparing) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if r.Peek() == ']' { // don't count a closing bracket, because its opening bracket was already counted
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

// CloseBlock forwards the end of a block, which the link parser needs.
func (s sparing) CloseBlock(parent ast.Node, r text.Reader, pc parser.Context) {
	if c, ok := s.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, r, pc)
	}
}

// definitions parses link reference definitions, but leaves footnotes as text. As a definition, the footnote "[^1]:
// note" would become invisible.
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

// headings parses underlined headings, but not directly below a table. Directly below a table, goldmark's own parser would
// move the paragraph before the table to a place after the table.
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

// doubled parses strikethrough only with two tildes. In answers, a single tilde often means "about". If a single tilde
// counted as a delimiter, the text after it would be held back until the closing tilde.
type doubled struct{ parser.InlineParser }

func (d doubled) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if line, _ := r.PeekLine(); !bytes.HasPrefix(line, []byte("~~")) {
		return nil
	}
	return d.InlineParser.Parse(parent, r, pc)
}

// longestLocal is the maximum length in bytes of the part before the @ of an e-mail address. goldmark examines at most
// this many bytes.
const longestLocal = 64

// unmarked parses bare URLs and e-mail addresses, but no address with emphasis delimiters before the @. goldmark's own
// parser accepts more characters before the @ than GitHub does
// (https://github.github.com/gfm/#extended-email-autolink). In "**words**me@example.org", goldmark's own parser would
// turn the closing delimiter ** into a part of the address.
type unmarked struct{ parser.InlineParser }

func (u unmarked) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	line, _ := r.PeekLine()
	word := line
	if bytes.IndexByte([]byte(" *_~("), line[0]) >= 0 { // the character that triggered the parser; missing at the start of a line
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

// barred parses tables only if their head begins with a vertical bar. Because of barred, a line without a bar at its
// start can't be the head of a table, so a preview can show it before the next line arrives.
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
