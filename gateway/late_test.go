package gateway_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// The gateway must use the platform's time of a message only if the message waited at the platform. If the gateway always used
// the platform's time, a local clock that is ahead by more than max_age would make every message seem too old.
func TestMessagesDuringAnOutageGetANote(t *testing.T) { // F44
	note := gateway.DefaultTexts()[gateway.TextLate]
	for _, c := range []struct {
		name string
		at   time.Duration // the platform's time of the message, relative to now
		zero bool
		live bool
		want string
	}{
		{name: "hours ago", at: -20 * time.Hour, want: note},
		{name: "just before the limit", at: -14 * time.Minute, want: "re: a"},
		{name: "by a clock that runs ahead", at: 20 * time.Hour, want: "re: a"},
		{name: "nobody knows when", zero: true, want: "re: a"},
		{name: "just now, by a platform whose clock is behind ours", at: -20 * time.Hour, live: true, want: "re: a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, nil)
				in := ask("a")
				in.Missed = !c.live
				if in.At = in.At.Add(c.at); c.zero {
					in.At = time.Time{}
				}
				h.say(t, in)
				later(5 * time.Second)
				equal(t, "messages", h.sees(), []string{c.want})
				if asked := len(h.turns) > 0; asked != strings.HasPrefix(c.want, "re: ") {
					t.Errorf("the model was asked: %t", asked)
				}
			})
		})
	}
}

func TestLateCommandIsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		in := command("stop")
		in.At = in.At.Add(-20 * time.Hour)
		h.say(t, in)
		later(5 * time.Second)
		equal(t, "messages", h.sees(), []string{"Nothing is running."})
	})
}

// backlog stores n messages of a group that wait for a later process. Each message is by another person.
func (l *life) backlog(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		in := ask("q" + strconv.Itoa(i))
		in.To, in.Reply = chat.Target{Chat: "-5", Kind: chat.Group}, true
		in.ID, in.Sender.ID = chat.MessageID("m"+strconv.Itoa(i)), chat.UserID("u"+strconv.Itoa(i))
		if _, err := l.store.Accept(t.Context(), chat.Conversation{Endpoint: "tg", Chat: "-5"}, in); err != nil {
			t.Fatal(err)
		}
	}
}

// nothingLeft checks that the store contains no unfinished work.
func (l *life) nothingLeft(t *testing.T) {
	t.Helper()
	pending, err := l.store.Pending(t.Context())
	turns, err2 := l.store.Unfinished(t.Context())
	if err = errors.Join(err, err2); err != nil || len(pending)+len(turns) > 0 {
		t.Errorf("%d messages and %d turns are left, %v", len(pending), len(turns), err)
	}
}

func TestEveryLateMessageGetsItsNote(t *testing.T) { // F44
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.backlog(t, 20)
		later(time.Hour)
		l.begin(t, nil)
		later(time.Minute)
		var got, want []string
		for i, m := range l.platform.messages {
			got = append(got, string(m.replyTo)+" "+m.text())
			want = append(want, "m"+strconv.Itoa(i)+" "+gateway.DefaultTexts()[gateway.TextLate])
		}
		equal(t, "notes", got, want)
		if len(got) != 20 {
			t.Errorf("got %d notes, want 20", len(got))
		}
		l.nothingLeft(t)
	})
}

// One person sends many messages that are too old, while the platform hangs. Only one note may be on its way at the
// same time. The next note must answer all messages that wait for a note.
func TestOnePersonsLateMessagesShareANote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.platform.hangs = true
		for range 100 {
			in := ask("a")
			in.At, in.Missed = in.At.Add(-time.Hour), true
			l.say(t, in)
			synctest.Wait()
		}
		if turns, err := l.store.Unfinished(t.Context()); err != nil || len(turns) != 1 {
			t.Errorf("%d notes are under way, %v, want 1", len(turns), err)
		}
		l.kill()
		l.platform.hangs = false
		l.begin(t, nil)
		later(time.Minute)
		// One note was already being sent. One or two notes follow for the other messages, because the first of these
		// notes may not cover all messages.
		if n := len(l.sees()); n < 2 || n > 3 {
			t.Errorf("got %d notes, want 2 or 3", n)
		}
		l.nothingLeft(t)
	})
}

// The daemon restarts while it sends notes about late messages. No note may be lost or sent twice.
func TestARestartBetweenNotesLosesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.backlog(t, 10)
		later(time.Hour)
		l.begin(t, nil)
		later(350 * time.Millisecond)
		_ = l.stop()
		if n := len(l.sees()); n == 0 || n == 10 {
			t.Fatalf("%d notes stand before the restart, want some", n)
		}
		l.begin(t, nil)
		later(time.Minute)
		to := make(map[chat.MessageID]int)
		for _, m := range l.platform.messages {
			to[m.replyTo]++
		}
		if len(to) != 10 || len(l.platform.messages) != 10 {
			t.Errorf("%d notes answer %d messages, want 10 and 10", len(l.platform.messages), len(to))
		}
		l.nothingLeft(t)
	})
}

// A message arrived while the bot was connected, and was not answered before a restart. The message must count as too
// old only if it has waited too long since its arrival.
func TestALiveMessageIsJudgedByItsWaitOverARestart(t *testing.T) { // F44
	for wait, want := range map[time.Duration]string{
		10 * time.Minute: "re: hi",
		20 * time.Minute: gateway.DefaultTexts()[gateway.TextLate],
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLife()
			in := ask("hi")
			in.ID, in.At = "1", in.At.Add(-20*time.Hour)
			if _, err := l.store.Accept(t.Context(), chat.Conversation{Endpoint: "tg", Chat: "7"}, in); err != nil {
				t.Fatal(err)
			}
			later(wait)
			l.begin(t, nil)
			later(5 * time.Second)
			equal(t, "messages", l.sees(), []string{want})
		})
	}
}
