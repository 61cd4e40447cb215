package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"telex/internal/chat"
	"telex/internal/markup"
	adapter "telex/platforms/telegram"
	"telex/standin/openai"
	"telex/standin/telegram"
)

// ErrNotExact says that the person did not end up with exactly the answer.
var ErrNotExact = errors.New("what the person saw at the end is not exactly the answer")

// demoPerson is who asks, in a private chat.
const demoPerson = 1001

// quiet is how long nothing may happen after the last change for a reply to count as ended.
const quiet = 1500 * time.Millisecond

// Say asks one question and writes what the person saw, and when, to w.
func (d *Demo) Say(ctx context.Context, w io.Writer, question string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan telegram.Event)
	watch := d.Telegram.Watch(ctx)
	told := make(chan struct{})
	go func() {
		defer close(told)
		defer close(events)
		for e := range watch {
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { cancel(); <-told }()
	began := time.Now()
	asked := d.Telegram.Say(telegram.Incoming{User: demoPerson, FirstName: "Ada", Text: question})
	fmt.Fprintf(w, "%s\n", shorten("asked   "+question, 100))
	var last time.Time
	for {
		still := time.NewTimer(quiet)
		select {
		case e, ok := <-events:
			still.Stop()
			if !ok {
				return context.Cause(ctx)
			}
			if d.print(w, e, began, asked) {
				last = e.At
			}
		case <-still.C:
			if d.answered(last) {
				return d.judge(w, asked)
			}
		}
	}
}

// print writes one line for what a person sees, and reports whether it changed a message.
func (d *Demo) print(w io.Writer, e telegram.Event, began time.Time, asked int) bool {
	at := fmt.Sprintf("+%.2fs", e.At.Sub(began).Seconds())
	switch {
	case e.Kind == "action" && e.Action != nil:
		fmt.Fprintf(w, "%-7s typing…\n", at)
	case e.Message != nil && e.Message.ID != asked && e.Message.FromBot:
		verb := map[string]string{"message": "send", "edit": "edit", "delete": "delete"}[e.Kind]
		text := e.Message.Text()
		fmt.Fprintf(w, "%-7s %-6s #%d %4d characters  %s\n", at, verb, e.Message.ID, utf8.RuneCountInString(text), ending(text))
		return true
	}
	return false
}

// answered says that the model has ended and the messages have settled.
func (d *Demo) answered(last time.Time) bool {
	s := d.Model.Stats()
	return s.Requests > 0 && s.Active == 0 && !last.IsZero()
}

// judge prints the final and the summary, and says whether the final is the answer.
func (d *Demo) judge(w io.Writer, asked int) error {
	var shown []string
	edits := 0
	var last time.Time
	for _, m := range d.Telegram.History(demoPerson) {
		if m.ID == asked || !m.FromBot || !m.Alive() {
			continue
		}
		shown = append(shown, m.Text())
		edits += len(m.Versions) - 1
		if m.Last().At.After(last) {
			last = m.Last().At
		}
	}
	requests := d.Model.Requests()
	model := requests[len(requests)-1]
	fmt.Fprintf(w, "\n%s\n\n", strings.Join(shown, "\n--- next message ---\n"))
	fmt.Fprintf(w, "%d message(s), %d edit(s), %d call(s) answered 429, final %.2f s after the last token (%d tokens in %.1f s)\n",
		len(shown), edits, d.Telegram.Stats().TooManyRequests, last.Sub(model.LastToken).Seconds(),
		model.Tokens, model.LastToken.Sub(model.Time).Seconds())
	want, err := d.expected(model)
	if err != nil {
		return err
	}
	if !slices.Equal(shown, want) {
		fmt.Fprintln(w, "NOT EXACT: the final differs from the answer")
		return ErrNotExact
	}
	fmt.Fprintln(w, "exact: the final is the whole answer, once, without a cursor")
	return nil
}

// expected is the text of the messages that the model's answer must end up as.
func (d *Demo) expected(r openai.Request) ([]string, error) {
	bot, err := adapter.New(adapter.Options{Token: d.Telegram.Token()})
	if err != nil {
		return nil, err
	}
	defer bot.Close()
	dialect, limit := bot.Dialect(chat.Target{}), bot.Profile(chat.Target{}).TextLimit
	if r.Stream {
		limit -= dialect.Len(markup.Rendered{Text: demoCursor})
	}
	var texts []string
	for _, p := range markup.Layout(r.Planned, markup.Options{Dialect: dialect, Limit: limit}) {
		texts = append(texts, p.Rendered.Text)
	}
	return texts, nil
}

// demoCursor is the built-in cursor, which the demo leaves as it is.
const demoCursor = " ▌"

// ending shows where a growing text stands: its last words.
func ending(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const room = 48
	if n := utf8.RuneCountInString(text); n > room {
		return "…" + string([]rune(text)[n-room:])
	}
	return text
}

func shorten(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > n {
		return string([]rune(s)[:n]) + "…"
	}
	return s
}
