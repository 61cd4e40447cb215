package receiving

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// Greeting logs that a bot now receives messages from its platform. A Greeting logs at level info for the first
// connection, and at level debug for later connections.
type Greeting struct{ logged atomic.Bool }

// Log writes the log line. The attributes about describe the bot.
func (g *Greeting) Log(ctx context.Context, log *slog.Logger, about ...slog.Attr) {
	level := slog.LevelInfo
	if g.logged.Swap(true) {
		level = slog.LevelDebug
	}
	log.LogAttrs(ctx, level, "receiving", about...)
}
