package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// A person approves all future calls of a tool. The process dies before it stores that this approval also answers the
// open question. If the person then answers the question again, the question must count as already decided.
func TestRegressionApprovedOnceForAllAndKilled(t *testing.T) {
	t.Parallel()
	for n := range 24 {
		t.Run(fmt.Sprint("killed after write ", n), func(t *testing.T) {
			t.Parallel()
			s := story("no-edit", calling("a0w0x", "a0w1x", change))
			s.tools, s.kind.caps.Buttons = true, true
			s.latency, s.approval = 2*time.Second, time.Hour
			// The person answers the second time while the bot delivers the final message.
			s.reactions = []reaction{{kind: doAlways, after: time.Second, again: 4 * time.Second}}
			s.kills = []kill{{where: afterWrite, n: n, down: s.latency}}
			perform(t, s)
		})
	}
}

// D12: the bot sends a line with a fixed text in the chat, so the platform removes the draft. The bot must show the
// draft again at once, and not wait for the next renewal.
func TestRegressionDraftBesideALine(t *testing.T) {
	t.Parallel()
	s := story("draft", talk("a0w0x a0w1x a0w2x"))
	s.answers[0].deltas[2].after = 20 * time.Second
	s.says = append(s.says, say{at: 5 * time.Second, user: "ann", kind: "status"})
	w := perform(t, s)
	var line time.Time
	for _, c := range w.made(chat.OpSend) {
		if line.IsZero() {
			line = c.done
		}
	}
	again := slices.ContainsFunc(w.made(chat.OpDraft), func(c *call) bool { return !c.at.Before(line) && c.at.Sub(line) < 2*time.Second })
	if line.IsZero() || !again {
		t.Errorf("the draft is not shown again after the line\nwhat happened:\n%s", strings.Join(w.story(), "\n"))
	}
}

// D1: edits to the final text fail until the gateway gives up for a while. When the gateway tries again, the platform
// refuses to edit the message, so another message must show the final text.
func TestRegressionGivenUpAndThenUneditable(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{cutBefore, isBad} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := story("edit-without-delete", talk("a0w0x a0w1x a0w2x"))
			s.faults = map[int]fault{}
			for n := 1; n < 200; n++ {
				s.faults[n] = fault{kind: kind, after: 20 * time.Minute}
			}
			s.faults[200] = fault{kind: isFrozen}
			s.says = append(s.says, say{at: 2 * time.Hour, user: "ann", kind: "help"})
			perform(t, s)
		})
	}
}

// D6: a person deletes a message before the process searches for it. The platform remembers the key of the deleted
// message and would create no new message for this key. The bot must therefore send the final with a new key.
func TestRegressionDeletedBeforeItIsFound(t *testing.T) {
	t.Parallel()
	s := story("edit-with-keys-and-find", talk("a0w0x a0w1x"))
	s.profile.KeyFor, s.latency = time.Second, 300*time.Millisecond // the model ends before the response to the search arrives
	s.kills = []kill{{where: afterCall, n: 0, down: 3 * time.Second}}
	s.accidents = []accident{{at: 2 * time.Second, kind: "delete"}}
	w := perform(t, s)
	equal(t, "what the person sees", w.see(0), []string{"a0w0x a0w1x"})
}

// D6: a person deletes a message. The process searches for the message, finds nothing, and dies. The next process must
// also use a new key for the message.
func TestRegressionDeletedBeforeItIsFoundAndKilled(t *testing.T) {
	t.Parallel()
	for write := range 8 {
		t.Run(fmt.Sprint(write), func(t *testing.T) {
			t.Parallel()
			s := story("edit-with-keys-and-find", talk("a0w0x a0w1x"))
			s.profile.KeyFor, s.latency = 100*time.Millisecond, 300*time.Millisecond // the key has expired, so the create can't be repeated and must be searched for
			s.faults = map[int]fault{0: {kind: cutAfter}}
			s.accidents = []accident{{at: 500 * time.Millisecond, kind: "delete"}}
			s.kills = []kill{{where: afterWrite, n: write, down: time.Second}}
			if seen := perform(t, s).see(0); !slices.Contains(seen, "a0w0x a0w1x") {
				t.Errorf("the person sees %q", seen)
			}
		})
	}
}

// F37: a person stops an answer while a rate limit makes the bot wait. The person still approves the answer's tool
// call, and the process stops gracefully before it has stored that the answer was stopped. The next process must also
// stop the answer, and must not make the tool call.
func TestRegressionStoppedAndNotStoredAsStopped(t *testing.T) {
	t.Parallel()
	s := story("edit", calling("a0w0x", "a0w1x", change))
	s.tools, s.kind.caps.Buttons, s.approval = true, true, time.Hour
	s.says = append(s.says, say{at: 3 * time.Second, user: "ann", kind: "stop"})
	s.reactions = []reaction{{kind: doApprove, after: 4 * time.Second}}
	s.faults = map[int]fault{1: {kind: limited, scope: chat.ScopeChat, after: 40 * time.Second}} // call 1 deletes the question
	s.kills = []kill{{where: inOrder, at: 4500 * time.Millisecond}}
	w := perform(t, s)
	if n := w.counts["effects that were approved"]; n > 0 {
		t.Errorf("%d calls were made\nwhat happened:\n%s", n, strings.Join(w.story(), "\n"))
	}
}

// F37: the bot answers /stop while it still cleans up the stopped answer in the background, and then the process dies.
// The next process must not run the turn again.
func TestRegressionStoppedParkedAndKilled(t *testing.T) {
	t.Parallel()
	for write := range 12 {
		t.Run(fmt.Sprint(write), func(t *testing.T) {
			t.Parallel()
			s := story("edit", calling("a0w0x", "a0w1x", change))
			s.tools, s.kind.caps.Buttons, s.approval = true, true, time.Hour
			s.says = append(s.says, say{at: 3 * time.Second, user: "ann", kind: "stop"})
			s.reactions = []reaction{{kind: doApprove, after: time.Minute}}
			s.faults = map[int]fault{1: {kind: isAuth, after: 20 * time.Second}} // call 1 deletes the question
			s.kills = []kill{{where: afterWrite, n: write, down: time.Second}}
			w := perform(t, s)
			if n := w.counts["effects that were approved"]; n > 0 {
				t.Errorf("%d calls were made\nwhat happened:\n%s", n, strings.Join(w.story(), "\n"))
			}
		})
	}
}

// longStream returns a schedule in which a streamed text needs several messages and is split at other places than a
// text that is not streamed.
func longStream() schedule {
	var text []string
	for n := range 24 {
		text = append(text, token(0, n)+" 世界。")
	}
	s := story("stream", talk(strings.Join(text, "")))
	s.profile.TextLimit, s.real, s.profile.StreamFor = 60, 60, time.Hour
	return s
}

// D1: a process streams a text and dies. A streamed text is split into messages at other places than a text that is not
// streamed. The next process can't edit a message whose id is unknown, so it must split the text where that message
// begins.
func TestRegressionSplitsOfAStreamSurviveAKill(t *testing.T) {
	t.Parallel()
	s := longStream()
	s.says[0].place = 1
	s.faults = map[int]fault{4: {kind: nameless}, 5: {kind: nameless}}
	s.kills = []kill{{where: afterCall, n: 6, down: time.Second}}
	perform(t, s)
}

// D1: a process streams a text and dies. A streamed text is split into messages at other places than a text that is not
// streamed. The next process must split the final text at the same places, even if it can edit the messages. If the
// next process split the text elsewhere and somebody stopped the answer meanwhile, words would be lost.
func TestRegressionSplitsOfAStreamSurviveAStop(t *testing.T) {
	t.Parallel()
	s := longStream()
	s.answers[0].deltas = []delta{{text: s.answers[0].shown, after: time.Second}}
	s.says[0].place = 1
	s.kills = []kill{{where: afterAnswer, n: 3, down: time.Second}}
	w := perform(t, s)
	sent := w.made(chat.OpSend)
	for _, c := range w.made(chat.OpEdit) {
		if !slices.ContainsFunc(sent, func(o *call) bool { return o.m.Text == c.m.Text }) {
			t.Errorf("a message is made to show %q\nwhat happened:\n%s", c.m.Text, strings.Join(w.story(), "\n"))
		}
	}
}

// D1: the platform refused the text of a message. The next process must not send this text again. If the next process
// split the text into shorter messages, these would repeat words that later messages show.
func TestRegressionRefusedTextIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	s := story("no-edit-with-keys", talk(numbered(40)))
	s.profile.TextLimit, s.real = 64, 64
	s.faults = map[int]fault{1: {kind: badContent}, 4: {kind: tooLong}}
	s.kills = []kill{{where: afterAnswer, n: 3, down: time.Second}}
	perform(t, s)
}

// D10: a process stops gracefully and leaves a message whose id is unknown. The next process dies while it sends the
// final text as another message. The third process must take into account that people may not see the final text.
func TestRegressionMessageWithoutIDAndThenKilled(t *testing.T) {
	t.Parallel()
	s := story("draft", talk("a0w0x a0w1x"), talk("a0w0x a0w1x"))
	s.answers[0].deltas[1].after = 20 * time.Second
	s.answers[1].deltas[1].after = 20 * time.Second
	s.faults = map[int]fault{1: {kind: nameless}}
	s.kills = []kill{{where: inOrder, at: time.Second}, {where: beforeCall, n: 2, down: time.Second}}
	perform(t, s)
}

// D1: a process stops gracefully and leaves two create calls of unknown outcome. The next process runs the turn again.
// In the end, people must see the answer that the model wrote for the next process.
func TestRegressionInterruptedTwiceUnknown(t *testing.T) {
	t.Parallel()
	s := story("draft", talk(numbered(20)))
	s.profile.TextLimit, s.real, s.profile.DraftFor = 64, 64, 25*time.Second
	s.answers[0].deltas[19].after = time.Minute
	s.faults = map[int]fault{2: {kind: isBad, after: 30 * time.Second}} // call 2 concerns the first message, which is full
	s.kills = []kill{{where: inOrder, at: 5 * time.Second, down: time.Minute}}
	w := perform(t, s)
	equal(t, "what the person sees", strings.Join(w.see(0), " "), numbered(20))
}

// D3: a process sends a call and dies. The call takes as long as any other call. The calls of the old and the new
// process together must not exceed the limit.
func TestRegressionCallOfADeadProcessTakesItsTime(t *testing.T) {
	t.Parallel()
	s := story("edit", talk(numbered(30)))
	s.latency = 300 * time.Millisecond
	s.kills = []kill{{where: atTime, at: 1400 * time.Millisecond, ghost: true}}
	w := perform(t, s)
	ghosts := 0
	for _, c := range w.made(chat.OpAll) {
		if c.effect && c.took.Sub(c.at) != s.latency/2 {
			t.Errorf("%s arrives after %v", c, c.took.Sub(c.at))
		}
		if c.effect && c.done.IsZero() {
			ghosts++
		}
	}
	equal(t, "calls that arrived from the dead", ghosts, 1)
}

// F37: the gateway refuses a question because of a limit, and the line about the refusal has to wait. Before the bot
// sends this line, the person erases the history, and the process dies. The next process does not know of the refusal,
// and must not answer the question.
func TestRegressionRefusedByALimitAndErased(t *testing.T) {
	t.Parallel()
	for _, forgets := range []string{"new", "forget"} {
		for n := range 24 {
			t.Run(fmt.Sprintf("%s, killed after write %d", forgets, n), func(t *testing.T) {
				t.Parallel()
				s := story("edit", talk("a0w0x a0w1x"))
				s.perMinute, s.latency = 1, time.Second
				for i, kind := range []string{"status", "text", forgets} {
					s.says = append(s.says, say{at: time.Duration(i+1) * 3 * time.Second, user: "ann", kind: kind})
				}
				s.says[2].at = s.says[1].at + 100*time.Millisecond
				s.says[3].at = s.says[1].at + 200*time.Millisecond
				s.kills = []kill{{where: afterWrite, n: n, down: 2 * time.Minute}}
				perform(t, s)
			})
		}
	}
}

// F39: the gateway refuses a question because of a limit. The line about the refusal has to wait for another line, and
// the gateway answers the next question meanwhile. A process that does not know of the refusal must not answer the
// first question below the answer to the second.
func TestRegressionRefusedByALimitBeforeTheNextQuestion(t *testing.T) {
	t.Parallel()
	for n := range 24 {
		t.Run(fmt.Sprint("killed after write ", n), func(t *testing.T) {
			t.Parallel()
			s := story("edit", talk("a0w0x a0w1x"))
			s.perMinute, s.latency = 1, time.Second
			for i, sent := range []say{
				{user: "ben", kind: "status"}, {user: "ann", kind: "text"}, {user: "ben", kind: "text"},
			} {
				sent.place, sent.at = 1, 3*time.Second+time.Duration(i)*100*time.Millisecond
				s.says = append(s.says, sent)
			}
			s.kills = []kill{{where: afterWrite, n: n, down: 2 * time.Minute}}
			perform(t, s)
		})
	}
}

// D14: a chat gets a new id during an answer. The platform refuses only this answer, until the gateway gives up for a
// while. The next message, which comes from the new chat, must make the gateway try again.
func TestRegressionUndoneInAChatThatMoved(t *testing.T) {
	t.Parallel()
	s := story("edit-and-find", talk(numbered(30)))
	s.says[0].place = 1
	s.accidents = []accident{{at: 1500 * time.Millisecond, kind: "move", place: 1}}
	s.faults = map[int]fault{3: {kind: isBad, after: time.Hour}}
	s.says = append(s.says, say{at: 2 * time.Hour, place: 1, user: "ann", kind: "help"})
	perform(t, s)
}

// D14: /undo removes an answer that an earlier process left unfinished. The text that people have seen must stay, but
// one of the messages with this text is still missing. The missing message must appear above the answer to the next
// question, even if the platform first refuses the missing message.
func TestRegressionUndoneAfterARestartStaysAboveTheNextAnswer(t *testing.T) {
	t.Parallel()
	for n := range 12 {
		t.Run(fmt.Sprint("killed after write ", n), func(t *testing.T) {
			t.Parallel()
			s := story("stream-with-keys", talk(numbered(30)), talk("a1w0x a1w1x"))
			s.says = append(s.says,
				say{at: 1340 * time.Millisecond, user: "ann", kind: "undo"}, say{at: 2 * time.Second, user: "ann", kind: "text"})
			s.kills = []kill{{where: afterWrite, n: n, down: 3 * time.Second}}
			s.faults = map[int]fault{
				0: {kind: hangBefore, after: time.Minute},
				1: {kind: limited, scope: chat.ScopeChat, named: true, told: true, after: 4 * time.Second},
				2: {kind: refused, after: time.Second}, 3: {kind: refused, after: time.Second},
			}
			perform(t, s)
		})
	}
}

// F37: a process dies while it asks for approval of a tool call. A person sends /stop before the next process shows any
// text of the answer, so only the question is visible. The bot must say that the answer is stopped.
func TestRegressionStoppedWhereOnlyAQuestionStands(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"send-only", "no-edit", "edit", "edit-without-delete"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := story(kind, calling("", "a0w1x", change))
			s.tools, s.approval, s.latency = true, time.Hour, 10*time.Millisecond
			s.kills = []kill{{where: atTime, at: 2 * time.Second, down: 2 * time.Second}}
			s.says = append(s.says, say{at: 3 * time.Second, user: "ann", kind: "stop"})
			if seen := perform(t, s).see(0); !slices.Contains(seen, gateway.DefaultTexts()[gateway.TextStopped]) {
				t.Errorf("the person sees %q", seen)
			}
		})
	}
}

// D1: a process is killed during a create call, so the outcome of the call is unknown. The next process learns that the
// platform refuses the text of the message, and must not send this text again.
func TestRegressionRefusedTextIsNotTriedAgainAfterAKill(t *testing.T) {
	t.Parallel()
	s := story("no-edit-with-keys", talk(numbered(40)))
	s.profile.TextLimit, s.real = 64, 64
	s.faults = map[int]fault{1: {kind: badContent}, 5: {kind: tooLong}}
	s.kills = []kill{{where: beforeCall, n: 0, down: time.Second}, {where: afterAnswer, n: 4, down: time.Second}}
	perform(t, s)
}

// F37: /undo removes an answer that waits for the approval of a tool call, while the platform does not respond. The
// process stops before it has deleted the question. The next process must complete the /undo, and must not run the turn
// again.
func TestRegressionUndoneWhileThePlatformHangsAndStopped(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"undo", "stop", "forget", "new"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			s := story("edit", calling("", "a0w1x", change))
			s.tools, s.approval, s.latency = true, time.Hour, 10*time.Millisecond
			for n := 1; n < 8; n++ {
				s.faults[n] = fault{kind: hangBefore}
			}
			s.says = append(s.says, say{at: 3 * time.Second, user: "ann", kind: command})
			s.kills = []kill{{where: inOrder, at: 4 * time.Second, down: time.Second}}
			w := perform(t, s)
			for _, turn := range w.order {
				if len(turn.runs) > 1 {
					t.Errorf("the model is asked %d times\nwhat happened:\n%s", len(turn.runs), strings.Join(w.story(), "\n"))
				}
			}
		})
	}
}

// D1: the final text is shorter than the preview, so the bot deletes a surplus message. During this call, a person
// stops the answer and the process dies. The next process must not create another message after the final text.
func TestRegressionStoppedWhileSurplusIsDeleted(t *testing.T) {
	t.Parallel()
	a := talk(numbered(40))
	a.final, a.shown = token(0, 0), token(0, 0)
	s := story("edit-with-keys-and-find", a)
	s.profile.TextLimit, s.real = 64, 64
	end := 40*wordTime + 500*time.Millisecond
	s.says = append(s.says, say{at: end, user: "ann", kind: "stop"})
	s.kills = []kill{{where: atTime, at: end + 10*time.Millisecond, down: time.Second}}
	s.faults = map[int]fault{9: {kind: hangAfter}} // call 9 is the second deletion
	w := perform(t, s)
	equal(t, "what the person sees", w.see(0), []string{token(0, 0), "Stopped."})
}

// D1: a process stops gracefully while only a draft is visible. The process sends the draft's text, followed by
// "(stopped)", as a message, and the platform returns no id. If the draft's text is exactly the first part of the
// answer, the next process continues the answer in another message. The word "(stopped)" then stays in the middle of
// the answer, because the bot can't edit a message without an id.
func TestRegressionStopMarkOfAMessageWithoutID(t *testing.T) {
	t.Parallel()
	before, after, _ := strings.Cut(numbered(20), " a0w8x")
	s := story("draft", talk(before+" \n\na0w8x"+after))
	s.profile.TextLimit, s.real = 64, 64
	s.answers[0].deltas[8].after = time.Minute
	s.faults = map[int]fault{2: {kind: nameless}}
	s.kills = []kill{{where: inOrder, at: 5 * time.Second, down: time.Minute}}
	w := perform(t, s)
	if got := w.see(0); len(got) < 2 || got[0] != before+mark || !strings.HasPrefix(got[1], "a0w8x") {
		t.Errorf("people see %q, want %q and the rest of the answer", got, before+mark)
	}
}
