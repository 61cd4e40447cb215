package slack

import (
	"bytes"
	"html"
	"regexp"
	"slices"
	"strconv"
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

// reader parses a text as CommonMark, with the tables, task lists and strikethrough of GitHub Flavored Markdown. If a
// text contains Markdown that Dialect never writes, the test fails.
type reader struct {
	markuptest.TB
	wire   string
	src    []byte
	glyphs []markuptest.Glyph
	indent int // the indentation of lines in lists
	depth  int // how many lists contain the current position
}

func read(t markuptest.TB, wire string) []markuptest.Glyph {
	t.Helper()
	r := reader{TB: t, wire: wire, src: []byte(wire)}
	parser := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()
	r.node(parser.Parse(text.NewReader(r.src)), markuptest.Glyph{})
	return markuptest.Tidy(r.glyphs)
}

// The method write adds the characters of s to the characters that people see.
func (r *reader) write(s string, as markuptest.Glyph) {
	for _, c := range s {
		as.Char = c
		r.glyphs = append(r.glyphs, as)
		if c == '\n' && !strings.Contains(as.Styles, "p") {
			r.write(strings.Repeat(" ", r.indent), markuptest.Glyph{})
		}
	}
}

// The method list writes the items of a list, each after its bullet or number.
func (r *reader) list(n *ast.List, as markuptest.Glyph) {
	r.Helper()
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		mark := []string{"•", "◦", "▪"}[min(r.depth, 2)]
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + string(n.Marker)
			number++
		}
		item := c.(*ast.ListItem)
		r.write(strings.Repeat(" ", item.Offset-len([]rune(mark))-1)+mark+" ", as)
		r.indent += item.Offset
		r.depth++
		r.children(c, as)
		r.indent -= item.Offset
		r.depth--
		r.write("\n", markuptest.Glyph{})
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
	case *ast.List:
		r.list(n, as)
	case *ast.Paragraph, *ast.TextBlock:
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
	case *extast.Table:
		r.table(n, with(markup.Pre))
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

// The method table writes those cells of a table that are not empty. Spaces separate the cells of a row, and each row
// is a line.
func (r *reader) table(n *extast.Table, as markuptest.Glyph) {
	var rows []string
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			in := reader{TB: r.TB, wire: r.wire, src: r.src}
			in.children(cell, markuptest.Glyph{})
			var text strings.Builder
			for _, g := range in.glyphs {
				text.WriteRune(g.Char)
			}
			if text.Len() > 0 {
				cells = append(cells, text.String())
			}
		}
		if len(cells) > 0 {
			rows = append(rows, strings.Join(cells, " "))
		}
	}
	r.write(strings.Join(rows, "\n"), as)
}

// cellsOnly returns a copy of p that contains only the cells of each table, in the form in which the method table
// writes the cells.
func cellsOnly(p markup.Piece) markup.Piece {
	var text []byte
	at := make([]int, len(p.Text)+1) // maps each offset in p.Text to the offset in text
	copied := 0
	take := func(end int) {
		for ; copied < end; copied++ {
			at[copied] = len(text)
			text = append(text, p.Text[copied])
		}
	}
	skip := func(end int) {
		for ; copied < end; copied++ {
			at[copied] = len(text)
		}
	}
	var out markup.Piece
	table, begun, gap := 0, false, ""
	for _, f := range p.Formats {
		switch f.Style {
		case markup.Row:
			if begun = f.End <= table; begun && gap == " " {
				gap = "\n"
			}
		case markup.Cell:
			if !begun || f.Start >= f.End {
				continue
			}
			skip(f.Start)
			text = append(text, gap...)
			take(f.End)
			gap = " "
		case markup.Task:
		default:
			skip(table)
			take(f.Start)
			if f.Style == markup.Pre && slices.ContainsFunc(p.Formats, func(r markup.Format) bool {
				return r.Style == markup.Row && r.Start >= f.Start && r.End <= f.End && r.Start < r.End
			}) {
				table, gap = f.End, ""
			}
			out.Formats = append(out.Formats, f)
		}
	}
	skip(table)
	take(len(p.Text))
	at[len(p.Text)] = len(text)
	for i, f := range out.Formats {
		out.Formats[i].Start, out.Formats[i].End = at[f.Start], at[f.End]
	}
	out.Text = string(text)
	return out
}

// unescape replaces each backslash escape and each entity with the character that it represents.
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

// controls matches the control sequences that Slack interprets anywhere in a text.
var controls = regexp.MustCompile(`<(!(channel|here|everyone|group)|@[UWB][A-Z0-9]*|#[CG][A-Z0-9]*|(https?:|mailto:|tel:|slack:)[^<>\n]*)(\|[^<>\n]*)?>|<!(subteam|date)\^`)
