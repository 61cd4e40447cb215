package discord

import "telex/internal/markup"

// Dialect is how Discord writes formatted text.
type Dialect struct{}

// Shape is that of plain text.
func (Dialect) Shape() markup.Shape { return markup.Plain{}.Shape() }

// Render shows a piece.
func (Dialect) Render(p markup.Piece) markup.Rendered { return markup.Plain{}.Render(p) }

// Len is the number of characters.
func (Dialect) Len(r markup.Rendered) int { return markup.Plain{}.Len(r) }
