package markup

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// grown is a text that only grows, laid out: text up to sure stays whatever follows.
type grown struct {
	laid
	sure int
	next rune // what follows at the end of the text: a space, a line break, or 0 for nobody knows
	end  int  // how much of the source was looked at
}

// arrangeGrown lays out src from offset from on for a message that can only be added to.
func arrangeGrown(src string, from int, open bool, shape Shape) grown {
	p := newParser(true)
	if !open {
		l := flatten(shape, false, based{document: parse(p, []byte(src[from:]), nil), base: from})
		return grown{laid: l, sure: len(l.text), next: '\n', end: len(src)}
	}
	end := max(from, settled(src))
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
	sure := len(doc.src)
	if n := len(doc.blocks); n > 0 {
		sure = unsettled(doc.src, openLeaf(doc.blocks[n-1].node))
	}
	if n := len(doc.blocks); n > 0 && sure == len(doc.src) {
		leaf := openLeaf(doc.blocks[n-1].node)
		g.next = l.following(doc.src, leaf, from)
	}
	g.sure = l.textAt(from+sure, g.end)
	return g
}

// following returns what stands between the text of src, whose last block is leaf, and what
// follows it.
func following(src []byte, leaf ast.Node) rune {
	end := contentEnd(leaf)
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

// following returns what stands between the text and what follows it. The source from offset
// from on is src, and leaf its last block.
func (l *laid) following(src []byte, leaf ast.Node, from int) rune {
	if n := len(l.anchors); n > 0 {
		a := l.anchors[n-1]
		if a.source-from < contentStart(leaf) {
			return '\n' // the last text is in a block above
		}
		switch leaf.(type) {
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if bytes.IndexByte(src[a.source-from+a.size:], '\n') >= 0 {
				return '\n' // blank lines may follow
			}
		}
	}
	next := following(src, leaf)
	if _, heading := leaf.(*ast.Heading); heading && next != '\n' {
		return 0 // a heading that goes on can't be cut here
	}
	return next
}

// contentStart returns where the content of a block begins in the source, or -1 if it has
// none.
func contentStart(leaf ast.Node) int {
	lines := leaf.Lines()
	if lines == nil || lines.Len() == 0 {
		return -1
	}
	first := lines.At(0)
	return first.Start
}

// contentEnd returns where the content of a block ends in the source, or -1 if it has none.
func contentEnd(leaf ast.Node) int {
	lines := leaf.Lines()
	if lines == nil || lines.Len() == 0 {
		return -1
	}
	last := lines.At(lines.Len() - 1)
	return last.Stop
}

// textAt returns where in the text stands what is in the source from offset source on. The
// source ends at end.
func (l *laid) textAt(source, end int) int {
	if source >= end {
		return len(l.text)
	}
	i := slices.IndexFunc(l.anchors, func(a anchor) bool { return a.source >= source })
	if i < 0 {
		i = len(l.anchors)
	}
	if i > 0 {
		if a := l.anchors[i-1]; source < a.source+a.size {
			return a.text + source - a.source
		}
	}
	if i < len(l.anchors) {
		return l.anchors[i].text
	}
	return len(l.text)
}

// holdLast returns where the source has to end so that no later text makes another block of
// its last line.
func holdLast(src []byte, leaf ast.Node) int {
	start := lineStart(src, len(src))
	last := string(src[start:])
	switch leaf := leaf.(type) {
	case *ast.FencedCodeBlock:
		if leaf.Lines().Len() > 0 {
			return holdLine(src, leaf)
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
	above := start
	if start > 0 {
		above = lineStart(src, start-1)
	}
	barAbove := strings.HasPrefix(contentOf(string(src[above:start])), "|")
	switch {
	case barAbove && (last == "" || delimiterRow.MatchString(content)):
		return above
	case last == "":
		return len(src)
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
	switch leaf.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		if blankEnd(src) {
			return len(src)
		}
	case *ast.Heading:
		if bytes.HasSuffix(src, []byte("\n")) {
			return len(src)
		}
	default:
		return len(src)
	}
	s := seeker{src: src, leaf: leaf, at: -1}
	return s.seek()
}
