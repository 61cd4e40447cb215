package receiving

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// Greeting logs that a platform's messages are received. Only the first time is logged as information: later connections and
// attempts are logged for debugging.
type Greeting struct{ logged atomic.Bool }

// Log logs it, with what is known of the bot.
func (g *Greeting) Log(ctx context.Context, log *slog.Logger, about ...slog.Attr) {
	level := slog.LevelInfo
	if g.logged.Swap(true) {
		level = slog.LevelDebug
	}
	log.LogAttrs(ctx, level, "receiving", about...)
}
