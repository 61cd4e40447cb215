package ui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"telex/internal/chat"
	"telex/platforms/terminal"
	"telex/platforms/terminal/screentest"
)

// answer returns a text of n different lines.
func answer(n int) string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("line %03d 世界 👩‍👧", i))
	}
	return strings.Join(lines, "\n")
}

// numbered returns the numbers of the visible lines of an answer. The lines of an answer begin with text such as "line
// 007".
func numbered(lines []string) []string {
	var list []string
	for _, l := range lines {
		if strings.HasPrefix(l, "line ") {
			list = append(list, l[:len("line 000")])
		}
	}
	return list
}

// In this test, an answer grows far beyond the height of the screen. Once a line has been shown, it must stay on the
// screen or in the scrollback. In the end, every line must exist once and in order.
func TestAnswerNeverFlickers(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {40, 10}, {30, 6}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			const lines = 60
			w, c, welcome := newWorld(t)
			last, frames := -1, 0
			watch := func(stand []string) {
				frames++
				list := numbered(stand)
				newest := -1
				if len(list) > 0 {
					_, _ = fmt.Sscanf(slices.Max(list), "line %d", &newest)
				}
				if newest < last {
					t.Errorf("frame %d shows the answer up to line %d, the one before up to %d", frames, newest, last)
				}
				last = newest
			}
			p := sit(t, c, welcome, size[0], size[1], watch)
			p.types("count\r")
			in := w.hears()
			whole := answer(lines)
			all := strings.SplitAfter(whole, "\n")
			first := final("")
			first.ReplyTo = in.ID
			ref := w.send(first)
			for i := range all {
				w.edit(ref, preview(strings.Join(all[:i+1], "")))
				p.screen.Await(t, fmt.Sprintf("line %d", i), screentest.Has(fmt.Sprintf("line %03d", i)))
			}
			w.edit(ref, final(whole))
			w.hub.Concluded(session, []chat.MessageID{in.ID}, false)
			p.screen.Await(t, "the idle status", screentest.Has("session main"))
			p.types("\x04")
			stand, err := p.leaves()
			if err != nil {
				t.Errorf("Converse = %v", err)
			}
			var want []string
			for i := range lines {
				want = append(want, fmt.Sprintf("line %03d", i))
			}
			if got := numbered(stand); !slices.Equal(got, want) {
				t.Errorf("at the end there stand\n%q\nwant\n%q", got, want)
			}
			if screentest.Count(stand, "> count") != 1 || screentest.Count(stand, "▌") != 0 || screentest.Count(stand, "Ctrl-") != 0 {
				t.Errorf("at the end there stands\n%s", strings.Join(stand, "\n"))
			}
		})
	}
}

// When an answer that is longer than the screen is complete, the end of the answer must fill the screen above the input
// line.
func TestLongAnswerStandsOnTheScreen(t *testing.T) {
	t.Parallel()
	const width, height, lines = 60, 20, 50
	w, c, welcome := newWorld(t)
	p := sit(t, c, welcome, width, height, nil)
	for round := range 2 {
		p.types("count\r")
		in := w.hears()
		w.edit(w.send(preview(answer(lines/2))), final(answer(lines)))
		w.hub.Concluded(session, []chat.MessageID{in.ID}, false)
		p.screen.Await(t, "all lines, once a round", func(stand []string) bool {
			return screentest.Has("session main")(stand) && len(numbered(stand)) == (round+1)*lines
		})
		if got := len(numbered(p.screen.Visible())); got < height-5 {
			t.Errorf("%d lines of the answer are on a screen of %d rows:\n%s", got, height, strings.Join(p.screen.Visible(), "\n"))
		}
	}
}

// The hub sends the names of the commands to the client. When the person presses Tab, the client must complete a name.
func TestTabCompletesCommands(t *testing.T) {
	t.Parallel()
	w, c, welcome := newWorld(t)
	p := sit(t, c, welcome, 60, 20, nil)
	p.types("/st\t")
	p.screen.Await(t, "the commands that are possible", screentest.Has("/stop /status"))
	p.types("a\t\r")
	if in := w.hears(); in.Kind != chat.Command || in.Command != "status" {
		t.Errorf("heard %+v, want /status", in)
	}
}

func TestCtrlC(t *testing.T) {
	t.Parallel()
	w, c, welcome := newWorld(t)
	p := sit(t, c, welcome, 60, 20, nil)
	p.types("\x03") // Ctrl-C shows a notice in place of the idle status, which contains the same words
	p.screen.Await(t, "how to leave", func(l []string) bool { return l[len(l)-1] == "Ctrl-D leaves" })
	p.types("why?\r")
	in := w.hears()
	ref := w.send(preview("because"))
	p.screen.Await(t, "the answer with its cursor", screentest.Has("because"+cursor))
	p.types("\x03")
	if stop := w.hears(); stop.Kind != chat.Command || stop.Command != "stop" {
		t.Errorf("Ctrl-C said %+v", stop)
	}
	w.edit(ref, final("because"))
	w.hub.Concluded(session, []chat.MessageID{in.ID}, false)
	// Wait for both conditions, because during drawing the screen may show a line both in its old and in its new place.
	p.screen.Await(t, "the idle status and the answer once, without its cursor", func(l []string) bool {
		return screentest.Has("/help")(l) && screentest.Count(l, "because") == 1 && screentest.Count(l, "▌") == 0
	})
	p.types("\x04")
	if _, err := p.leaves(); err != nil {
		t.Error(err)
	}
}

// In this test, a person leaves while an answer is being written. When the person leaves, the answer must stop, the
// shown text must stay on the screen, and no cursor may be left.
func TestLeaveDuringAnAnswer(t *testing.T) {
	t.Parallel()
	w, c, welcome := newWorld(t)
	p := sit(t, c, welcome, 60, 20, nil)
	p.types("why?\r")
	in := w.hears()
	w.send(preview("because"))
	p.screen.Await(t, "the answer", screentest.Has("because"))
	p.types("\x04")
	if stop := w.hears(); stop.Command != "stop" {
		t.Errorf("Ctrl-D said %+v", stop)
	}
	w.hub.Concluded(session, []chat.MessageID{in.ID}, false)
	stand, err := p.leaves()
	if err != nil || screentest.Count(stand, "because") != 1 || screentest.Count(stand, "▌") != 0 {
		t.Errorf("%v; there stands\n%s", err, strings.Join(stand, "\n"))
	}
}

func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	w, c, welcome := newWorld(t)
	p := sit(t, c, welcome, 60, 20, nil)
	p.types("why?\r")
	w.hears()
	w.send(preview("because"))
	p.screen.Await(t, "the answer", screentest.Has("because"))
	_ = w.conn.Close()
	stand, err := p.leaves()
	if !errors.Is(err, terminal.ErrClosed) || screentest.Count(stand, "because") != 1 || screentest.Count(stand, "▌") != 0 {
		t.Errorf("%v; there stands\n%s", err, strings.Join(stand, "\n"))
	}
}

// In this test, a person asks a second question while the answer to the first question is being written. The second
// question must appear below the answer to the first question. The Up key must recall earlier inputs.
func TestQuestionsInOrder(t *testing.T) {
	t.Parallel()
	w, c, welcome := newWorld(t, terminal.Line{Mine: true, Text: "old \x1b[2Jquestion"}, terminal.Line{Text: "old answer"})
	p := sit(t, c, welcome, 60, 24, nil)
	p.types("one\r")
	first := w.hears()
	ref := w.send(preview("first ans"))
	p.screen.Await(t, "the first answer", screentest.Has("first ans"))
	p.types("tw")
	p.types("\x1b[200~o\nlines\x1b[201~\r") // a line break in pasted text does not submit the input
	second := w.hears()
	if second.Text != "two\nlines" {
		t.Errorf("heard %q", second.Text)
	}
	w.edit(ref, final("first answer"))
	w.send(final("second answer"))
	w.hub.Concluded(session, []chat.MessageID{first.ID, second.ID}, false)
	p.screen.Await(t, "the idle status", screentest.Has("/help"))
	p.types("\x1b[A\x1b[A\x1b[A") // first Up: the second question; second Up: its first line; third Up: the first question
	p.screen.Await(t, "the first question again", func(l []string) bool { return screentest.Count(l, "> one") == 2 })
	p.types("\x15\x04") // Ctrl-U clears the input, and Ctrl-D leaves
	stand, err := p.leaves()
	if err != nil {
		t.Error(err)
	}
	var said []string
	for _, l := range stand {
		if l != "" {
			said = append(said, l)
		}
	}
	want := []string{"> old [2Jquestion", "old answer", "> one", "first answer", "> two", "  lines", "second answer"}
	if !slices.Equal(said, want) {
		t.Errorf("there stands\n%q\nwant\n%q", said, want)
	}
}
