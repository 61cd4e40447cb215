package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"telex/internal/markup"
)

// Dialect writes text with ANSI escape sequences. If Colour is false, Dialect writes no styles. The function For sets
// Colour to false if the variable NO_COLOR is set (https://no-color.org) or the output can't show styles. The zero
// Dialect writes plain text. Dialect measures the length of a text in terminal cells.
type Dialect struct {
	Colour bool `json:"colour,omitempty"` // writes styles such as bold and italic (SGR)
	Links  bool `json:"links,omitempty"`  // clickable links (OSC 8); false: the URL follows the link's text in brackets
}

var _ markup.Dialect = Dialect{}

// For returns the dialect for the terminal that the environment describes. The parameter tty says whether the output is
// a terminal.
func For(getenv func(string) string, tty bool) Dialect {
	term := getenv("TERM")
	if !tty || getenv("NO_COLOR") != "" || term == "" || term == "dumb" {
		return Dialect{}
	}
	return Dialect{Colour: true, Links: clickable(term, getenv)}
}

// clickable reports whether a terminal is known to support OSC 8, the escape sequence for links. Terminals that do not
// support OSC 8 may show the escape sequence as text
// (https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda).
func clickable(term string, getenv func(string) string) bool {
	for _, name := range []string{"kitty", "ghostty", "foot", "alacritty", "wezterm"} {
		if strings.Contains(term, name) {
			return true
		}
	}
	switch getenv("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm", "vscode", "ghostty":
		return true
	}
	vte := getenv("VTE_VERSION") // the version of the library VTE, such as "5000" for version 0.50
	return getenv("WT_SESSION") != "" || getenv("KONSOLE_VERSION") != "" || len(vte) >= 4 && vte >= "5000"
}

// tabStop is the distance between tab stops in code.
const tabStop = 4

// Shape returns the symbols of plain text, such as list bullets. The returned shape also says that tabs in code become
// spaces.
func (Dialect) Shape() markup.Shape {
	s := markup.Plain{}.Shape()
	s.Tab = tabStop
	return s
}

// Len counts the terminal cells of a text, without escape sequences. A line break counts as one cell.
func (Dialect) Len(r markup.Rendered) int { return cells(ansi.Strip(r.Text)) }

// quoteBar begins each line of a quote, and codeIndent begins each line of a code block.
const (
	quoteBar   = "│ "
	codeIndent = "  "
)

// Render returns a piece of an answer with escape sequences for its formatting.
func (d Dialect) Render(p markup.Piece) markup.Rendered {
	w := writer{dialect: d, text: p.Text, line: true}
	start := len(p.Text) - len(strings.TrimLeft(p.Text, "\n"))
	next := 0
	for i := start; i < len(p.Text); {
		w.closeAt(i)
		for next < len(p.Formats) && p.Formats[next].Start <= i {
			w.open(p.Formats[next])
			next++
		}
		r, size := utf8.DecodeRuneInString(p.Text[i:])
		w.char(r)
		i += size
	}
	w.finish(len(p.Text))
	return markup.Rendered{Text: w.out.String()}
}

// Markdown renders the Markdown source of a finished answer.
func (d Dialect) Markdown(source string) string {
	var parts []string
	for _, p := range markup.Layout(source, markup.Options{Dialect: d, Limit: textLimit}) {
		parts = append(parts, p.Rendered.Text)
	}
	if len(parts) == 0 {
		return Clean(source) // the rendered answer is empty, so show the source
	}
	return strings.Join(parts, "\n")
}
