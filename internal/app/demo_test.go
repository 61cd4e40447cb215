package app_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"telex/internal/app"
	"telex/internal/config"
	"telex/standin/telegram"
)

func TestDemoRunsUntilItIsNotUsedAnyMore(t *testing.T) {
	t.Parallel()
	o := app.DemoOptions{Env: nothing, Log: slog.New(slog.DiscardHandler)}
	mine := errors.New("mine")
	err := app.RunDemo(t.Context(), o, func(context.Context, *app.Demo) error { return mine })
	if !errors.Is(err, mine) {
		t.Errorf("error %v, want that of its user", err)
	}
}

// The demo is stopped while the bot writes an answer. The daemon must finish this answer in an orderly way before the
// stand-ins stop.
func TestDemoEndsInGoodOrder(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := app.DemoOptions{Rate: 50, Env: nothing, Log: slog.New(slog.DiscardHandler)}
	var server *telegram.Server
	err := app.RunDemo(ctx, o, func(ctx context.Context, d *app.Demo) error {
		server = d.Telegram
		events := d.Telegram.Watch(ctx)
		d.Telegram.Say(telegram.Incoming{User: 1001, Text: "words: 3000"})
		for e := range events {
			if e.Kind == "edit" {
				break
			}
		}
		cancel()
		return nil
	})
	if err != nil {
		t.Errorf("error %v", err)
	}
	list := server.History(1001)
	const cursor = "▌"
	if text := list[len(list)-1].Text(); text == "" || text[len(text)-len(cursor):] == cursor {
		t.Errorf("what stays is %q, want it without a cursor", text)
	}
}

func TestDemoRefusesABadEnvironment(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) { return "perhaps", name == "TELEX_STREAMING_ENABLED" }
	o := app.DemoOptions{Env: env, Log: slog.New(slog.DiscardHandler)}
	err := app.RunDemo(t.Context(), o, func(context.Context, *app.Demo) error {
		t.Error("the demo was used")
		return nil
	})
	if wrong, ok := errors.AsType[config.Errors](err); !ok || wrong[0].File != "TELEX_STREAMING_ENABLED" {
		t.Errorf("error %v, want one about the variable", err)
	}
}
