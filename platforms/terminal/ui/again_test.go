package ui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"telex/internal/chat"
	"telex/platforms/terminal"
	"telex/platforms/terminal/screentest"
)

// next is the result of one attempt to reconnect.
type next struct {
	client  *terminal.Client
	welcome terminal.Welcome
	err     error
}

// returning returns a function that sets Options.Again. With the function that returning returns, each attempt to
// reconnect gets its result from the channel to.
func returning(to <-chan next) func(*Options) {
	return func(o *Options) {
		o.Again = func(ctx context.Context) (*terminal.Client, terminal.Welcome, error) {
			select {
			case n := <-to:
				return n.client, n.welcome, n.err
			case <-ctx.Done():
				return nil, terminal.Welcome{}, ctx.Err()
			}
		}
	}
}

// linesOf returns the given lines without empty lines.
func linesOf(stand []string) []string {
	return slices.DeleteFunc(slices.Clone(stand), func(l string) bool { return l == "" })
}

func away(l []string) bool { return screentest.Has("telex is away · trying again")(l) }

func idle(l []string) bool { return screentest.Has("Ctrl-D leaves")(l) }

// In this test, the first daemon ends in the middle of an answer, and a second daemon completes the answer. The answer
// must continue at the same place on the screen. The client must send once what the person typed between the two
// daemons.
func TestAnswerContinuesAfterReconnect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		stopped bool            // the first daemon stopped gracefully
		history []terminal.Line // history that the second daemon sends
		say     func(w *world, in chat.Inbound)
	}{
		{"answered anew", true, nil, func(w *world, _ chat.Inbound) {
			ref := chat.MessageRef{Target: session, ID: "t.0"}
			w.edit(ref, preview("wh"))
			w.edit(ref, final("whole answer"))
		}},
		{"created anew under its key", true, nil, func(w *world, _ chat.Inbound) {
			m := final("whole answer")
			m.Key = "t.0"
			w.send(m)
		}},
		{
			"answered before the client was back", false,
			[]terminal.Line{{Text: "**old**", ID: "s.0"}, {Mine: true, Text: "why?"}, {Text: "**whole** answer", ID: "t.0"}},
			func(*world, chat.Inbound) {},
		},
		{
			"decided before the client was back", false,
			[]terminal.Line{{Mine: true, Text: "why?"}, {Text: "**whole** answer", ID: "t.0"}},
			func(w *world, _ chat.Inbound) {
				w.edit(chat.MessageRef{Target: session, ID: "t.0"}, final("\x1b[1mwhole\x1b[0m answer"))
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, c, welcome := newWorld(t, terminal.Line{Text: "**old**", ID: "s.0"})
			again := make(chan next)
			p := sit(t, c, welcome, 70, 20, nil, returning(again))
			p.types("why?\r")
			in := w.hears()
			for i, text := range []string{"half", "of it"} {
				m := preview(text)
				m.Key = []string{"t.0", "t.1"}[i]
				w.send(m)
			}
			p.screen.Await(t, "the growing answer", screentest.Has("of it"+cursor))
			if tt.stopped {
				w.edit(chat.MessageRef{Target: session, ID: "t.0"}, final("half"))
				if err := w.hub.Delete(t.Context(), chat.MessageRef{Target: session, ID: "t.1"}); err != nil {
					t.Error(err)
				}
				p.screen.Await(t, "what a daemon leaves that is stopped", func(l []string) bool {
					return screentest.Count(l, "half") == 1 && screentest.Count(l, "▌") == 0
				})
			}
			_ = w.conn.Close()
			p.screen.Await(t, "that telex is away", func(l []string) bool { return away(l) && screentest.Count(l, "▌") == 0 })
			p.types("more\r")
			p.screen.Await(t, "that this stays", screentest.Has("this stays here"))
			w, c, welcome = newWorld(t, tt.history...)
			again <- next{c, welcome, nil}
			if once := w.hears(); once.ID != in.ID || once.Text != "why?" {
				t.Errorf("heard %+v, want the question %s once more", once, in.ID)
			}
			tt.say(w, in)
			w.hub.Concluded(session, []chat.MessageID{in.ID}, false)
			p.screen.Await(t, "the whole answer", func(l []string) bool { return screentest.Has("whole answer")(l) && idle(l) })
			p.types("\r")
			more := w.hears()
			if more.Text != "more" || more.ID == in.ID {
				t.Errorf("heard %+v, want what was typed meanwhile", more)
			}
			w.hub.Concluded(session, []chat.MessageID{more.ID}, false)
			p.screen.Await(t, "the idle status", idle)
			p.types("\x04")
			stand, err := p.leaves()
			if want := []string{"old", "> why?", "whole answer", "> more"}; err != nil || !slices.Equal(linesOf(stand), want) {
				t.Errorf("%v; there stands\n%s", err, strings.Join(stand, "\n"))
			}
		})
	}
}

// In this test, a person leaves while the client has no connection to telex. When the person leaves, the program must
// end at once. If an answer is missing, the program must end with an error.
func TestLeaveWhileAway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, keys string
		asks       bool
	}{{"idle", "\x03", false}, {"idle, Ctrl-D", "\x04", false}, {"answering", "\x03", true}, {"answering, Ctrl-D", "\x04", true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, c, welcome := newWorld(t)
			p := sit(t, c, welcome, 70, 20, nil, returning(nil))
			if tt.asks {
				p.types("why?\r")
				w.hears()
				w.send(preview("because"))
				p.screen.Await(t, "the answer", screentest.Has("because"))
			}
			_ = w.conn.Close()
			p.screen.Await(t, "that telex is away", away)
			p.types(tt.keys)
			stand, err := p.leaves()
			if errors.Is(err, terminal.ErrClosed) != tt.asks || err != nil != tt.asks {
				t.Errorf("Converse = %v", err)
			}
			if screentest.Count(stand, "because") > 1 || screentest.Has("because")(stand) != tt.asks || screentest.Count(stand, "▌") != 0 {
				t.Errorf("there stands\n%s", strings.Join(stand, "\n"))
			}
		})
	}
}

// In this test, the daemon refuses a client that tries to reconnect. The client must show why the daemon refused it,
// and try again.
func TestRefusedWhileAway(t *testing.T) {
	t.Parallel()
	w, c, welcome := newWorld(t)
	again := make(chan next)
	p := sit(t, c, welcome, 70, 20, nil, returning(again))
	_ = w.conn.Close()
	p.screen.Await(t, "that telex is away", away)
	again <- next{err: &terminal.RefusedError{Reason: "somebody else is here"}}
	p.screen.Await(t, "why", screentest.Has("somebody else is here · trying again"))
	again <- next{err: errFull}
	p.screen.Await(t, "that telex is away", away)
	_, c, welcome = newWorld(t)
	again <- next{c, welcome, nil}
	p.screen.Await(t, "the idle status", idle)
	p.types("\x04")
	if _, err := p.leaves(); err != nil {
		t.Error(err)
	}
}

// deaf is a connection to a hub that never answers. deaf records the inputs.
type deaf struct{ heard []string }

func (d *deaf) Say(id, text string, files ...terminal.File) error {
	for _, f := range files {
		text += " +" + f.Name + ":" + string(f.Data)
	}
	d.heard = append(d.heard, id+" "+text)
	return nil
}
func (d *deaf) Stop() error { return nil }

// Some hubs can't recognize a repeated input, so they could answer the input twice. To a hub that can't recognize a
// repeated input, the client must send no input again.
func TestInputIsNotSentTwice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, after, again bool }{{true, true, true}, {true, false, false}, {false, true, false}, {false, false, false}} {
		first, second := &deaf{}, &deaf{}
		m := newModel(first, terminal.Welcome{Once: tt.before}, Options{})
		m.editor.insert("one")
		m.submit()
		m.show(terminal.Message{ID: "t.0", Text: "half", Cursor: cursor, Live: true})
		m.lose(terminal.ErrClosed)
		m.resume(second, terminal.Welcome{Once: tt.after})
		if !slices.Equal(first.heard, []string{"1 one"}) || slices.Equal(second.heard, first.heard) != tt.again || m.busy() != tt.again || m.growing() != tt.again {
			t.Errorf("%+v: heard %q, then %q; busy %t, growing %t", tt, first.heard, second.heard, m.busy(), m.growing())
		}
	}
}

// The pauses between attempts to reconnect must grow up to a maximum. The maximum must be shorter than the time for
// which a new daemon waits for clients. When the conversation ends, a running pause must end too.
func TestReconnectWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, ctx := time.Now(), context.Background()
		ctx, end := context.WithCancel(ctx)
		defer end()
		var at []time.Duration
		told := 0
		again := func(context.Context) (*terminal.Client, terminal.Welcome, error) {
			if at = append(at, time.Since(began)); len(at) == 6 {
				time.AfterFunc(time.Second, end)
			}
			return nil, terminal.Welcome{}, errFull
		}
		_, _, err := comeBack(ctx, again, func(tea.Msg) { told++ })
		if !errors.Is(err, context.Canceled) || told != len(at) {
			t.Errorf("%v, told %d times", err, told)
		}
		want := []time.Duration{250 * time.Millisecond, 750 * time.Millisecond, 1750 * time.Millisecond, 3750 * time.Millisecond, 5750 * time.Millisecond, 7750 * time.Millisecond}
		if !slices.Equal(at, want) || time.Since(began) != 8750*time.Millisecond {
			t.Errorf("tried at %v and gave up after %v", at, time.Since(began))
		}
	})
}

// After a key press, the status line shows a notice. The notice must stay in the status line while attempts to
// reconnect fail. If each attempt removed the notice, nobody could read the notice, because the attempts follow each
// other quickly.
func TestNoticeStaysWhileTelexIsAway(t *testing.T) {
	m := newModel(nil, terminal.Welcome{}, Options{})
	m.lose(terminal.ErrClosed)
	m.editor.insert("more")
	m.submit()
	m.lose(terminal.ErrClosed)
	if got := m.status(); !strings.Contains(got, "this stays here") {
		t.Errorf("the last line is %q", got)
	}
}
