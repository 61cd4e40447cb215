package markup

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// The following limits of formulas are in bytes, except maxLines. A formula that exceeds its limit is shown as text. As
// long as the end of a formula has not arrived, previews don't show the formula, unless it exceeds the limit for
// unfinished formulas.
const (
	maxInline      = 512
	maxHeldInline  = 160 // maximum length of an unfinished formula within a line
	maxDisplay     = 4096
	maxHeldDisplay = 1024 // maximum length of an unfinished formula with lines of its own
	maxLines       = 64   // maximum number of lines of a formula with lines of its own
)

// Formulas are written in LaTeX between delimiters, in one of these forms: $x$, \(x\), $$x$$ and \[x\]. A formula in
// the form $$x$$ or \[x\] may have lines of its own. However, prices also begin with a dollar sign, and \( and \[ may
// also be escaped brackets. Therefore looksLikeFormula examines the text between the delimiters.

// closerOf returns the delimiter that would close a formula at the start of s, and the length of this delimiter. If no
// formula can begin at the start of s, closer is empty.
func closerOf(s string) (closer string, n int) {
	switch {
	case strings.HasPrefix(s, "$$$"):
		return "", 0
	case strings.HasPrefix(s, "$$"):
		return "$$", 2
	case strings.HasPrefix(s, "$"):
		return "$", 1
	case strings.HasPrefix(s, `\(`):
		return `\)`, 2
	case strings.HasPrefix(s, `\[`):
		return `\]`, 2
	}
	return "", 0
}

// inlineFormula returns the length of the formula at the start of s, or 0 if s does not begin with a formula. The
// parameter prev is the character before s. If the length is 0, the result open says whether s may become a formula
// when further text arrives.
func inlineFormula(prev rune, s string) (n int, open bool) {
	closer, mark := closerOf(s)
	if closer == "" || closer[0] == '$' && (prev == '$' || unicode.IsLetter(prev) || unicode.IsDigit(prev)) {
		return 0, false
	}
	line, _, cut := strings.Cut(s[mark:], "\n")
	if len(line) > maxInline {
		line, cut = line[:maxInline], true
	}
	end := endsAt(line, closer)
	if end < 0 {
		return 0, !cut && len(line) < maxHeldInline && mayBecomeFormula(closer, line)
	}
	next, _ := utf8.DecodeRuneInString(line[end+len(closer):])
	if !looksLikeFormula(closer, line[:end]) || closer[0] == '$' && (next == '$' || unicode.IsLetter(next) || unicode.IsDigit(next)) {
		return 0, false
	}
	return mark + end + len(closer), false
}

// endsAt returns the offset of a formula's closing delimiter in the line, or -1. endsAt skips escaped dollar signs.
func endsAt(line, closer string) int {
	for i := 0; i < len(line); i++ {
		switch {
		case strings.HasPrefix(line[i:], closer):
			return i
		case line[i] == '\\':
			i++
		}
	}
	return -1
}

var (
	texCommand = regexp.MustCompile(`\\[A-Za-z]+(?:\{[^{}]*\})?`)
	texSign    = regexp.MustCompile(`[\\^_=+<>{}]`)
)

// looksLikeFormula reports whether the text between two delimiters is a formula, rather than text between two prices or
// between escaped brackets. looksLikeFormula returns true only if the text contains a mathematical sign, or no words.
func looksLikeFormula(closer, inner string) bool {
	first, _ := utf8.DecodeRuneInString(inner)
	last, _ := utf8.DecodeLastRuneInString(inner)
	spaced := unicode.IsSpace(first) || unicode.IsSpace(last)
	if strings.TrimSpace(inner) == "" || strings.Contains(inner, "`") || closer == "$" && spaced {
		return false
	}
	signed := texSign.MatchString(inner)
	switch {
	case closer == "$" && unicode.IsDigit(first):
		return !hasWords(texCommand.ReplaceAllString(inner, " "))
	case closer == `\]` && !signed: // \[1\] is a reference to a source, not a formula
		return spaced && !hasWords(inner)
	}
	return signed || !hasWords(inner)
}

// mayBecomeFormula is like looksLikeFormula, for a formula whose end is still missing.
func mayBecomeFormula(closer, inner string) bool {
	first, _ := utf8.DecodeRuneInString(inner)
	switch {
	case inner == "" || inner == "$":
		return true
	case closer == "$" && (unicode.IsSpace(first) || unicode.IsDigit(first)), strings.Contains(inner, "`"):
		return false
	}
	return texSign.MatchString(inner) || !hasWords(inner)
}

// hasWords reports whether a text has several words, of which at least one is not the name of a variable.
func hasWords(s string) bool {
	words := strings.Fields(s)
	for _, w := range words {
		w = strings.TrimFunc(w, unicode.IsPunct)
		if len(words) > 1 && utf8.RuneCountInString(w) > 1 && !strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) }) {
			return true
		}
	}
	return false
}

// displayFormula returns the end of the formula with lines of its own that begins at the start of s. The formula ends
// with the closing delimiter at the end of a line, before any blank line. If the returned end is 0, the result open
// says whether s may become a complete formula when further text arrives.
func displayFormula(s string) (end int, open bool) {
	closer, mark := closerOf(s)
	if mark != 2 || closer == `\)` {
		return 0, false
	}
	for at, lines := mark, 0; at <= len(s) && lines < maxLines; lines++ {
		line, _, more := strings.Cut(s[at:], "\n")
		content := strings.Trim(line, " \t\r>")
		switch i := endsAt(line, closer); {
		case at+len(line) > maxDisplay, strings.HasPrefix(content, "```"), strings.HasPrefix(content, "~~~"):
			return 0, false
		case i >= 0 && strings.TrimSpace(line[i+len(closer):]) == "" && looksLikeFormula(closer, s[mark:at+i]):
			return at + i + len(closer), false
		case i >= 0, more && content == "" && at > mark:
			return 0, false
		case !more:
			return 0, len(s) < maxHeldDisplay && mayBecomeFormula(closer, s[mark:])
		}
		at += len(line) + 1
	}
	return 0, false
}

// inlineNode is a formula within a line of text. The field segment contains the formula with its delimiters.
type inlineNode struct {
	ast.BaseInline
	segment text.Segment
}

// Kind returns ast.KindRawHTML, because the parser does not parse the content of such nodes.
func (n *inlineNode) Kind() ast.NodeKind { return ast.KindRawHTML }

func (n *inlineNode) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// inlineParser parses formulas within lines.
type inlineParser struct{}

func (inlineParser) Trigger() []byte { return []byte{'$', '\\'} }

func (inlineParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	prev := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	n, _ := inlineFormula(prev, string(line))
	if n == 0 {
		return nil
	}
	block.Advance(n)
	return &inlineNode{segment: segment.WithStop(segment.Start + n)}
}

// displayNode is a formula with lines of its own. The node's lines include the delimiters of the formula.
type displayNode struct {
	ast.BaseBlock
	whole bool
}

// Kind returns ast.KindCodeBlock, because the parser does not parse the content of such nodes.
func (n *displayNode) Kind() ast.NodeKind { return ast.KindCodeBlock }

func (n *displayNode) IsRaw() bool                   { return true }
func (n *displayNode) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// displayParser parses formulas with lines of their own.
type displayParser struct{}

func (displayParser) Trigger() []byte { return []byte{'$', '\\'} }

func (displayParser) Open(_ ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := r.PeekLine()
	pos := pc.BlockOffset()
	if pos < 0 || pos >= len(line) {
		return nil, parser.NoChildren
	}
	start := segment.Start + pos - segment.Padding
	src := r.Source()
	if start < segment.Start || start >= len(src) {
		return nil, parser.NoChildren
	}
	end, _ := displayFormula(string(src[start:min(len(src), start+2*maxDisplay)]))
	if end == 0 {
		return nil, parser.NoChildren
	}
	n := &displayNode{}
	n.add(text.NewSegment(start, segment.Stop), src)
	return n, parser.NoChildren
}

func (displayParser) Continue(node ast.Node, r text.Reader, _ parser.Context) parser.State {
	n, ok := node.(*displayNode)
	line, segment := r.PeekLine()
	if !ok || n.whole || len(bytes.TrimSpace(line)) == 0 {
		return parser.Close
	}
	n.add(segment, r.Source())
	r.AdvanceToEOL()
	if n.whole {
		return parser.Close
	}
	return parser.Continue | parser.NoChildren
}

// add adds a line of the source to the formula. If the line ends with the closing delimiter, add marks the formula as
// complete.
func (n *displayNode) add(line text.Segment, src []byte) {
	n.Lines().Append(line)
	first := n.Lines().At(0)
	closer, mark := closerOf(string(first.Value(src)))
	value := string(line.Value(src))
	if n.Lines().Len() == 1 {
		value = value[min(mark, len(value)):]
	}
	n.whole = endsAt(value, closer) >= 0
}

func (displayParser) Close(ast.Node, text.Reader, parser.Context) {}
func (displayParser) CanInterruptParagraph() bool                 { return true }
func (displayParser) CanAcceptIndentedLine() bool                 { return false }

// display lays out a formula with lines of its own. display leaves the formula's text unchanged.
func (f *flattener) display(n *displayNode) {
	i := f.builder.open(Format{Style: Formula, Level: 1})
	for k := range n.Lines().Len() {
		s := n.Lines().At(k)
		value := s.Value(f.src)
		lead := len(value) - len(bytes.TrimLeft(value, " \t"))
		f.write(bytes.TrimSpace(value), s.Start-s.Padding+lead)
		f.newline++
	}
	f.newline = 0
	f.close(i)
}

// holdFormula returns where an unfinished source must be cut, so that a preview does not show an unfinished formula
// with lines of its own.
func holdFormula(doc document) int {
	src := string(doc.src)
	for at := max(0, len(src)-maxHeldDisplay); at < len(src); {
		line, _, _ := strings.Cut(src[at:], "\n")
		content := contentOf(line)
		if start := at + strings.LastIndex(line, content); at == lineStart(doc.src, at) && content != "" {
			if _, open := displayFormula(src[start:]); open && !doc.verbatim(start) {
				return at
			}
		}
		at += len(line) + 1
	}
	return len(src)
}

// verbatim reports whether an offset of the source is in a code block or in a complete formula.
func (d document) verbatim(at int) bool {
	for i, b := range d.blocks {
		if b.start > at || i+1 < len(d.blocks) && d.blocks[i+1].start <= at {
			continue
		}
		found := false
		_ = ast.Walk(b.node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // ignore the error: Walk can't fail here
			switch n.(type) {
			case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock, *displayNode:
				start, end := contentOfBlock(n)
				found = found || start >= 0 && start <= at && at < end
			}
			if n.Type() == ast.TypeInline {
				return ast.WalkSkipChildren, nil
			}
			return ast.WalkContinue, nil
		})
		return found
	}
	return false
}
