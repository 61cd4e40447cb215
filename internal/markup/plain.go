package markup

import (
	"strings"
	"unicode/utf8"
)

// Plain is a dialect without markup. Plain counts lengths in code points.
type Plain struct{}

// Shape returns the usual symbols.
func (Plain) Shape() Shape {
	return Shape{Bullets: []string{"•", "◦", "▪"}, Todo: "☐", Done: "☑", Rule: "──────────"}
}

// Render returns the text of the piece without any formats.
func (Plain) Render(p Piece) Rendered { return Rendered{Text: strings.TrimSpace(p.Text)} }

// Len counts code points.
func (Plain) Len(r Rendered) int { return utf8.RuneCountInString(r.Text) }
