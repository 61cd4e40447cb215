package receiving

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// Greeting logs that a platform's messages are received. Only the first time is it worth a line: what follows is the next of
// many connections, or a try after a failure that may fail like it.
type Greeting struct{ said atomic.Bool }

// Log logs it, with what is known of the bot.
func (g *Greeting) Log(ctx context.Context, log *slog.Logger, about ...slog.Attr) {
	level := slog.LevelInfo
	if g.said.Swap(true) {
		level = slog.LevelDebug
	}
	log.LogAttrs(ctx, level, "receiving", about...)
}
