package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/gateway/access"
	"telex/internal/chat"
)

func TestARetryKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Busy = gateway.Queue })
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(800 * time.Millisecond)
		h.say(t, command("retry"))
		h.say(t, ask("b"))
		later(10 * time.Second)
		equal(t, "questions", h.questions(), []string{"a", "a", "b"})
	})
}

func TestStopDropsARetryThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.answers["a"] = long
		h.say(t, ask("a"))
		later(800 * time.Millisecond)
		h.say(t, command("retry"))
		h.say(t, command("stop"))
		later(10 * time.Second)
		equal(t, "questions", h.questions(), []string{"a"})
	})
}

// In a group, /retry must repeat the last question of the person who sends /retry, and never a question of another
// person. (A retry replaces a question in the history, and only the person who asked it may delete it.)
func TestRetryRepeatsOnlyTheAskersQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		for _, in := range []chat.Inbound{
			inGroup(ask("a"), "1"), inGroup(ask("b"), "2"), inGroup(command("retry"), "1"),
			inGroup(command("forget"), "1"), inGroup(ask("c"), "2"), inGroup(command("retry"), "3"),
		} {
			h.say(t, in)
			later(3 * time.Second)
		}
		equal(t, "the retried turn", h.told(2), []string{"user: b", "assistant: re: b", "user: a"})
		equal(t, "the last turn", h.told(3), []string{"user: b", "assistant: re: b", "user: c"})
		equal(t, "the last message", h.sees()[5:], []string{"There is nothing to ask again."})
	})
}

func TestUndoOfARetryTakesItsQuestionToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, ask("a"))
		later(3 * time.Second)
		h.answers["a"] = long
		h.say(t, command("retry"))
		later(800 * time.Millisecond)
		h.say(t, command("undo"))
		later(5 * time.Second)
		h.say(t, ask("b"))
		later(5 * time.Second)
		equal(t, "the last turn", h.told(2), []string{"user: b"})
	})
}

// A person sends /retry and then /undo while a question is being answered. /undo must delete the question, and also the
// /retry that waits to ask it again.
func TestUndoDropsARetryThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, nil)
		h.say(t, ask("a"))
		later(3 * time.Second)
		h.answers["b"] = long
		h.say(t, ask("b"))
		later(800 * time.Millisecond)
		h.say(t, command("retry"))
		h.say(t, command("undo"))
		later(10 * time.Second)
		equal(t, "questions", h.questions(), []string{"a", "b"})
	})
}

func TestUndoAfterARestartEndsTheUnfinishedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("b"))
		later(5 * time.Second)
		l.say(t, ask("a"))
		later(1200 * time.Millisecond)
		l.kill()
		l.pending(t, command("undo"))
		l.begin(t, nil)
		later(5 * time.Second)
		l.say(t, ask("c"))
		later(5 * time.Second)
		equal(t, "the turns of the second process", l.told(0), []string{"user: b", "assistant: re: b", "user: c"})
	})
}

// A process dies while it delivers the answer to a command. The process also leaves unfinished a turn that began after the
// command. In the next process, /undo must end the unfinished turn, although the answer to the command must be delivered
// first.
func TestUndoAfterARestartIgnoresAFixedLineBeforeTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("b"))
		later(5 * time.Second)
		l.platform.hangs = true
		l.say(t, command("help"))
		later(time.Second)
		l.say(t, ask("a"))
		later(100 * time.Millisecond)
		l.kill()
		l.platform.hangs = false
		l.begin(t, nil)
		l.say(t, command("undo"))
		later(5 * time.Second)
		l.say(t, ask("c"))
		later(5 * time.Second)
		equal(t, "the turns of the second process", l.told(0), []string{"user: b", "assistant: re: b", "user: c"})
		helped := func(text string) bool { return strings.HasPrefix(text, "Write to me") }
		if got := l.sees(); len(got) != 4 || !slices.ContainsFunc(got, helped) {
			t.Errorf("sees %q", got)
		}
	})
}

// A process dies during a turn, and before it could send a line that says why a later message is not answered. In the next
// process, /undo must ignore the line that was not sent, and end the unfinished turn.
func TestUndoAfterARestartIgnoresAFixedLineBehindTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		full := func(o *gateway.Options) { o.MaxQueued, o.Busy = 1, gateway.Queue }
		l.begin(t, full)
		l.say(t, ask("b"))
		later(5 * time.Second)
		l.say(t, ask("a"))
		later(1200 * time.Millisecond)
		l.platform.hangs = true
		l.say(t, ask("c"))
		l.say(t, ask("too many"))
		later(100 * time.Millisecond)
		l.kill()
		l.platform.hangs = false
		l.pending(t, command("undo"))
		l.begin(t, full)
		later(time.Minute)
		l.say(t, ask("d"))
		later(5 * time.Second)
		equal(t, "the turns of the second process", l.told(1), []string{"user: b", "assistant: re: b", "user: c", "assistant: re: c", "user: d"})
		if n := slices.Index(l.sees(), gateway.DefaultTexts()[gateway.TextQueueFull]); n < 0 {
			t.Errorf("the line is lost: %q", l.sees())
		}
	})
}

func TestForgetAfterARestartEndsTheUnfinishedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, inGroup(ask("a"), "1"))
		later(1200 * time.Millisecond)
		l.kill()
		l.pending(t, inGroup(command("forget"), "1"))
		l.begin(t, nil)
		later(5 * time.Second)
		equal(t, "questions", l.questions(), nil)
	})
}

// pending stores a waiting message, as if an earlier process had accepted but not answered it.
func (l *life) pending(t *testing.T, in chat.Inbound) {
	t.Helper()
	in.ID = "pending"
	if _, err := l.store.Accept(t.Context(), chat.Conversation{Endpoint: "tg", Chat: in.To.Chat}, in); err != nil {
		t.Fatal(err)
	}
}

// eager is a platform that delivers one update as soon as it runs.
type eager struct {
	*platform
	first chat.Inbound
}

func (e eager) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	if err := accept(ctx, e.first); err != nil {
		return err
	}
	return e.platform.Run(ctx, from, accept)
}

func TestPairing_requestIsNotRepeated(t *testing.T) {
	for range 500 { // many times, because two goroutines race and each may be first
		synctest.Test(t, func(t *testing.T) {
			l := newLife()
			request := ask("")
			request.Kind = chat.AccessRequest
			l.pending(t, request)
			again := ask("let me in")
			again.ID = "again"
			l.begin(t, func(o *gateway.Options) {
				o.Access = access.Rules{Pair: true}
				o.Endpoints[0].Platform = eager{l.platform, again}
			})
			later(5 * time.Second)
			if got := l.sees(); len(got) != 1 {
				t.Errorf("got %q, want one code", got)
			}
		})
	}
}

// hearing is a model. In its first turn, hearing reads the messages that arrive during the turn, and then runs until it
// is stopped.
type hearing struct{ *script }

func (h hearing) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	h.mu.Lock()
	first := len(h.turns) == 0
	h.mu.Unlock()
	if !first {
		return h.script.Run(ctx, t, emit)
	}
	h.mu.Lock()
	h.turns = append(h.turns, t)
	h.mu.Unlock()
	time.Sleep(wordTime)
	t.More(ctx)
	<-ctx.Done()
	return agent.Result{Partial: true, Stop: agent.StopCancelled}, context.Cause(ctx)
}

func TestRetryIncludesSteeringMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, func(o *gateway.Options) { o.Busy, o.Runner = gateway.Steer, hearing{l.script} })
		l.say(t, ask("a"))
		later(50 * time.Millisecond)
		l.say(t, ask("b"))
		later(time.Second)
		l.say(t, command("retry")) // no text was visible yet
		later(5 * time.Second)
		equal(t, "questions", l.questions(), []string{"a", "a\n\nb"})
		l.say(t, command("retry"))
		later(5 * time.Second)
		equal(t, "the retried turn", l.told(2), []string{"user: a\n\nb"})
	})
}

func TestSteeringOfARetryIsAskedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("b"))
		later(3 * time.Second)
		l.kill()
		l.begin(t, func(o *gateway.Options) { o.Busy, o.Runner = gateway.Steer, hearing{l.script} })
		l.say(t, command("retry"))
		later(50 * time.Millisecond)
		l.say(t, ask("c"))
		later(time.Second)
		l.kill()
		l.begin(t, nil)
		later(5 * time.Second)
		equal(t, "the turn", l.told(0), []string{"user: b\n\nc"})
	})
}

// A process dies during a retry. An hour later, the next process finds that the retry is too old, and closes it. The
// question that /retry was to repeat must stay in the history.
func TestARetryThatIsTooOldKeepsItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.say(t, ask("b"))
		later(3 * time.Second)
		l.script.answers["b"] = long
		l.say(t, command("retry"))
		later(1200 * time.Millisecond)
		l.kill()
		later(time.Hour)
		l.begin(t, nil)
		later(5 * time.Second)
		l.say(t, ask("c"))
		later(5 * time.Second)
		if got := l.told(0); len(got) != 3 || got[0] != "user: b" || got[1] == "assistant: re: b" {
			t.Errorf("got %q, want the question, what was shown and the new question", got)
		}
	})
}

func TestUnusedSteeringKeepsItsPlaceInTheQueue(t *testing.T) {
	more := func(in chat.Inbound) chat.Inbound { in.More = true; return in }
	for _, c := range []struct {
		name string
		sent []chat.Inbound
		want []string
	}{
		{"behind what others asked", []chat.Inbound{inGroup(ask("b"), "2"), inGroup(ask("c"), "1")}, []string{"a", "b", "c"}},
		{"in one piece", []chat.Inbound{more(inGroup(ask("b"), "1")), inGroup(ask("c"), "1")}, []string{"a", "b\n\nc"}},
		{"unless it is forgotten", []chat.Inbound{inGroup(ask("b"), "1"), inGroup(command("forget"), "1")}, []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, func(o *gateway.Options) { o.Busy = gateway.Steer })
				h.say(t, inGroup(ask("a"), "1"))
				later(50 * time.Millisecond)
				for _, in := range c.sent {
					h.say(t, in)
				}
				later(10 * time.Second)
				equal(t, "questions", h.questions(), c.want)
			})
		})
	}
}

// With gateway.Steer, a new message is passed to the running turn. While an earlier message of the same sender is queued, no
// message of this sender may be passed to the turn, because the model would read the messages in the wrong order.
func TestSteeringKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Busy = gateway.Steer })
		h.calls = 1
		h.files = map[string][]byte{"1": picture(t)}
		h.say(t, ask("a"))
		later(50 * time.Millisecond)
		photo := ask("b")
		photo.Attachments = []chat.Attachment{{ID: "1"}} // a message with a picture is not passed to a running turn
		h.say(t, photo)
		h.say(t, ask("c"))
		later(10 * time.Second)
		equal(t, "questions", h.questions(), []string{"a", "b", "c"})
		h.calls = 1
		h.say(t, ask("d"))
		later(50 * time.Millisecond)
		quoting := ask("e")
		quoting.Quotes = []chat.Quote{{Text: "look", Attachments: photo.Attachments}} // no message that quotes a picture is passed on
		h.say(t, quoting)
		later(10 * time.Second)
		if q := h.question(); !strings.Contains(q.Text, "e") || len(q.Images) != 1 {
			t.Errorf("the last question has %d pictures: %q", len(q.Images), q.Text)
		}
	})
}

func TestPiecesAreAskedAgainTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Busy, o.Endpoints[0].Streaming.MinTokens = gateway.Queue, 1000 })
		piece := ask("a")
		piece.More = true
		h.say(t, piece)
		h.say(t, ask("b"))
		later(50 * time.Millisecond)
		h.say(t, command("retry"))
		later(5 * time.Second)
		equal(t, "questions", h.questions(), []string{"a\n\nb", "a\n\nb"})
	})
}

// A person sends /retry although there is no earlier question, and then asks a question. The process dies before the
// answer to /retry was sent. After the restart, /retry must not repeat the new question.
func TestRetryOfNothingIsDecidedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		l.begin(t, nil)
		l.platform.failing(&chat.SendError{Kind: chat.Temporary})
		l.say(t, command("stop")) // the answer to this command is being delivered
		l.say(t, command("retry"))
		later(50 * time.Millisecond)
		l.say(t, ask("b"))
		later(50 * time.Millisecond)
		l.kill()
		l.platform.failing(nil)
		l.begin(t, nil)
		later(10 * time.Second)
		equal(t, "questions", l.questions(), []string{"b"})
	})
}

func TestAQuestionThatIsAskedAgainCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) {
			o.Access = access.Rules{Allow: []access.Rule{{Endpoint: "tg"}}}
			o.Limits, o.Endpoints[0].Streaming.MinTokens = access.Limits{TurnsPerMinute: 1}, 1000
		})
		h.say(t, ask("a"))
		later(50 * time.Millisecond)
		h.say(t, command("retry")) // no text was visible yet
		later(5 * time.Second)
		equal(t, "messages", h.sees(), []string{"re: a"})
	})
}

// A person sends /undo while the answer is being delivered. The answer is already in the history, and /undo must delete
// it from the history.
func TestUndoWhileAnAnswerIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, func(o *gateway.Options) { o.Endpoints[0].Streaming.MinTokens = 1000 })
		h.say(t, ask("a"))
		later(2*wordTime + latency/2)
		h.say(t, command("undo"))
		later(5 * time.Second)
		h.say(t, ask("b"))
		later(5 * time.Second)
		equal(t, "the next turn", h.told(1), []string{"user: b"})
	})
}
