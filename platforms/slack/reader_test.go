package slack

import (
	"bytes"
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"telex/internal/markup"
	"telex/internal/markup/markuptest"
)

// reader reads Markdown as CommonMark with GFM's tables, lists of tasks and strikethrough
// does. Whatever Dialect never writes fails the test.
type reader struct {
	markuptest.TB
	wire   string
	src    []byte
	glyphs []markuptest.Glyph
}

func read(t markuptest.TB, wire string) []markuptest.Glyph {
	t.Helper()
	r := reader{TB: t, wire: wire, src: []byte(wire)}
	parser := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()
	r.node(parser.Parse(text.NewReader(r.src)), markuptest.Glyph{})
	return markuptest.Tidy(r.glyphs)
}

// write adds what is seen of s.
func (r *reader) write(s string, as markuptest.Glyph) {
	for _, c := range s {
		as.Char = c
		r.glyphs = append(r.glyphs, as)
	}
}

func (r *reader) children(n ast.Node, as markuptest.Glyph) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.node(c, as)
	}
}

func (r *reader) node(n ast.Node, as markuptest.Glyph) {
	r.Helper()
	plain := as
	with := func(s markup.Style) markuptest.Glyph {
		as.Styles = markuptest.With(as.Styles, s)
		return as
	}
	switch n := n.(type) {
	case *ast.Document:
		r.children(n, as)
	case *ast.Paragraph:
		r.children(n, as)
		r.write("\n", plain)
	case *ast.Heading:
		as.Level = n.Level
		r.children(n, with(markup.Heading))
		r.write("\n", plain)
	case *ast.Blockquote:
		r.children(n, with(markup.Quote))
		r.write("\n", plain)
	case *ast.FencedCodeBlock:
		content := ""
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			content += string(line.Value(r.src))
		}
		r.write(strings.TrimRight(content, "\n"), with(markup.Pre))
		r.write("\n", plain)
	case *ast.Emphasis:
		style := markup.Italic
		if n.Level == 2 {
			style = markup.Bold
		}
		r.children(n, with(style))
	case *extast.Strikethrough:
		r.children(n, with(markup.Strike))
	case *ast.Link:
		as.URL = string(n.Destination)
		r.children(n, with(markup.Link))
	case *ast.CodeSpan:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			value := bytes.ReplaceAll(c.(*ast.Text).Segment.Value(r.src), []byte("\n"), []byte(" "))
			r.write(string(value), with(markup.Code))
		}
	case *ast.Text:
		r.write(unescape(n.Segment.Value(r.src)), as)
		if n.HardLineBreak() {
			r.write("\n", plain)
		} else if n.SoftLineBreak() {
			r.write(" ", plain)
		}
	default:
		r.Fatalf("%q has a %s", r.wire, n.Kind())
	}
}

// unescape resolves backslashes and entities.
func unescape(s []byte) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			i++
			out.WriteByte(s[i])
		case s[i] == '&':
			end := bytes.IndexByte(s[i:], ';') + 1
			out.WriteString(html.UnescapeString(string(s[i : i+max(end, 1)])))
			i += max(end, 1) - 1
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// controls are what Slack acts on wherever it stands.
var controls = regexp.MustCompile(`<(!(channel|here|everyone|group)|@[UWB][A-Z0-9]*|#[CG][A-Z0-9]*|(https?:|mailto:|tel:|slack:)[^<>\n]*)(\|[^<>\n]*)?>|<!(subteam|date)\^`)
