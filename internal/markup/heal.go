package markup

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
)

// The following expressions match text at the end of an unfinished source. Text that arrives later may change the
// meaning of the text that these expressions match.
var (
	partialEntity = regexp.MustCompile(`&(#?[0-9A-Za-z]{0,31})$`)
	containerMark = regexp.MustCompile(`^(?:[-+*]|\d{1,9}[.)])(?:[ \t]+|$)`)
	onlyMarks     = regexp.MustCompile("^(?:[-=*_+#~`|: \t\r]*|\\d{1,9}[.)]?)$")
	partialBox    = regexp.MustCompile(`^\[(?:[ xX]?\]?[ \t]*|\d{1,3}\]?)$`)
	definition    = regexp.MustCompile(`^\[[^\]^][^\]]*\]:`)
	delimiterRow  = regexp.MustCompile(`^[|: \t\r-]+$`)
)

// settled returns the length of an unfinished source, not counting an incomplete character, backslash escape or HTML
// entity at its end.
func settled(src string) int {
	n := finished(src)
	n = len(strings.TrimRight(src[:n], "\r"))
	if slashes := n - len(strings.TrimRight(src[:n], `\`)); slashes%2 == 1 {
		n--
	}
	from := max(0, n-maxEntity)
	if loc := partialEntity.FindStringIndex(src[from:n]); loc != nil {
		n = from + loc[0]
	}
	return n
}

// heal splits an unfinished document into its finished blocks (head) and its last block (tail), and closes the open
// constructs of the last block. To close these constructs, heal parses only the last block again. The result shown is
// the number of source bytes that head and tail show.
func heal(p parser.Parser, doc document, extras Extras) (head document, tail based, shown int) {
	if len(doc.blocks) == 0 {
		return doc, based{base: len(doc.src)}, len(doc.src)
	}
	last := len(doc.blocks) - 1
	cut := holdLine(doc.src, openLeaf(doc.blocks[last].node))
	if extras.Has(Formulas) {
		cut = min(cut, holdFormula(doc))
	}
	for last > 0 && cut <= doc.blocks[last].start {
		// The whole last block must not be shown yet. Text that arrives later may still continue the block above the last
		// one, so that block is now the unfinished one.
		last--
	}
	base := doc.blocks[last].start
	head = document{src: doc.src, blocks: doc.blocks[:last]}
	tail = based{document: document{src: doc.src[base:]}, base: base}
	if cut < len(doc.src) {
		tail.document = parse(p, doc.src[base:max(cut, base)], doc.refs)
	} else {
		tail.document = document{src: doc.src, blocks: doc.blocks[last:]}
		tail.base = 0
	}
	if len(tail.blocks) == 0 {
		return head, tail, max(cut, base)
	}
	leaf := openLeaf(tail.blocks[len(tail.blocks)-1].node)
	keep, closers := holdInline(tail.src, leaf, extras)
	if keep == len(tail.src) && closers == "" {
		return head, tail, tail.base + keep
	}
	from := base - tail.base
	src := append(bytes.Clone(tail.src[from:keep]), closers...)
	shown = tail.base + keep
	return head, based{document: parse(p, src, doc.refs), base: base}, shown
}

// openLeaf returns the innermost last block of the node n. Text that arrives later would continue this block.
func openLeaf(n ast.Node) ast.Node {
	for {
		if _, ok := n.(*extast.Table); ok {
			return n
		}
		c := n.LastChild()
		if c == nil || c.Type() != ast.TypeBlock {
			return n
		}
		n = c
	}
}

// holdLine returns where the source must be cut, so that no line is shown that further text could turn into something
// else: the underline of a heading, a rule, a table, a fence, a list item or a link definition.
func holdLine(src []byte, leaf ast.Node) int {
	start := lineStart(src, len(src))
	last := string(src[start:])
	switch leaf := leaf.(type) {
	case *ast.FencedCodeBlock:
		if leaf.Lines().Len() > 0 {
			if s := strings.Trim(last, " \t>"); s != "" && (strings.Trim(s, "`") == "" || strings.Trim(s, "~") == "") {
				return start
			}
			return len(src)
		}
	case *ast.CodeBlock, *ast.HTMLBlock:
		return len(src)
	case *extast.Table:
		if last == "" || leaf.ChildCount() > 1 {
			return start // don't show an incomplete row of a table yet
		}
	}
	return holdMarks(src, start, last)
}

// holdMarks does the work of holdLine if the last line is not code.
func holdMarks(src []byte, start int, last string) int {
	content := contentOf(last)
	if last == "" {
		return holdHead(src)
	}
	switch {
	case delimiterRow.MatchString(content) && start > 0:
		above := lineStart(src, start-1)
		if bytes.IndexByte(src[above:start], '|') >= 0 {
			return above
		}
		return start
	case onlyMarks.MatchString(content), partialBox.MatchString(content), definition.MatchString(content),
		strings.HasPrefix(content, "|"), strings.HasPrefix(content, "```"), strings.HasPrefix(content, "~~~"):
		return start
	}
	return len(src)
}

// holdHead does the work of holdLine if the source ends with a complete line, which may be the head of a table.
func holdHead(src []byte) int {
	if n := len(src); n > 0 {
		if above := lineStart(src, n-1); strings.HasPrefix(contentOf(string(src[above:])), "|") {
			return above
		}
	}
	return len(src)
}

// blankEnd reports whether the source src ends in a blank line, which ends a paragraph.
func blankEnd(src []byte) bool {
	return bytes.Count(src[len(bytes.TrimRight(src, " \t\r\n")):], []byte{'\n'}) > 1
}

// contentOf returns a line without the block quote markers and list markers at its start.
func contentOf(line string) string {
	for {
		line = strings.Trim(line, " \t\r\n>")
		mark := containerMark.FindString(line)
		if mark == "" || len(mark) == len(line) {
			return line
		}
		line = line[len(mark):]
	}
}

// inlineGrows reports whether further text continues the inline content of leaf, the last block of src.
func inlineGrows(src []byte, leaf ast.Node) bool {
	switch leaf.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		return !blankEnd(src)
	case *ast.Heading:
		return !bytes.HasSuffix(src, []byte{'\n'})
	}
	return false
}

// holdInline returns where the source must be cut, so that the open inline constructs of the block leaf can be closed
// at the cut. holdInline also returns the closing delimiters.
func holdInline(src []byte, leaf ast.Node, extras Extras) (keep int, closers string) {
	keep = len(src)
	if !inlineGrows(src, leaf) {
		return keep, ""
	}
	lines := leaf.Lines()
	if lines == nil || lines.Len() == 0 {
		return keep, ""
	}
	var content []byte
	for i := range lines.Len() {
		s := lines.At(i)
		content = append(content, src[s.Start:s.Stop]...)
	}
	n, closers := scanInline(string(content), extras)
	if n == len(content) && closers == "" {
		return keep, ""
	}
	for i := range lines.Len() {
		s := lines.At(i)
		if n <= s.Len() {
			return s.Start + n, closers
		}
		n -= s.Len()
	}
	return keep, ""
}
