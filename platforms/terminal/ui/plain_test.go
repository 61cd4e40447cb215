package ui

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"telex/internal/chat"
	"telex/platforms/terminal"
)

// script is a function that makes the hub respond to a question.
type script func(w *world, in chat.Inbound)

func TestAsk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		say          script
		out, trouble string
		failed       string // the note of the FailedError that Ask must return; "-": Ask must succeed
	}{
		{"one message", func(w *world, in chat.Inbound) { w.send(reply(final("**a**\n\tb"), in)) }, "**a**\n\tb\n", "", "-"},
		{"a line break is not doubled", func(w *world, in chat.Inbound) { w.send(reply(final("a\n"), in)) }, "a\n", "", "-"},
		{"growing", func(w *world, in chat.Inbound) {
			ref := w.send(reply(preview("\na "), in))
			w.edit(ref, preview("\na b"))
			w.edit(ref, final("a b c"))
		}, "a b c\n", "", "-"},
		{"two messages", func(w *world, in chat.Inbound) {
			ref := w.send(reply(preview("a\n\n"), in))
			second := w.send(preview("b"))
			w.edit(ref, final("a\n\n"))
			w.edit(second, final("b c"))
		}, "a\n\nb c\n", "", "-"},
		{"another question's answer comes first", func(w *world, in chat.Inbound) {
			w.send(final("other"))
			w.send(reply(final("mine"), in))
		}, "mine\n", "", "-"},
		{"starts over", func(w *world, in chat.Inbound) {
			ref := w.send(reply(preview("first try"), in))
			w.sees("first try")
			w.edit(ref, final("second"))
		}, "first try\n\n---\n\nsecond\n", "The answer has changed meanwhile; here is the complete answer.\n", "-"},
		{"only blanks change", func(w *world, in chat.Inbound) {
			ref := w.send(reply(preview("a \n"), in))
			w.sees("a \n")
			w.edit(ref, final("a"))
		}, "a \n", "", "-"},
		{"fails in the middle", func(w *world, in chat.Inbound) {
			m := reply(final("half"), in)
			m.Text, m.Note = "half\n\nbroken", "broken"
			w.send(m)
		}, "half\n", "", "broken"},
		{"commands for the terminal", func(w *world, in chat.Inbound) { w.send(reply(final("a\x1b[2J\u009b31mb\r"), in)) }, "a[2J31mb\n", "", "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, c, _ := newWorld(t)
			var out, trouble bytes.Buffer
			w.out = make(chan string, 100)
			over := make(chan error, 1)
			go func() { over <- Ask(t.Context(), c, terminal.Input{Text: "why?"}, signalWriter{&out, w.out}, &trouble) }()
			in := w.hears()
			if !in.Unattended {
				t.Errorf("the question %+v is of somebody who could be asked", in)
			}
			tt.say(w, in)
			w.hub.Concluded(session, []chat.MessageID{in.ID}, tt.failed != "-")
			err := <-over
			failed, isFailed := errors.AsType[*FailedError](err)
			switch {
			case tt.failed == "-" && err != nil:
				t.Errorf("Ask = %v", err)
			case tt.failed != "-" && (!isFailed || failed.Note != tt.failed):
				t.Errorf("Ask = %v, want a failure that says %q", err, tt.failed)
			}
			if out.String() != tt.out || trouble.String() != tt.trouble {
				t.Errorf("printed %q and %q, want %q and %q", out.String(), trouble.String(), tt.out, tt.trouble)
			}
		})
	}
}

// signalWriter is a writer that sends each written text to a channel.
type signalWriter struct {
	buf *bytes.Buffer
	out chan<- string
}

func (w signalWriter) Write(p []byte) (int, error) {
	n, err := w.buf.Write(p)
	w.out <- string(p)
	return n, err
}

// sees waits for the next text that Ask prints, and compares it with text.
func (w *world) sees(text string) {
	if got := <-w.out; got != text {
		w.t.Errorf("printed %q, want %q", got, text)
	}
}

func reply(m chat.Outgoing, to chat.Inbound) chat.Outgoing {
	m.ReplyTo = to.ID
	return m
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// If Ask can't write to its output, Ask must stop the answer.
func TestAskWithClosedOutput(t *testing.T) {
	t.Parallel()
	w, c, _ := newWorld(t)
	over := make(chan error, 1)
	go func() { over <- Ask(t.Context(), c, terminal.Input{Text: "why?"}, full{}, &bytes.Buffer{}) }()
	in := w.hears()
	w.send(reply(preview("a"), in))
	if stop := w.hears(); stop.Command != "stop" {
		t.Errorf("heard %+v, want a stop", stop)
	}
	if err := <-over; !errors.Is(err, errFull) {
		t.Errorf("Ask = %v, want %v", err, errFull)
	}
}

func TestChatLineByLine(t *testing.T) {
	t.Parallel()
	w, c, _ := newWorld(t)
	var out, trouble bytes.Buffer
	over := make(chan error, 1)
	go func() { over <- Chat(t.Context(), c, strings.NewReader("one\n\ntwo\n"), &out, &trouble) }()
	for _, failed := range []bool{true, false} {
		in := w.hears()
		w.send(reply(final("to "+in.Text), in))
		w.hub.Concluded(session, []chat.MessageID{in.ID}, failed)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
	if out.String() != "to one\nto two\n" || strings.Count(trouble.String(), "no answer") != 1 {
		t.Errorf("printed %q and %q", out.String(), trouble.String())
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	const bold, end = "\x1b[1m", "\x1b[0m"
	for _, tt := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"one two", 4, []string{"one", "two"}},
		{"世界世界", 5, []string{"世界", "世界"}},
		{"a\n\nb", 5, []string{"a", "", "b"}},
		{bold + "one two" + end + " x", 4, []string{bold + "one" + end, bold + "two" + end, "x"}},
		{"\x1b]8;;https://e.org\x1b\\one two\x1b]8;;\x1b\\", 4, []string{
			"\x1b]8;;https://e.org\x1b\\one\x1b]8;;\x1b\\", "\x1b]8;;https://e.org\x1b\\two\x1b]8;;\x1b\\",
		}},
	} {
		if got := wrap(tt.text, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("wrap(%q, %d)\n got %q\nwant %q", tt.text, tt.width, got, tt.want)
		}
	}
}

func TestEditor(t *testing.T) {
	t.Parallel()
	e := &editor{}
	step := func(what string, do func(), text string, at int) {
		t.Helper()
		if do(); e.text != text || e.at != at {
			t.Errorf("%s: %q at %d, want %q at %d", what, e.text, e.at, text, at)
		}
	}
	step("type", func() { e.insert("a👩‍👧b\x1b") }, "a👩‍👧b", 13)
	step("left", func() { e.at = e.before() }, "a👩‍👧b", 12)
	step("backspace takes a whole character", func() { e.cut(e.before(), e.at) }, "ab", 1)
	step("paste", func() { e.insert("x\r\n\ty") }, "ax\n    yb", 8)
	step("home", func() { e.at = e.lineStart() }, "ax\n    yb", 3)
	step("up", e.up, "ax\n    yb", 2)
	step("down", e.down, "ax\n    yb", 3)
	step("delete", func() { e.cut(e.at, e.after()) }, "ax\n   yb", 3)
	step("end", func() { e.at = e.lineEnd() }, "ax\n   yb", 8)
	step("word", func() { e.cut(e.wordStart(), e.at) }, "ax\n   ", 6)
	e.set("")
	step("backspace at the beginning", func() { e.cut(e.before(), e.at) }, "", 0)
	step("delete at the end", func() { e.cut(e.at, e.after()) }, "", 0)
	e.set("one")
	e.take()
	e.set("two")
	e.take()
	e.set("draft")
	step("back", e.up, "two", 3)
	step("back", e.up, "one", 3)
	step("no further", e.up, "one", 3)
	step("on", e.down, "two", 3)
	step("and to what was being typed", e.down, "draft", 5)
	e.set("0123456789\n\nx")
	rows, x, y := e.view(8, 6)
	if want := []string{"> 01234", "  56789", "  ", "  x"}; !slices.Equal(rows, want) || x != 3 || y != 3 {
		t.Errorf("view = %q, %d, %d, want %q", rows, x, y, want)
	}
}
