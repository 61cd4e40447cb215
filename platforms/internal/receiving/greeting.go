package receiving

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// Greeting logs that a platform's messages are received. The first time is logged at level info. Later connections are
// logged at level debug.
type Greeting struct{ logged atomic.Bool }

// Log writes the log line, with attributes of the bot.
func (g *Greeting) Log(ctx context.Context, log *slog.Logger, about ...slog.Attr) {
	level := slog.LevelInfo
	if g.logged.Swap(true) {
		level = slog.LevelDebug
	}
	log.LogAttrs(ctx, level, "receiving", about...)
}
