package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"telex/agent"
	"telex/gateway"
)

// In the schedules of this file, the gateway behaves correctly, but the judge once reported a violation by mistake.

// D14: the bot must search for the message of an answer, but can't while another search in the same chat hangs. While
// the bot can't search for the message, it may show the next answer first.
func TestFairSearchThatHasToWait(t *testing.T) {
	t.Parallel()
	s := probed(talk("a0w0x a0w1x"), talk("a1w0x a1w1x"))
	s.busy, s.config.MinTokens = gateway.Queue, 10
	s.says = []say{{user: "ann", kind: "help"}, {at: 20 * time.Millisecond, user: "ann", kind: "text"}, {at: 3 * time.Second, user: "ann", kind: "text"}}
	s.faults = map[int]fault{0: {kind: cutBefore}, 1: {kind: cutAfter}, 2: {kind: hangBefore, after: time.Minute}}
	w := perform(t, s)
	if w.counts["exception: "+string(overtakenByNext)] == 0 {
		t.Errorf("it was not overtaken: %q", w.see(0))
	}
}

// D14: the platform refuses an answer for a moment, and the conversation continues with the next answer. When the
// platform accepts the first answer, its text is too long for one message. The bot sends the next answer at the same
// moment, so the second message of the first answer appears below the next answer.
func TestFairTooLongBehindTrouble(t *testing.T) {
	t.Parallel()
	s := story("edit-with-keys", talk(numbered(8)), talk("a1w0x a1w1x"))
	s.profile.TextLimit, s.real, s.hidden, s.busy = 80, 40, true, gateway.Queue
	s.kills = []kill{{where: afterAnswer, n: 0, down: 30 * time.Millisecond}}
	s.faults = each(refused, 1, 2, 3)
	s.says = append(s.says, say{at: 500 * time.Millisecond, user: "ann", kind: "text"})
	perform(t, s)
}

// D6: a person deletes a message of an answer. An error line below the answer is so long that it needs the deleted
// message and the next one. People see only that piece of the line which is in the next message.
func TestFairLineAcrossADeletedMessage(t *testing.T) {
	at(t, 0, 3*time.Second, 100*time.Millisecond, func(t *testing.T, when time.Duration) {
		s := story("edit", talk(numbered(30)), failing(talk("a1w0x a1w1x")))
		s.fickle = true
		s.profile.TextLimit, s.real = 40, 40
		s.kills = []kill{{where: atTime, at: 2900 * time.Millisecond, down: time.Second}}
		s.accidents = []accident{{at: when, kind: "delete"}}
		perform(t, s)
	})
}

// A tool call that only reads fails at the same moment at which its turn is interrupted, and then the process dies. The
// next process makes the call again, which is harmless.
func TestFairCallThatFailsAsItsTurnIsInterrupted(t *testing.T) {
	t.Parallel()
	for n := range 40 { // repeated, since either event may come first
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := story("edit", calling("a0w0x", "a0w1x", look))
			s.tools, s.latency, s.approval, s.config.MinTokens = true, 300*time.Millisecond, time.Hour, 10
			call := &s.answers[0].deltas[0].calls[0]
			call.takes, call.fails = wordTime, true
			s.says = append(s.says, say{at: 2 * wordTime, user: "ann", kind: "text"})
			s.kills = []kill{{where: atTime, at: 250 * time.Millisecond, down: time.Second}}
			perform(t, s)
		})
	}
}

// A person answers a question for approval with "yes" at the moment at which the question's time limit ends. The
// person's "yes" may come in time or too late.
func TestFairYesInTheLastMoment(t *testing.T) {
	t.Parallel()
	for n := range 300 { // repeated, because the race is rare
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := story("send-only", calling("a0w0x", "a0w1x", change, change))
			s.tools, s.latency, s.approval, s.busy = true, time.Millisecond, 2*time.Second, gateway.Queue
			s.says = append(s.says, say{at: wordTime + s.approval, user: "ann", kind: "yes", decides: agent.Approved + 1})
			perform(t, s)
		})
	}
}

// The platform can't delete messages, so a surplus message of the preview stays. A new message replaces a message that
// can't be edited, and repeats words of the surplus message.
func TestFairWordsOfALongerPreview(t *testing.T) {
	t.Parallel()
	all := strings.Fields(numbered(16))
	s := story("edit-without-delete", calling(strings.Join(all[:5], " "), strings.Join(all[5:], " "), change))
	s.tools, s.approval, s.goesOn = true, time.Hour, doApprove
	s.profile.TextLimit, s.real = 60, 60
	s.answers[0].deltas[15].after = 3 * time.Second
	s.faults = each(isFrozen, 8) // call 8 is the second edit for the final text
	w := perform(t, s)
	if w.counts["exception: "+string(sentAnewBelow)] == 0 {
		t.Errorf("every message could be edited\nwhat happened:\n%s", strings.Join(w.story(), "\n"))
	}
}

// When a process becomes the receiver, the platform delivers some messages again, also those that the gateway ignored
// before. A client may have split a message into pieces. If an ignored message arrives again after the first piece, the
// gateway takes the ignored message for the next piece.
func TestFairIgnoredUntilAPieceCame(t *testing.T) {
	t.Parallel()
	s := story("edit", talk("a0w0x a0w1x"))
	s.repeats = 2
	s.accidents = []accident{{kind: "full", lasts: 500 * time.Millisecond}}
	s.kills = []kill{{where: afterWrite, n: 1, down: 100 * time.Millisecond}}
	s.says = []say{
		{user: "ben", kind: "text", place: thread, unnamed: true, at: time.Millisecond},
		{user: "ben", kind: "text", place: thread, more: true, at: 100 * time.Millisecond},
		{user: "ben", kind: "text", place: thread, at: 101 * time.Millisecond},
	}
	if w := perform(t, s); w.messages[0].accepted.IsZero() {
		t.Error("it was ignored")
	}
}
