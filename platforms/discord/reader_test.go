package discord

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"telex/internal/markup"
	"telex/internal/markup/markuptest"
)

// reader parses Discord's Markdown as Discord's clients do. The authors of https://github.com/LyricLy/parse-discord
// found the clients' rules by experiment. If the reader finds Markdown that Dialect never writes, such as a subtext or
// a mention, the test fails.
type reader struct {
	markuptest.TB
	wire   string
	glyphs []markuptest.Glyph
}

// state is the reader's position in the structure of a message.
type state struct {
	as     markuptest.Glyph
	quoted bool // in a quote
	label  bool // the position is in the label of a link
	tested bool // the position is inside brackets that may be the label of a link
	depth  int  // how many lists contain the current position
	indent int  // the indentation of lines in lists
}

func read(t markuptest.TB, wire string) []markuptest.Glyph {
	t.Helper()
	r := reader{TB: t, wire: wire}
	r.text(strings.TrimSpace(wire), true, state{})
	return markuptest.Tidy(r.glyphs)
}

var (
	fencedCode = regexp.MustCompile("(?s)^```(?:([a-zA-Z_\\-+.0-9]*)\n)?(.*?[^\n].*?)```")
	strike     = regexp.MustCompile(`(?s)^~~(.+?)~~`)
	ticks      = regexp.MustCompile("^`+")
	bare       = regexp.MustCompile(`^(?:https?|steam)://[^\s<]+[^<.,:;"'\]\s]`)
	bracketed  = regexp.MustCompile(`^<([^: >]+:/[^ >]+)>`)
	masked     = regexp.MustCompile(`(?s)^\[((?:\[[^\]]*\]|[^\[\]])*[^\[]*)\]\(\s*(<)?((?:\([^)]*\)|[^\s\\]|\\[^\n])*?)(>)?(?:\s+['"](.*?)['"])?\s*\)`)
	subtext    = regexp.MustCompile(`^-# +[^\n]`)
	heading    = regexp.MustCompile(`^(#{1,3})\s+([^\n#][^\n]*)\n?`)
	quote      = regexp.MustCompile(`^(?:> [^\n]*\n?)+`)
	bigQuote   = regexp.MustCompile(`^>>> `)
	item       = regexp.MustCompile(`^((?:[*-]|\d+\.) +)(.[^\n]*(?:\n [^\n]*)*)\n?`)
	special    = regexp.MustCompile(`^(?:<@[!&]?\d+>|<#\d+>|@everyone|@here|<t:-?\d+(?::\w)?>|<a?:\w+:\d+>|<id:\w+>|</[^>]+:\d+>|:(?:\w*[A-Za-z]\w*|100|1234):|(?s:\|\|.+?\|\|))`)
)

// The method text reads the string s. The parameter start says whether s begins a line.
func (r *reader) text(s string, start bool, in state) {
	r.Helper()
	blank := start // only spaces precede the current character in its line
	for i := 0; i < len(s); {
		n := 0
		if !in.label {
			n = r.block(s, i, start, blank, in)
		}
		if n == 0 {
			n = r.inline(s, i, blank, in)
		}
		if n > 0 {
			i += n
			start = s[i-1] == '\n'
			blank = start
			continue
		}
		c, size := utf8.DecodeRuneInString(s[i:])
		g := in.as
		g.Char = c
		r.glyphs = append(r.glyphs, g)
		i += size
		if c == '\n' {
			r.space(in.indent)
		}
		start = c == '\n'
		blank = start || blank && c == ' '
	}
}

// The method block reads a Markdown block, such as a heading, at the beginning of a line, and returns the block's
// length.
func (r *reader) block(s string, i int, start, blank bool, in state) int {
	r.Helper()
	rest := s[i:]
	br := markuptest.Glyph{Char: '\n'}
	switch {
	case start && subtext.MatchString(rest), blank && bigQuote.MatchString(rest):
		r.Fatalf("%q has a subtext or a long quote in %q", r.wire, rest)
	case blank && in.depth < 11 && item.MatchString(rest):
		return r.list(rest, in)
	case start && in.depth == 0 && heading.MatchString(rest):
		m := heading.FindStringSubmatch(rest)
		inner := in
		inner.as.Styles, inner.as.Level = markuptest.With(in.as.Styles, markup.Heading), len(m[1])
		title := strings.TrimRight(strings.TrimRight(strings.TrimRight(m[2], " "), "#"), " ")
		r.text(title, true, inner)
		r.glyphs = append(r.glyphs, br)
		return len(m[0])
	case blank && !in.quoted && quote.MatchString(rest):
		m := quote.FindString(rest)
		inner := in
		inner.quoted, inner.as.Styles = true, markuptest.With(in.as.Styles, markup.Quote)
		lines := strings.Split(strings.TrimSuffix(m, "\n"), "\n")
		for i := range lines {
			lines[i] = lines[i][2:]
		}
		r.text(strings.Join(lines, "\n"), true, inner)
		r.glyphs = append(r.glyphs, br)
		return len(m)
	}
	return 0
}

// The method list reads a Markdown list, and returns the list's length.
func (r *reader) list(rest string, in state) int {
	r.Helper()
	at, number := 0, 0
	for n := 0; ; n++ {
		m := item.FindStringSubmatch(rest[at:])
		if m == nil {
			if at < len(rest) {
				r.space(in.indent)
			}
			return at
		}
		if n > 0 {
			r.space(in.indent)
		}
		mark := strings.TrimRight(m[1], " ")
		if n == 0 && mark != "-" && mark != "*" {
			number, _ = strconv.Atoi(strings.TrimSuffix(mark, "."))
			number = max(number, 1)
		}
		shown := []string{"•", "◦", "▪"}[min(in.depth, 2)]
		if number > 0 {
			shown = strconv.Itoa(number+n) + "."
		}
		for _, c := range shown {
			g := in.as
			g.Char = c
			r.glyphs = append(r.glyphs, g)
		}
		r.space(len(m[1]) - len(mark))
		lines := strings.Split(m[2], "\n")
		for i := range lines[1:] {
			line := strings.TrimLeft(lines[i+1], " ")
			lines[i+1] = lines[i+1][min(len(m[1]), len(lines[i+1])-len(line)):]
		}
		inner := in
		inner.depth, inner.indent = in.depth+1, in.indent+len(m[1])
		r.text(strings.Join(lines, "\n"), true, inner)
		r.glyphs = append(r.glyphs, markuptest.Glyph{Char: '\n'})
		at += len(m[0])
	}
}

// The method space adds the spaces with which Discord's clients indent a line.
func (r *reader) space(n int) {
	for range n {
		r.glyphs = append(r.glyphs, markuptest.Glyph{Char: ' '})
	}
}

// The method inline reads inline markup, such as bold text, and returns the length of the markup.
func (r *reader) inline(s string, i int, start bool, in state) int {
	r.Helper()
	rest := s[i:]
	br := markuptest.Glyph{Char: '\n'}
	styled := func(content string, style markup.Style, n int) int {
		inner := in
		inner.as.Styles = markuptest.With(in.as.Styles, style)
		r.text(content, start, inner)
		return n
	}
	if c, _ := utf8.DecodeRuneInString(rest[1:]); rest[0] == '\\' && len(rest) > 1 && !in.label && !in.tested &&
		!unicode.IsSpace(c) && !alnum(rest[1]) && c < utf8.RuneSelf {
		g := in.as
		g.Char = c
		r.glyphs = append(r.glyphs, g)
		return 2
	}
	if m := fencedCode.FindStringSubmatch(rest); m != nil && !in.label {
		inner := in.as
		inner.Styles = markuptest.With(in.as.Styles, markup.Pre)
		r.glyphs = append(r.glyphs, br)
		for _, c := range strings.Trim(m[2], "\n") {
			inner.Char = c
			r.glyphs = append(r.glyphs, inner)
		}
		r.glyphs = append(r.glyphs, br)
		return len(m[0])
	}
	em := italic(rest)
	for mark, style := range map[string]markup.Style{"**": markup.Bold, "__": 0} {
		if n := strong(rest, mark); n > em {
			if style == 0 {
				r.Fatalf("%q underlines %q", r.wire, rest[:n])
			}
			return styled(rest[2:n-2], style, n)
		}
	}
	if em > 0 {
		return styled(strings.TrimRight(rest[1:em-1], " "), markup.Italic, em)
	}
	if m := strike.FindStringSubmatch(rest); m != nil && !strings.HasPrefix(rest[len(m[0]):], "_") {
		return styled(m[1], markup.Strike, len(m[0]))
	}
	if content, n := inlineCode(rest); n > 0 {
		inner := in.as
		inner.Styles = markuptest.With(in.as.Styles, markup.Code)
		for _, c := range content {
			inner.Char = c
			r.glyphs = append(r.glyphs, inner)
		}
		return n
	}
	if in.label {
		return 0
	}
	if special.MatchString(rest) {
		r.Fatalf("%q has %q", r.wire, special.FindString(rest))
	}
	return r.link(rest, in)
}

// The method link reads a URL, or a masked link, which is a link with a label.
func (r *reader) link(rest string, in state) int {
	r.Helper()
	if m := bare.FindString(rest); m != "" {
		if len(m)-len(strings.TrimRight(m, ")")) > strings.Count(m, "(") {
			m = m[:len(m)-1]
		}
		r.address(m, in)
		return len(m)
	}
	if m := bracketed.FindStringSubmatch(rest); m != nil {
		r.address(m[1], in)
		return len(m[0])
	}
	m := masked.FindStringSubmatch(rest)
	if m == nil {
		return 0
	}
	if !strings.HasPrefix(m[3], "http://") && !strings.HasPrefix(m[3], "https://") || inadmissible(m[1]) {
		r.Fatalf("%q has a link that Discord does not take: %q", r.wire, m[0])
	}
	inner := in
	inner.label, inner.as.Styles, inner.as.URL = true, markuptest.With(in.as.Styles, markup.Link), m[3]
	r.text(strings.Map(func(c rune) rune {
		if c != ' ' && c != '\n' && unicode.In(c, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Cc) {
			return -1
		}
		return c
	}, m[1]), false, inner)
	return len(m[0])
}

func (r *reader) address(s string, in state) {
	in.as.URL, in.as.Styles = s, markuptest.With(in.as.Styles, markup.Link)
	for _, c := range s {
		in.as.Char = c
		r.glyphs = append(r.glyphs, in.as)
	}
}

// inadmissible reports whether Discord refuses to show a link with this label.
func inadmissible(label string) bool {
	for i, c := range label {
		rest := label[i:]
		if special.MatchString(rest) || bare.MatchString(rest) || bracketed.MatchString(rest) || masked.MatchString(rest) {
			return true
		}
		if c >= 0x2600 && unicode.Is(unicode.So, c) || c == 0xfe0f || c == 0x20e3 {
			return true
		}
	}
	return strings.TrimSpace(label) == ""
}

// italic returns the length of the italic text at the beginning of s, or 0 if s does not begin with italic text.
func italic(s string) int {
	if len(s) < 3 || s[0] != '*' && s[0] != '_' {
		return 0
	}
	m := s[0]
	if m == '*' && strings.IndexByte(" \t\n", s[1]) >= 0 {
		return 0
	}
	for i := 1; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			_, n := utf8.DecodeRuneInString(s[i+1:])
			i += 1 + n
		case s[i] == '\\':
			return 0
		case s[i] != m:
			i++
		case i > 1 && m == '*' && (i+1 == len(s) || s[i+1] != '*'):
			if before := strings.TrimRight(s[:i], " "); i-len(before) > 2 || strings.HasSuffix(before, "\n") {
				return 0
			}
			return i + 1
		case i > 1 && m == '_' && (i+1 == len(s) || s[i+1] != '_' && !alnum(s[i+1])):
			return i + 1
		case i+1 < len(s) && s[i+1] == m:
			i += 2
		default:
			return 0
		}
	}
	return 0
}

// strong returns the length of the bold or underlined text at the beginning of s, or 0 if s does not begin with such
// text.
func strong(s, mark string) int {
	if !strings.HasPrefix(s, mark) {
		return 0
	}
	for i := 2; i < len(s); {
		if i > 2 && strings.HasPrefix(s[i:], mark) && (i+2 == len(s) || s[i+2] != mark[0]) {
			return i + 2
		}
		if s[i] == '\\' {
			i++
			if i == len(s) {
				return 0
			}
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		i += n
	}
	return 0
}

// inlineCode returns the inline code at the beginning of s and the length of its Markdown, or 0 if s does not begin
// with code.
func inlineCode(s string) (string, int) {
	fence := ticks.FindString(s)
	if fence == "" {
		return "", 0
	}
	for i := len(fence); i < len(s); {
		run := ticks.FindString(s[i:])
		if run == fence && i > len(fence) {
			content := s[len(fence):i]
			if strings.HasPrefix(strings.TrimLeft(content, " "), "`") {
				content = strings.TrimPrefix(content, " ")
			}
			if strings.HasSuffix(strings.TrimRight(content, " "), "`") {
				content = strings.TrimSuffix(content, " ")
			}
			return content, i + len(fence)
		}
		i += max(len(run), 1)
	}
	return "", 0
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
