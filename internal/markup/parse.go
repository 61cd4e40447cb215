package markup

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// document is a parsed source with its top-level blocks.
type document struct {
	src    []byte
	blocks []block
	refs   []parser.Reference
}

// block is a top-level block. The field start is the source offset of the block's first line.
type block struct {
	node  ast.Node
	start int
}

// newParser returns a parser for GitHub Flavored Markdown: goldmark's defaults and extension.GFM, with limits. If grows
// is true, the parser does not recognize constructs that change earlier text; see Options.Append. Only one goroutine at
// a time may use the parser.
func newParser(extras Extras, grows bool) parser.Parser {
	count := &tally{}
	few := func(p parser.InlineParser) sparing { return sparing{p, count} }
	strike := extension.NewStrikethroughParser()
	table := extension.NewTableParagraphTransformer()
	blocks, paragraphs := blockParsers(), []util.PrioritizedValue{definitionParser()}
	if grows {
		blocks, paragraphs = blocks[1:], nil
		strike, table = doubled{strike}, barred{table}
	}
	inlines := []util.PrioritizedValue{
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(few(parser.NewLinkParser()), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(parser.NewRawHTMLParser(), 400),
		util.Prioritized(few(parser.NewEmphasisParser()), 500),
		util.Prioritized(few(strike), 500),
		util.Prioritized(unmarked{extension.NewLinkifyParser()}, 999),
	}
	if extras.Has(Formulas) && !grows {
		blocks = append(blocks, util.Prioritized(displayParser{}, 150))
		inlines = append(inlines, util.Prioritized(inlineParser{}, 50))
	}
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithInlineParsers(inlines...),
		parser.WithParagraphTransformers(append(paragraphs, util.Prioritized(table, 200))...),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)))
}

// blockParsers returns the block parsers; the one for underlined headings comes first.
func blockParsers() []util.PrioritizedValue {
	return []util.PrioritizedValue{
		util.Prioritized(headings{parser.NewSetextHeadingParser()}, 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(shallow{parser.NewListParser()}, 300),
		util.Prioritized(shallow{parser.NewListItemParser()}, 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewHTMLBlockParser(), 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	}
}

// definitionParser returns the parser of link definitions.
func definitionParser() util.PrioritizedValue {
	return util.Prioritized(definitions{parser.LinkReferenceParagraphTransformer}, 100)
}

// newOutliner returns a parser that finds the same blocks and link definitions as newParser, but does not parse
// inline content.
func newOutliner() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(blockParsers()...),
		parser.WithParagraphTransformers(definitionParser(), util.Prioritized(extension.NewTableParagraphTransformer(), 200)))
}

// parse parses src with the parser p and finds the top-level blocks of src. The parameter refs contains the link
// definitions in the text before src.
func parse(p parser.Parser, src []byte, refs []parser.Reference) document {
	pc := parser.NewContext()
	for _, r := range refs {
		pc.AddReference(r)
	}
	root := p.Parse(text.NewReader(src), parser.WithContext(pc))
	d := document{src: src, refs: pc.References()}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if pos := position(n); pos >= 0 {
			d.blocks = append(d.blocks, block{node: n, start: lineStart(src, pos)})
		}
	}
	return d
}

// references returns the link definitions in a text. To save time, references parses a text only if it contains "]:".
func references(src string) []parser.Reference {
	for rest := src; ; {
		i := strings.Index(rest, "]:")
		if i < 0 {
			return nil
		}
		line := rest[strings.LastIndexByte(rest[:i], '\n')+1 : i]
		if strings.HasPrefix(strings.TrimLeft(line, " \t>-+*.)0123456789"), "[") {
			return parse(newOutliner(), []byte(src), nil).refs
		}
		rest = rest[i+2:]
	}
}

// position returns an offset on the first line of a block, or -1.
func position(n ast.Node) int {
	if t, ok := n.(*extast.Table); ok && t.FirstChild() != nil {
		// The position of the table node itself is the start of the whole paragraph, in which lines of text may precede the
		// table.
		return t.FirstChild().Pos()
	}
	return n.Pos()
}

// lineStart returns the start of the line that contains pos.
func lineStart(src []byte, pos int) int {
	pos = min(pos, len(src))
	for pos > 0 && src[pos-1] != '\n' {
		pos--
	}
	return pos
}

// blankBefore reports whether the line above the one that contains pos is blank. blankBefore ignores block quote
// markers.
func blankBefore(src []byte, pos int) bool {
	start := lineStart(src, pos)
	if start == 0 {
		return false
	}
	prev := src[lineStart(src, start-1) : start-1]
	return len(bytes.Trim(prev, " \t\r>")) == 0
}
