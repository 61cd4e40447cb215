package slack

import (
	"strings"

	"telex/internal/markup"
)

// Dialect is a placeholder.
type Dialect struct{}

func (Dialect) Shape() markup.Shape { return markup.Plain{}.Shape() }

func (Dialect) Render(p markup.Piece) markup.Rendered {
	r := markup.Plain{}.Render(p)
	r.Text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(r.Text)
	return r
}

func (Dialect) Len(r markup.Rendered) int { return units(r.Text) }
