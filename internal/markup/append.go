package markup

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// grown is a text that only grows, laid out: it stays whatever follows.
type grown struct {
	laid
	next rune // what follows at the end of the text: a space, a line break, or 0 for nobody knows
	end  int  // how much of the source was looked at
}

// arrangeGrown lays out src from offset from on for a message that can only be added to.
func arrangeGrown(src string, from int, open bool, shape Shape) grown {
	p := newParser(true)
	if !open {
		l := flatten(shape, false, based{document: parse(p, []byte(src[from:]), nil), base: from})
		return grown{laid: l, next: '\n', end: len(src)}
	}
	end := max(from, settled(src[:beforeLast(src)]))
	doc := parse(p, []byte(src[from:end]), nil)
	for len(doc.blocks) > 0 {
		cut := holdLast(doc.src, openLeaf(doc.blocks[len(doc.blocks)-1].node))
		if cut == len(doc.src) {
			break
		}
		doc = parse(p, doc.src[:cut], nil)
	}
	l := flatten(shape, !blankEnd(doc.src), based{document: doc, base: from})
	g := grown{laid: l, end: from + len(doc.src)}
	if n := len(doc.blocks); n > 0 {
		g.settle(doc.src, openLeaf(doc.blocks[n-1].node), from)
	}
	return g
}

// settle cuts off what later text may still change. The source from offset from on is src,
// and leaf its last block.
func (g *grown) settle(src []byte, leaf ast.Node, from int) {
	sure := unsettled(src, leaf)
	n := len(g.anchors)
	if sure < len(src) {
		if n = slices.IndexFunc(g.anchors, func(a anchor) bool { return a.source-from >= sure }); n < 0 {
			n = len(g.anchors)
		}
	}
	var behind []byte // what follows the last text
	above := false    // it is in a block above
	if n > 0 {
		a := g.anchors[n-1]
		if end := a.source - from + a.size; sure < end {
			g.cut(a.text + sure - (a.source - from))
			return
		} else if end <= sure {
			behind = src[end:sure]
		}
		start, _ := contentOfBlock(leaf)
		above = a.source-from < start
	}
	if sure < len(src) {
		at := len(g.text)
		if n < len(g.anchors) {
			at = g.anchors[n].text
		}
		if n > 0 && g.anchors[n-1].size > 0 {
			at = min(at, g.anchors[n-1].text+g.anchors[n-1].size)
		}
		above = strings.HasSuffix(g.text[:at], "\n") || above
		g.cut(at)
	}
	g.next = following(src, leaf, behind, above, sure)
}

// cut cuts the text off behind at.
func (g *grown) cut(at int) {
	if at >= len(g.text) {
		return
	}
	g.text = strings.TrimRight(g.text[:at], "\n")
	end := len(g.text)
	var formats []Format
	for _, f := range g.formats {
		if f.Start < end {
			f.End = min(f.End, end)
			formats = append(formats, f)
		}
	}
	g.formats = formats
	g.blocks = slices.DeleteFunc(g.blocks, func(b laidBlock) bool { return b.start >= end })
	if n := len(g.blocks); n > 0 {
		g.blocks[n-1].end = min(g.blocks[n-1].end, end)
	}
	g.anchors = slices.DeleteFunc(g.anchors, func(a anchor) bool { return a.text >= end })
}

// beforeLast returns where the last character of src begins, which may be half of another
// one. White space is whole.
func beforeLast(src string) int {
	n := wholeRunes(src)
	if n == 0 || strings.ContainsRune(" \t\r\n", rune(src[n-1])) {
		return n
	}
	return graphemeStart(src[:n])
}

// following returns what stands between a text and what follows it: a space, a line break, or
// 0 for nobody knows. The text is in the block leaf at the end of src, or above it, and behind
// it stands behind, up to sure.
func following(src []byte, leaf ast.Node, behind []byte, above bool, sure int) rune {
	_, heading := leaf.(*ast.Heading)
	_, fenced := leaf.(*ast.FencedCodeBlock)
	_, indented := leaf.(*ast.CodeBlock)
	next := rune(0)
	switch {
	case above:
		return '\n'
	case (fenced || indented) && bytes.IndexByte(behind, '\n') >= 0:
		return '\n' // blank lines may follow
	case sure == len(src):
		next = ending(src, leaf)
	default:
		if next = between(behind); next == 0 {
			next = addressStart(src[sure:])
		}
	}
	if heading && next != '\n' {
		return 0 // a heading that goes on can't be cut here
	}
	return next
}

// addressStart returns the first character of a bare address at the start of src, or 0. Nothing else that later text may
// change begins with a letter or a digit, and the character is shown also if the address is none in the end.
func addressStart(src []byte) rune {
	if r, _ := utf8.DecodeRune(src); unicode.IsLetter(r) || unicode.IsDigit(r) {
		return r
	}
	return 0
}

// between returns what white space is in the source between a text and the next, which the
// closing marks of the one may precede and line breaks written as tags follow.
func between(src []byte) rune {
	rest := bytes.TrimLeft(src, " \t\r")
	mark := bytes.IndexByte(src, '<')
	switch {
	case mark >= 0 && brTag(src[mark:]) > 0 && !bytes.ContainsAny(src[:mark], " \t"):
		return '\n' // what stands behind closing marks
	case bytes.HasPrefix(rest, []byte("\n")), bytes.HasSuffix(bytes.TrimRight(src, " \t>"), []byte("\n")):
		return '\n'
	case len(rest) < len(src) && (len(rest) == 0 || brTag(rest) > 0), bytes.HasSuffix(src, []byte(" ")):
		return ' '
	}
	return 0
}

// ending returns what stands behind the content of leaf at the end of src: a space, a line
// break, or 0 for nothing.
func ending(src []byte, leaf ast.Node) rune {
	_, end := contentOfBlock(leaf)
	if end < 0 {
		// Marks of quotes may have begun the next line already.
		end = len(bytes.TrimRight(src, " \t>"))
	}
	rest := src[end:]
	switch {
	case bytes.IndexByte(rest, '\n') >= 0, end > 0 && src[end-1] == '\n':
		return '\n'
	case len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t'):
		return ' '
	}
	return 0
}

// contentOfBlock returns where the content of a block begins and ends in the source, or -1 and -1 if it has none.
func contentOfBlock(leaf ast.Node) (start, end int) {
	lines := leaf.Lines()
	if lines == nil || lines.Len() == 0 {
		return -1, -1
	}
	first, last := lines.At(0), lines.At(lines.Len()-1)
	return first.Start, last.Stop
}

// holdLast returns where the source has to end so that no later text makes another block of
// its last line.
func holdLast(src []byte, leaf ast.Node) int {
	start := lineStart(src, len(src))
	last := string(src[start:])
	switch leaf := leaf.(type) {
	case *ast.FencedCodeBlock:
		if leaf.Lines().Len() > 0 {
			if strings.Trim(last, " \t>`~") == "" { // becomes a fence, or the mark of a quote around it
				return start
			}
			return len(src)
		}
	case *ast.CodeBlock:
		return len(src)
	case *ast.HTMLBlock:
		return start
	case *extast.Table:
		if blankEnd(src) {
			return len(src)
		}
		return lineStart(src, position(leaf))
	}
	content := contentOf(last)
	switch {
	case last == "":
		return holdHead(src) // when the line above is code, the cases before know
	case onlyMarks.MatchString(content), partialBox.MatchString(content),
		strings.HasPrefix(content, "|"), strings.HasPrefix(content, "```"), strings.HasPrefix(content, "~~~"),
		strings.HasPrefix(content, "<") && !angleAddress.MatchString(content):
		return start
	}
	return len(src)
}

// unsettled returns where in src begins what later text may still change: an inline
// construct of the last paragraph that is not closed, or could reach further.
func unsettled(src []byte, leaf ast.Node) int {
	if !inlineGrows(src, leaf) {
		return len(src)
	}
	s := seeker{src: src, leaf: leaf, at: -1}
	return s.seek()
}
