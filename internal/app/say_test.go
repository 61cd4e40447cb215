package app_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"telex/internal/app"
	"telex/standin/fault"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// nothing looks up variables in an empty environment.
func nothing(string) (string, bool) { return "", false }

// say starts the demo, calls the function prepare, asks one question, and returns what the demo printed.
func say(t *testing.T, question string, prepare func(*app.Demo)) (string, error) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := app.DemoOptions{Rate: 400, Env: nothing, Log: slog.New(slog.DiscardHandler)}
	err := app.RunDemo(ctx, o, func(ctx context.Context, d *app.Demo) error {
		prepare(d)
		return d.Say(ctx, &out, question)
	})
	return out.String(), err
}

func TestSayJudgesTheFinal(t *testing.T) {
	t.Parallel()
	refused := func(method, contains string) func(*app.Demo) {
		return func(d *app.Demo) {
			d.Telegram.Fault(telegram.Fault{
				Method: method, Contains: contains, Action: fault.Status,
				Status: http.StatusForbidden, Description: "Forbidden: bot was kicked",
			})
		}
	}
	rule := func(do string) func(*app.Demo) {
		return func(d *app.Demo) {
			if err := d.Model.Rule(openai.Rule{Do: do}); err != nil {
				t.Error(err)
			}
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(*app.Demo)
		want    error
		says    string
	}{
		{name: "all is well", prepare: func(*app.Demo) {}, says: "\n1 message(s), "},
		{name: "the final is refused", prepare: refused("editMessageText", "forty-nine fifty"), want: app.ErrNotExact, says: "\n1 message(s), "},
		{name: "nothing can be sent", prepare: refused("sendMessage", ""), want: app.ErrNotExact, says: "\n0 message(s), "},
		{name: "the model refuses", prepare: rule("status=401"), want: app.ErrNotExact, says: "isn't available right now"},
		{name: "a final that waits for a rate limit", prepare: func(d *app.Demo) {
			d.Telegram.Fault(telegram.Fault{
				Method: "editMessageText", Contains: "forty-nine fifty", Times: 1, Action: fault.RateLimit, RetryAfter: 3,
			})
		}, says: "1 call(s) answered 429"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := say(t, "{{standin rate=50}} words: 50", c.prepare)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			verdict := "\nexact: the final is the whole answer, once, without a cursor\n"
			if c.want != nil {
				verdict = "\nNOT EXACT: the final differs from the answer\n"
			}
			if !strings.HasSuffix(out, verdict) || !strings.Contains(out, c.says) {
				t.Errorf("it says\n%s\nwant %q in it and %q at its end", out, c.says, verdict)
			}
		})
	}
}

// An answer consists of several messages. The output of Say must show this.
func TestSaySeveralMessages(t *testing.T) {
	t.Parallel()
	out, err := say(t, "{{standin rate=1000}} words: 300", func(*app.Demo) {})
	if err != nil || !strings.Contains(out, "\n--- next message ---\n") || !strings.Contains(out, "\n2 message(s), ") {
		t.Errorf("error %v, it says\n%s", err, out)
	}
}

func TestSayEndsWithItsContext(t *testing.T) {
	t.Parallel()
	o := app.DemoOptions{Env: nothing, Log: slog.New(slog.DiscardHandler)}
	err := app.RunDemo(t.Context(), o, func(ctx context.Context, d *app.Demo) error {
		if err := d.Model.Rule(openai.Rule{Do: "hang=start"}); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			d.Model.Wait(ctx, func(s openai.Stats) bool { return s.Active == 1 })
			cancel()
		}()
		return d.Say(ctx, new(bytes.Buffer), "hello")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
