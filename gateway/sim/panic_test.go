package sim

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// panicHandler reads the gateway's log and reports each panic as a violation. Without panicHandler, panics could stay
// unnoticed, because the gateway recovers from panics.
type panicHandler struct{ w *world }

func (panicHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (h panicHandler) Handle(_ context.Context, r slog.Record) error {
	said := r.Message
	r.Attrs(func(a slog.Attr) bool {
		said += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	if strings.Contains(said, "panic") {
		h.w.mu.Lock()
		defer h.w.mu.Unlock()
		h.w.complain("the gateway logs: %s", said)
	}
	return nil
}

func (h panicHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h panicHandler) WithGroup(string) slog.Handler { return h }
