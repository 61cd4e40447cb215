package markup

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// inlines lays out the inline children of the node n.
func (b *builder) inlines(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.inline(c)
	}
}

// styled lays out the inline children of the node n with the format f.
func (b *builder) styled(n ast.Node, f Format) {
	i := b.open(f)
	b.inlines(n)
	b.close(i)
}

func (b *builder) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		b.textNode(n)
	case *ast.String:
		b.write(n.Value, -1)
	case *ast.CodeSpan:
		b.codeSpan(n)
	case *ast.Emphasis:
		style := Italic
		if n.Level == 2 {
			style = Bold
		}
		b.styled(n, Format{Style: style})
	case *extast.Strikethrough:
		b.styled(n, Format{Style: Strike})
	case *ast.Link:
		b.styled(n, Format{Style: Link, URL: destination(n.Destination)})
	case *ast.Image:
		b.image(n)
	case *ast.AutoLink:
		i := b.open(Format{Style: Link, URL: autoURL(n, b.src)})
		b.write(n.Label(b.src), labelStart(n, b.src))
		b.close(i)
	case *ast.RawHTML:
		b.rawHTML(n)
	case *inlineNode:
		i := b.open(Format{Style: Formula})
		b.write(n.segment.Value(b.src), n.segment.Start)
		b.close(i)
	case *extast.TaskCheckBox:
		// A task's box is not shown here, because the list item has already shown the box in place of its bullet.
	default:
		b.inlines(n)
	}
}

func (b *builder) textNode(n *ast.Text) {
	value := n.Segment.Value(b.src)
	if n.IsRaw() {
		b.write(value, n.Segment.Start)
	} else {
		b.unescaped(value, n.Segment.Start)
	}
	if n.HardLineBreak() || n.SoftLineBreak() {
		b.newline++
	}
}

// unescaped writes text. unescaped replaces backslash escapes and HTML entities by the characters that they stand for.
func (b *builder) unescaped(s []byte, pos int) {
	from := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			b.write(s[from:i], pos+from)
			from = i + 1
			i++
		case s[i] == '&':
			if value, n := entity(s[i:]); n > 0 {
				b.write(s[from:i], pos+from)
				b.write(value, pos+i)
				from = i + n
				i = from - 1
			}
		}
	}
	b.write(s[from:], pos+from)
}

// entity returns the characters of the HTML entity at the start of s, and the entity's length. If s does not begin with
// an HTML entity, the returned length is 0.
func entity(s []byte) ([]byte, int) {
	end := bytes.IndexByte(s[:min(len(s), maxEntity)], ';')
	if end < 2 {
		return nil, 0
	}
	name := s[1:end]
	if name[0] != '#' {
		e, ok := util.LookUpHTML5EntityByName(string(name))
		if !ok {
			return nil, 0
		}
		return e.Characters, end + 1
	}
	if resolved := util.ResolveNumericReferences(s[:end+1]); !bytes.Equal(resolved, s[:end+1]) {
		return resolved, end + 1
	}
	return nil, 0
}

// maxEntity is the length in bytes of the longest HTML entity, &CounterClockwiseContourIntegral;.
const maxEntity = 33

func (b *builder) codeSpan(n *ast.CodeSpan) {
	i := b.open(Format{Style: Code})
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		t, ok := c.(*ast.Text)
		if !ok {
			continue
		}
		value := t.Segment.Value(b.src)
		if line, found := bytes.CutSuffix(value, []byte{'\n'}); found {
			value = append(slices.Clip(line), ' ')
		}
		b.write(value, t.Segment.Start)
	}
	b.close(i)
}

// image shows an image as a link with its alternative text.
func (b *builder) image(n *ast.Image) {
	url := destination(n.Destination)
	before := len(b.text)
	i := b.open(Format{Style: Link, URL: url})
	b.inlines(n)
	if len(b.text) == before {
		b.write([]byte(url), -1)
	}
	b.close(i)
}

// rawHTML shows a tag as the source has it, except for <br> tags.
func (b *builder) rawHTML(n *ast.RawHTML) {
	for i := range n.Segments.Len() {
		s := n.Segments.At(i)
		b.literalHTML(s.Value(b.src), s.Start)
	}
}

// literalHTML writes HTML as text, with <br> as a line break.
func (b *builder) literalHTML(s []byte, pos int) {
	from := 0
	for i := 0; i < len(s); i++ {
		switch n := brTag(s[i:]); {
		case n > 0:
			b.write(s[from:i], pos+from)
			b.newline++
			from = i + n
			i = from - 1
		case s[i] == '\n':
			b.write(s[from:i], pos+from)
			b.newline++
			from = i + 1
		}
	}
	b.write(s[from:], pos+from)
}

// brTag returns the length of the <br> tag at the start of s, or 0.
func brTag(s []byte) int {
	if len(s) < 4 || s[0] != '<' || !strings.EqualFold(string(s[1:3]), "br") {
		return 0
	}
	i := 3
	for i < len(s) && (s[i] == ' ' || s[i] == '/') {
		i++
	}
	if i < len(s) && s[i] == '>' {
		return i + 1
	}
	return 0
}

// destination returns a link's URL. destination replaces escapes and HTML entities by the characters that they stand
// for.
func destination(raw []byte) string {
	d := util.UnescapePunctuations(raw)
	d = util.ResolveNumericReferences(d)
	d = util.ResolveEntityNames(d)
	if !utf8.Valid(d) {
		return ""
	}
	return string(d)
}

// labelStart returns the source offset of an autolink's label. The position that the node itself reports may be one
// character earlier: at an angle bracket, or at the character at which the parser found the link.
func labelStart(n *ast.AutoLink, src []byte) int {
	pos := n.Pos()
	if !bytes.HasPrefix(src[pos:], n.Label(src)) {
		pos++
	}
	return pos
}

// autoURL returns the URL of an autolink. autoURL adds the scheme if the source omits it.
func autoURL(n *ast.AutoLink, src []byte) string {
	url := string(n.URL(src))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(url), "mailto:") {
		url = "mailto:" + url
	}
	return url
}
