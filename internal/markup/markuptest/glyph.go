package markuptest

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"telex/internal/markup"
)

// Glyph is a character as a person sees it. Outside of code blocks, white space has no style, and several line breaks
// count as one Glyph.
type Glyph struct {
	Char   rune
	Styles string // the initials of the character's styles in alphabetical order: b, c, h, i, l, p, q, s
	URL    string // URL, if the character is in a link
	Level  int    // level, if the character is in a heading
}

// initial returns the letter that stands for a style.
func initial(s markup.Style) string {
	return [...]string{"", "b", "i", "s", "c", "p", "l", "q", "h"}[s]
}

// With adds a style to a glyph's styles, and returns the result.
func With(styles string, s markup.Style) string {
	if strings.Contains(styles, initial(s)) {
		return styles
	}
	all := []byte(styles + initial(s))
	slices.Sort(all)
	return string(all)
}

// Glyphs returns the characters of a piece as a person sees them. The parameter headings is the number of heading
// levels that the platform has. Headings of deeper levels, and headings that do not begin at the start of a line, are
// bold. Quotes that do not begin at the start of a line are plain text. The function destination converts the URL of a
// link. If the function destination returns "", the link is plain text.
func Glyphs(p markup.Piece, headings int, destination func(url string) string) []Glyph {
	var out []Glyph
	for i, r := range p.Text {
		g := Glyph{Char: r}
		for _, f := range p.Formats {
			if f.Style == markup.Pre { // blank lines at the end of code are invisible
				f.End = f.Start + len(strings.TrimRight(p.Text[f.Start:f.End], "\n"))
			}
			if i < f.Start || i >= f.End || f.Style > markup.Heading { // a Glyph does not record the styles after Heading
				continue
			}
			line := f.Start == 0 || p.Text[f.Start-1] == '\n'
			blank := strings.TrimSpace(p.Text[f.Start:f.End]) == ""
			switch {
			case f.Style == markup.Heading && (!line || f.Level > headings):
				g.Styles = With(g.Styles, markup.Bold)
			case f.Style == markup.Heading:
				g.Styles, g.Level = With(g.Styles, f.Style), f.Level
			case f.Style == markup.Quote && !line && !strings.Contains(g.Styles, "q"), f.Style == markup.Code && blank:
			case f.Style == markup.Link:
				if to := destination(f.URL); g.URL == "" && to != "" {
					g.Styles, g.URL = With(g.Styles, f.Style), to
				}
			default:
				g.Styles = With(g.Styles, f.Style)
			}
		}
		out = append(out, g)
	}
	return Tidy(out)
}

// Tidy removes invisible glyphs, and removes styles from glyphs on which no style is visible.
func Tidy(glyphs []Glyph) []Glyph {
	var out, wide []Glyph
	for _, g := range glyphs {
		if wide = append(wide, g); g.Char == '\t' { // a tab is as wide as four spaces
			wide = append(wide, g, g, g)
		}
	}
	for _, g := range wide {
		switch {
		case g.Char == '\u2060':
			continue
		case unicode.IsSpace(g.Char):
			if g.Char != '\n' {
				g.Char = ' '
			}
			g.URL, g.Level = "", 0
			if g.Styles = strings.Trim(g.Styles, "bchilqs"); strings.Contains(g.Styles, "p") {
				break
			}
			if n := len(out); g.Char == '\n' && n > 0 {
				for n > 0 && out[n-1].Char == ' ' && out[n-1].Styles == "" {
					n--
				}
				if out = out[:n]; n > 0 && out[n-1].Char == '\n' && out[n-1].Styles == "" {
					continue
				}
			}
			if len(out) == 0 {
				continue
			}
		case unicode.In(g.Char, unicode.Cf, unicode.Mn, unicode.Me):
			g.Styles, g.URL, g.Level = "", "", 0
		}
		if n := len(out); strings.Contains(g.Styles, "p") && n > 0 && out[n-1].Char == ' ' && out[n-1].Styles == "" {
			out[n-1].Char = '\n' // a code block begins on a new line, even after a bullet
		}
		out = append(out, g)
	}
	for n := len(out); n > 0 && unicode.IsSpace(out[n-1].Char); n-- {
		out = out[:n-1]
	}
	return out
}

// Same fails the test if the glyphs got and want differ. The parameter wire is the text that the dialect wrote for the
// piece.
func Same(t TB, wire string, got, want []Glyph) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i < len(got) && i < len(want) && got[i] == want[i] {
			continue
		}
		t.Fatalf("%q shows something else from character %d on\n got %s\nwant %s", wire, i, list(got, i), list(want, i))
	}
}

// Tangled reports whether a piece has bold or italic text within other bold or italic text. Markdown can't always
// express such text: bold and italic text use the same character for their delimiters, and the platform guesses which
// delimiters belong together. https://spec.commonmark.org/0.31.2/#emphasis-and-strong-emphasis
func Tangled(p markup.Piece) bool {
	emphasis := func(f markup.Format) bool {
		return f.Style == markup.Bold || f.Style == markup.Italic || f.Style == markup.Heading
	}
	for i, f := range p.Formats {
		within := func(g markup.Format) bool { return emphasis(g) && g.Start >= f.Start && g.End <= f.End }
		if emphasis(f) && slices.ContainsFunc(p.Formats[i+1:], within) {
			return true
		}
	}
	return false
}

// SameText is like Same, but for pieces that are Tangled. SameText compares only the characters, and ignores the
// delimiter characters of emphasis.
func SameText(t TB, wire string, got, want []Glyph) {
	t.Helper()
	text := func(glyphs []Glyph) string {
		var s strings.Builder
		for _, g := range glyphs {
			if !unicode.IsSpace(g.Char) && g.Char != '*' && g.Char != '_' {
				s.WriteRune(g.Char)
			}
		}
		return s.String()
	}
	if text(got) != text(want) {
		t.Fatalf("%q shows\n got %q\nwant %q", wire, text(got), text(want))
	}
}

func list(glyphs []Glyph, from int) string {
	var s strings.Builder
	for _, g := range glyphs[min(from, len(glyphs)):min(from+12, len(glyphs))] {
		fmt.Fprintf(&s, "%q:%s", g.Char, g.Styles)
		if g.URL != "" || g.Level != 0 {
			fmt.Fprintf(&s, "(%s %d)", g.URL, g.Level)
		}
		s.WriteByte(' ')
	}
	return s.String()
}

// Spy is a dialect that stores each piece that it renders, with the rendered text as the key. A Spy is not safe for
// concurrent use.
type Spy struct {
	markup.Dialect
	Pieces map[string]markup.Piece
}

// Render renders and stores the piece.
func (s Spy) Render(p markup.Piece) markup.Rendered {
	r := s.Dialect.Render(p)
	s.Pieces[r.Text] = p
	return r
}
