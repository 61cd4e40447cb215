package receiving

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// Greeting logs that a platform's messages are received: at level info for the first connection, and at level debug
// for later ones.
type Greeting struct{ logged atomic.Bool }

// Log writes the log line. about describes the bot.
func (g *Greeting) Log(ctx context.Context, log *slog.Logger, about ...slog.Attr) {
	level := slog.LevelInfo
	if g.logged.Swap(true) {
		level = slog.LevelDebug
	}
	log.LogAttrs(ctx, level, "receiving", about...)
}
