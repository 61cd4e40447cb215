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

// ErrNotExact means that the messages that the person saw at the end differ from the model's answer.
var ErrNotExact = errors.New("the text that the person saw at the end differs from the answer")

// demoPerson is the id of the person who asks, in a private chat.
const demoPerson = 1001

const (
	// quietTime is how long the chat must stay unchanged before Say checks whether the reply is complete.
	quietTime = 1500 * time.Millisecond
	// finalTimeout is how long Say waits for the finished reply after the model has written its answer. Rate limits may delay the
	// end of the reply.
	finalTimeout = 10 * time.Second
)

// Say asks the bot one question, and writes to w what the person saw and when.
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
	fmt.Fprintf(w, "asked   %s\n", shorten(question, 100))
	printed := 0
	for {
		still := time.NewTimer(quietTime)
		select {
		case e, ok := <-events:
			still.Stop()
			if !ok {
				return context.Cause(ctx)
			}
			if d.print(w, e, began, asked) {
				printed++
			}
		case <-still.C:
			if d.ended(began, asked) && printed >= d.shown(asked).changes { // otherwise more events may follow
				return d.checkFinal(w, asked)
			}
		}
	}
}

// print writes one line about a visible change. print reports whether the change was a sent or edited text.
func (d *Demo) print(w io.Writer, e telegram.Event, began time.Time, asked int) bool {
	at := fmt.Sprintf("+%.2fs", e.At.Sub(began).Seconds())
	switch {
	case e.Kind == "action" && e.Action != nil:
		fmt.Fprintf(w, "%-7s typing…\n", at)
	case e.Message != nil && e.Message.ID != asked && e.Message.FromBot:
		verb := map[string]string{"message": "send", "edit": "edit", "delete": "delete"}[e.Kind]
		text := e.Message.Text()
		fmt.Fprintf(w, "%-7s %-6s #%d %4d characters  %s\n", at, verb, e.Message.ID, utf8.RuneCountInString(text), ending(text))
		return e.Kind != "delete"
	}
	return false
}

// request returns the newest request that the model received, or the zero Request if there was none.
func (d *Demo) request() openai.Request {
	list := d.Model.Requests()
	if len(list) == 0 {
		return openai.Request{}
	}
	return list[len(list)-1]
}

// ended reports whether the reply is complete, or whether finalTimeout has passed before it became complete.
func (d *Demo) ended(began time.Time, asked int) bool {
	r := d.request()
	if r.ID == 0 {
		return time.Since(began) > finalTimeout
	}
	return !r.Ended.IsZero() && (slices.Equal(d.shown(asked).texts, d.expected(r)) || time.Since(r.Ended) > finalTimeout)
}

// shown describes what the person sees of the reply.
type shown struct {
	texts   []string
	edits   int
	changes int       // number of sends and edits, including those of deleted messages
	last    time.Time // when the text last changed; zero: nothing is shown
}

func (d *Demo) shown(asked int) shown {
	var s shown
	for _, m := range d.Telegram.History(demoPerson) {
		if m.ID == asked || !m.FromBot {
			continue
		}
		s.changes += len(m.Versions)
		if !m.Alive() {
			continue
		}
		s.texts = append(s.texts, m.Text())
		s.edits += len(m.Versions) - 1
		if m.Last().At.After(s.last) {
			s.last = m.Last().At
		}
	}
	return s
}

// checkFinal prints the visible reply and a summary. checkFinal fails with ErrNotExact if the reply differs from the
// model's answer.
func (d *Demo) checkFinal(w io.Writer, asked int) error {
	s, model := d.shown(asked), d.request()
	fmt.Fprintf(w, "\n%s\n\n", strings.Join(s.texts, "\n--- next message ---\n"))
	fmt.Fprintf(w, "%d message(s), %d edit(s), %d call(s) answered 429", len(s.texts), s.edits, d.Telegram.Stats().TooManyRequests)
	if !s.last.IsZero() && !model.LastToken.IsZero() {
		fmt.Fprintf(w, ", final %.2f s after the last token (%d tokens in %.1f s)",
			s.last.Sub(model.LastToken).Seconds(), model.Tokens, model.LastToken.Sub(model.Time).Seconds())
	}
	fmt.Fprintln(w)
	if model.ID == 0 || !slices.Equal(s.texts, d.expected(model)) {
		fmt.Fprintln(w, "NOT EXACT: the final differs from the answer")
		return ErrNotExact
	}
	fmt.Fprintln(w, "exact: the final is the whole answer, once, without a cursor")
	return nil
}

// expected returns the texts of the messages that together show the model's complete answer.
func (d *Demo) expected(r openai.Request) []string {
	bot := adapter.New(adapter.Options{Token: d.Telegram.Token()})
	defer bot.Close()
	dialect, limit := bot.Dialect(chat.Target{}), bot.Profile(chat.Target{}).TextLimit
	if r.Stream {
		limit -= dialect.Len(markup.Rendered{Text: demoCursor})
	}
	var texts []string
	for _, p := range markup.Layout(r.Planned, markup.Options{Dialect: dialect, Limit: limit}) {
		texts = append(texts, p.Rendered.Text)
	}
	return texts
}

// demoCursor is the cursor at the end of a growing text. The demo uses the default cursor.
const demoCursor = " ▌"

// ending returns the end of a growing text, which fits into one line.
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
