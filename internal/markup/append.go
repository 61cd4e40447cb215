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

// grown is the layout of a growing text for a message to which text can only be appended. Whatever text arrives later, this
// layout stays valid.
type grown struct {
	laid
	next rune // the character that follows the shown text: a space, a line break, or 0 if unknown
	end  int  // number of bytes of the source that were examined
}

// arrangeGrown computes the layout of the source src, beginning at the offset from, for a message to which text can only be
// appended.
func arrangeGrown(src string, from int, open bool, shape Shape) grown {
	shape.Extras &= onlyGrows
	p := newParser(shape.Extras, true)
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

// settle cuts off the text that later input may still change. src begins at offset from of the whole source, and leaf is the
// last block of src.
func (g *grown) settle(src []byte, leaf ast.Node, from int) {
	sure := unsettled(src, leaf)
	n := len(g.anchors)
	if sure < len(src) {
		if n = slices.IndexFunc(g.anchors, func(a anchor) bool { return a.source-from >= sure }); n < 0 {
			n = len(g.anchors)
		}
	}
	var behind []byte // the source between the end of the shown text and the offset sure
	above := false    // the shown text ends in a block before leaf
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

// beforeLast returns the start of the last character of src, which later input may still change. If src ends in white
// space, beforeLast returns the length of src.
func beforeLast(src string) int {
	n := wholeRunes(src)
	if n == 0 || strings.ContainsRune(" \t\r\n", rune(src[n-1])) {
		return n
	}
	return graphemeStart(src[:n])
}

// following returns the character that follows a text: a space, a line break, or 0 if unknown. leaf is the last block of src.
// The text ends in the block leaf, or before leaf if above is true. Text that arrives later can't change src up to the offset
// sure. The parameter behind is the source between the text and this offset.
func following(src []byte, leaf ast.Node, behind []byte, above bool, sure int) rune {
	_, heading := leaf.(*ast.Heading)
	_, fenced := leaf.(*ast.FencedCodeBlock)
	_, indented := leaf.(*ast.CodeBlock)
	next := rune(0)
	switch {
	case above:
		return '\n'
	case (fenced || indented) && bytes.IndexByte(behind, '\n') >= 0:
		return '\n' // more blank lines of code may follow
	case sure == len(src):
		next = ending(src, leaf)
	default:
		if next = between(behind); next == 0 {
			next = addressStart(src[sure:])
		}
	}
	if heading && next != '\n' {
		return 0 // a heading can't be cut before its end is known
	}
	return next
}

// addressStart returns the first character of a bare URL at the start of src, or 0. Among the constructs that later text may
// change, only URLs begin with a letter or digit. The first character of a possible URL can be shown early, because it stays
// the same even if the text turns out to be no URL.
func addressStart(src []byte) rune {
	if r, _ := utf8.DecodeRune(src); unicode.IsLetter(r) || unicode.IsDigit(r) {
		return r
	}
	return 0
}

// between returns the white space between two pieces of visible text: a line break, a space, or 0 for none. The parameter src
// is the source between the two pieces. In src, closing delimiters may precede the white space, and <br> tags may follow it.
func between(src []byte) rune {
	rest := bytes.TrimLeft(src, " \t\r")
	mark := bytes.IndexByte(src, '<')
	switch {
	case mark >= 0 && brTag(src[mark:]) > 0 && !bytes.ContainsAny(src[:mark], " \t"):
		return '\n' // a line break that follows closing delimiters
	case bytes.HasPrefix(rest, []byte("\n")), bytes.HasSuffix(bytes.TrimRight(src, " \t>"), []byte("\n")):
		return '\n'
	case len(rest) < len(src) && (len(rest) == 0 || brTag(rest) > 0), bytes.HasSuffix(src, []byte(" ")):
		return ' '
	}
	return 0
}

// ending returns the white space between the content of the block leaf and the end of src: a space, a line break, or 0 for
// none.
func ending(src []byte, leaf ast.Node) rune {
	_, end := contentOfBlock(leaf)
	if end < 0 {
		// The next line of src may already have begun with block quote markers (>).
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

// contentOfBlock returns the range of a block's content in the source, or -1 and -1 if the block has no content.
func contentOfBlock(leaf ast.Node) (start, end int) {
	lines := leaf.Lines()
	if lines == nil || lines.Len() == 0 {
		return -1, -1
	}
	first, last := lines.At(0), lines.At(lines.Len()-1)
	return first.Start, last.Stop
}

// holdLast returns where the source must be cut, so that no later text can turn its last line into another kind of
// block.
func holdLast(src []byte, leaf ast.Node) int {
	start := lineStart(src, len(src))
	last := string(src[start:])
	switch leaf := leaf.(type) {
	case *ast.FencedCodeBlock:
		if leaf.Lines().Len() > 0 {
			if strings.Trim(last, " \t>`~") == "" { // the line may become a code fence, or a block quote marker followed by a code fence
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
		return holdHead(src) // the code above has handled code lines, so here only a table's head can be held back
	case onlyMarks.MatchString(content), partialBox.MatchString(content),
		strings.HasPrefix(content, "|"), strings.HasPrefix(content, "```"), strings.HasPrefix(content, "~~~"),
		strings.HasPrefix(content, "<") && !angleAddress.MatchString(content):
		return start
	}
	return len(src)
}

// unsettled returns the offset in src from which later text may change the layout. If the last paragraph contains an
// inline construct that is open or may get longer, unsettled returns the start of this construct.
func unsettled(src []byte, leaf ast.Node) int {
	if !inlineGrows(src, leaf) {
		return len(src)
	}
	s := seeker{src: src, leaf: leaf, at: -1}
	return s.seek()
}
