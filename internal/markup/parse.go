package markup

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// document is a parsed source and where its top-level blocks begin.
type document struct {
	src    []byte
	blocks []block
}

// block is a top-level block; start is where its first line begins in the source.
type block struct {
	node  ast.Node
	start int
}

// newParser returns a parser of GitHub flavoured Markdown.
func newParser() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
}

// parse parses src with p and finds its top-level blocks.
func parse(p parser.Parser, src []byte) document {
	root := p.Parse(text.NewReader(src))
	d := document{src: src}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if pos := position(n); pos >= 0 {
			d.blocks = append(d.blocks, block{node: n, start: lineStart(src, pos)})
		}
	}
	return d
}

// position returns an offset on the first line of a block, or -1.
func position(n ast.Node) int {
	if t, ok := n.(*extast.Table); ok && t.FirstChild() != nil {
		// The table's own position is that of the paragraph that it was made of, which may
		// have begun with lines of text.
		return t.FirstChild().Pos()
	}
	return n.Pos()
}

// lineStart returns where the line that holds pos begins.
func lineStart(src []byte, pos int) int {
	pos = min(pos, len(src))
	for pos > 0 && src[pos-1] != '\n' {
		pos--
	}
	return pos
}

// blankBefore reports whether the line before the one that holds pos is blank, not counting
// the marks of quotes.
func blankBefore(src []byte, pos int) bool {
	start := lineStart(src, pos)
	if start == 0 {
		return false
	}
	prev := src[lineStart(src, start-1) : start-1]
	return strings.Trim(string(prev), " \t\r>") == ""
}
