package gateway_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// refusing sets the function that chooses which calls the platform refuses. If the function is nil, the platform
// refuses no call.
func (p *platform) refusing(refuse func(op chat.Op, text string) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = refuse
}

var errServer = &chat.SendError{Kind: chat.Uncertain, Err: errors.New("502 Bad Gateway")}

// editsOf returns a function that refuses every edit of a message that begins with a text.
func editsOf(begin string, err error) func(chat.Op, string) error {
	return func(op chat.Op, text string) error {
		if op == chat.OpEdit && strings.HasPrefix(text, begin) {
			return err
		}
		return nil
	}
}

// unfinished returns the number of unfinished turns in the store.
func unfinished(t *testing.T, s gateway.Turns) int {
	t.Helper()
	left, err := s.Unfinished(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(left)
}

// D14: a chat refuses a reply until the deadline of its final has passed. The store must keep the reply, and the
// gateway must deliver it when the next message of the chat arrives.
func TestARefusedReplyIsDeliveredWithTheNextMessage(t *testing.T) {
	for _, kind := range []chat.ErrorKind{chat.Forbidden, chat.Auth} {
		for name, refuse := range map[string]func(chat.Op, string) error{
			"sends": func(op chat.Op, _ string) error { return &chat.SendError{Kind: kind} },
			"edits": editsOf("", &chat.SendError{Kind: kind}),
		} {
			t.Run(kind.String()+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLife()
					l.begin(t, nil)
					l.answers["a"] = long
					l.platform.refusing(refuse)
					l.say(t, ask("a"))
					later(25 * time.Minute)
					if n := unfinished(t, l.store); n != 1 {
						t.Fatalf("%d turns are left, want that of the reply", n)
					}
					l.platform.refusing(nil)
					l.say(t, ask("b"))
					later(time.Minute)
					equal(t, "messages", l.sees(), []string{long, "re: b"})
					if n := unfinished(t, l.store); n != 0 {
						t.Errorf("%d turns are left", n)
					}
				})
			})
		}
	}
}

// A chat refused a reply. The gateway must try again to deliver the reply at the next start. If the reply was
// interrupted, the model must not be asked again.
func TestARefusedReplyIsDeliveredAtTheNextStart(t *testing.T) {
	for name, stop := range map[string]bool{"final": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLife()
				l.begin(t, nil)
				l.answers["a"] = long
				l.say(t, ask("a"))
				later(800 * time.Millisecond)
				l.platform.refusing(editsOf("", &chat.SendError{Kind: chat.Forbidden}))
				if stop {
					l.say(t, command("stop"))
				}
				later(25 * time.Minute)
				if got := l.sees(); len(got) != 1 || !strings.HasSuffix(got[0], "▌") {
					t.Fatalf("got %q, want a preview", got)
				}
				l.kill()
				l.platform.refusing(nil)
				l.begin(t, nil)
				later(time.Minute)
				got := l.sees()
				if len(got) != 1 || strings.Contains(got[0], "▌") || !stop && got[0] != long {
					t.Errorf("got %q, want no cursor", got)
				}
				if n := len(l.questions()); n != 0 {
					t.Errorf("the model was asked %d times again", n)
				}
				if n := unfinished(t, l.store); n != 0 {
					t.Errorf("%d turns are left", n)
				}
			})
		})
	}
}

// A chat refuses a reply for more than a week. The gateway must give up the reply.
func TestARefusedReplyIsGivenUpAfterAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.platform.failing(&chat.SendError{Kind: chat.Forbidden})
		l.say(t, ask("a"))
		later(20 * time.Minute)
		l.kill()
		later(8 * 24 * time.Hour)
		l.begin(t, nil)
		later(20 * time.Minute)
		if n := unfinished(t, l.store); n != 0 {
			t.Errorf("%d turns are left", n)
		}
	})
}

// D14: the platform refuses all edits of a message. The next question and /stop must still be answered at once. When
// edits succeed again, the message must lose its cursor.
func TestMessageThatCannotBeEditedBlocksNobody(t *testing.T) {
	for _, err := range []error{errServer, &chat.SendError{Kind: chat.Temporary}, &chat.SendError{Kind: chat.Forbidden}} {
		t.Run(err.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLife()
				l.begin(t, nil)
				l.answers["a"] = long
				l.say(t, ask("a"))
				later(800 * time.Millisecond)
				l.platform.refusing(editsOf("one", err))
				later(10 * time.Second)
				l.say(t, ask("b"))
				later(2 * time.Second)
				if got := l.sees(); len(got) != 2 || got[1] != "re: b" {
					t.Fatalf("got %q, want the next answer", got)
				}
				equal(t, "the second turn", l.told(1), []string{"user: a", "assistant: " + long, "user: b"})
				l.say(t, command("stop"))
				later(2 * time.Second)
				l.platform.refusing(nil)
				later(10 * time.Minute)
				got := l.sees()
				if strings.Contains(got[0], "▌") || got[0] == long && !errors.Is(err, errServer) { // the failed edit may have taken effect
					t.Errorf("got %q, want what was shown when it was stopped, without a cursor", got[0])
				}
				equal(t, "the rest", got[1:], []string{"re: b", "Stopped."})
				if n := unfinished(t, l.store); n != 0 {
					t.Errorf("%d turns are left", n)
				}
			})
		})
	}
}

// The platform refuses the edits of a reply, so the conversation continues with the next question. When edits succeed
// again, the reply must become final. If the reply was interrupted, the reply must keep its visible text.
func TestAParkedReplyIsMadeFinal(t *testing.T) {
	for name, interrupted := range map[string]bool{"decided": false, "interrupted": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLife()
				l.begin(t, nil)
				l.answers["a"] = long
				l.say(t, ask("a"))
				later(800 * time.Millisecond)
				l.platform.refusing(editsOf("one", errServer))
				if !interrupted {
					later(10 * time.Second)
				}
				l.say(t, ask("b"))
				later(5 * time.Second)
				if got := l.sees(); len(got) != 2 || got[1] != "re: b" {
					t.Fatalf("got %q, want the next answer", got)
				}
				if interrupted {
					said := l.told(1)
					if len(said) != 3 || said[0] != "user: a" || !strings.HasPrefix(said[1], "assistant: one") {
						t.Errorf("the second turn is told %q, want what was shown of the first", said)
					}
				}
				l.platform.refusing(nil)
				later(5 * time.Minute)
				got := l.sees()
				if strings.Contains(got[0], "▌") || (got[0] == long) == interrupted {
					t.Errorf("got %q", got[0])
				}
				if n := unfinished(t, l.store); n != 0 {
					t.Errorf("%d turns are left", n)
				}
			})
		})
	}
}

// The messages of several replies can't be created for now. When messages can be created again, the replies must appear
// in the order of their questions.
func TestParkedRepliesKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.platform.failing(&chat.SendError{Kind: chat.Temporary, Err: errors.New("away")})
		for _, q := range []string{"x", "b", "c"} {
			l.say(t, ask(q))
			later(20 * time.Second)
		}
		equal(t, "questions", l.questions(), []string{"x", "b", "c"})
		l.platform.failing(nil)
		later(2 * time.Minute)
		equal(t, "messages", l.sees(), []string{"re: x", "re: b", "re: c"})
	})
}

// The platform refuses one reply, but accepts a later reply. The later reply must be shown without waiting for the
// refused reply.
func TestARefusedMessageIsOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.platform.refusing(func(op chat.Op, text string) error {
			if op == chat.OpSend && strings.HasPrefix(text, "eins") {
				return &chat.SendError{Kind: chat.Temporary}
			}
			return nil
		})
		l.answers["x"] = "eins zwei drei"
		l.say(t, ask("x"))
		later(10 * time.Second)
		l.say(t, ask("b"))
		later(2 * time.Second)
		equal(t, "messages", l.sees(), []string{"re: b"})
		l.platform.refusing(nil)
		later(time.Minute)
		equal(t, "messages", l.sees(), []string{"re: b", "eins zwei drei"})
	})
}

// A reply can't be delivered for now, and a person sends /undo, /forget or /new. After such a command, the reply must
// not be shown any more.
func TestParkedReplyIsDeletedWithItsHistory(t *testing.T) {
	for _, name := range []string{"undo", "forget", "new"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLife()
				l.begin(t, nil)
				l.platform.refusing(func(op chat.Op, text string) error {
					if strings.HasPrefix(text, "re: x") {
						return &chat.SendError{Kind: chat.Temporary}
					}
					return nil
				})
				l.say(t, ask("x"))
				later(10 * time.Second)
				l.say(t, command("undo")) // parks the reply
				later(2 * time.Second)
				if name != "undo" {
					l.say(t, command(name))
				}
				l.platform.refusing(nil)
				later(time.Minute)
				for _, m := range l.sees() {
					if strings.Contains(m, "re: x") {
						t.Errorf("got %q", m)
					}
				}
				l.say(t, ask("b"))
				later(10 * time.Second)
				equal(t, "the next turn", l.told(len(l.questions())-1), []string{"user: b"})
			})
		})
	}
}

// The platform refuses the answers to many commands. The answer to a further command must still be shown.
func TestFailedLinesDoNotBlockCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.platform.refusing(func(op chat.Op, text string) error {
			if !strings.HasPrefix(text, "re:") && !strings.HasPrefix(text, "Nothing") {
				return &chat.SendError{Kind: chat.Temporary}
			}
			return nil
		})
		for range 6 {
			l.say(t, command("help"))
			later(2 * time.Second)
		}
		l.say(t, command("stop"))
		later(2 * time.Second)
		if got := l.sees(); len(got) != 1 || !strings.HasPrefix(got[0], "Nothing") {
			t.Errorf("got %q, want the answer to the last command", got)
		}
	})
}

// A final can't be delivered, and the daemon restarts. The restart must not extend the deadline until which the gateway
// tries to deliver the final (D4).
func TestDeadlineOfAFinalSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.answers["a"] = long
		l.say(t, ask("a"))
		later(800 * time.Millisecond)
		l.platform.refusing(editsOf("one", errServer))
		later(10 * time.Minute)
		l.kill()
		l.begin(t, nil)
		later(4 * time.Minute)
		tries := 0
		l.platform.refusing(func(op chat.Op, text string) error {
			if op == chat.OpEdit {
				tries++
				return errServer
			}
			return nil
		})
		later(15 * time.Minute)
		if tries == 0 || tries > 60 {
			t.Errorf("%d tries after a quarter of an hour, want few", tries)
		}
		if n := unfinished(t, l.store); n != 1 {
			t.Errorf("%d turns are left, want that of the reply", n)
		}
	})
}
