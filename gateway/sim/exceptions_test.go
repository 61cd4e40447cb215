package sim

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"telex/gateway"
)

// exception is a behaviour that the judge accepts, although a person would call it wrong. This file lists each
// exception with the reason why no program could do better. If a better program could avoid a behaviour, the behaviour
// is a bug and must not be listed here.
type exception string

// Exceptions for messages that are visible in addition to a reply.
const (
	leftBehind      exception = "message left in a chat that got a new id"
	withoutID       exception = "message without an id"
	unchangeable    exception = "message that can be neither edited nor deleted"
	questionStays   exception = "question for approval that can't be deleted"
	unknownCreate   exception = "create call of unknown outcome"
	longerBefore    exception = "preview longer than the final, and no deletion"
	deletedBetween  exception = "person deleted a message between others"
	editedAgain     exception = "edited once more after an undone reply continued"
	editedBySeveral exception = "edited once more after a replica took over"
)

// Exceptions for missing or late text.
const (
	sentAnewBelow  exception = "replacement of a message that can't be edited is below the rest"
	refusedContent exception = "platform refuses the content of the final"
	givenUp        exception = "given up after two create calls of unknown outcome"
	crowded        exception = "five fixed lines are being sent in the conversation"
	waitsForNext   exception = "undone until the next message of the chat"
	deadCalls      exception = "more calls in a window in which a process died"
)

// Exceptions for the order of two replies.
const (
	overtakenByNext exception = "overtaken by the next reply"
	orderMoved      exception = "order of replies in a chat that got a new id"
	orderTaken      exception = "order of replies with deleted or replaced messages"
	mixedUp         exception = "search mixed up the messages of two replies"
	tookEffectLate  exception = "order of a stopped reply whose create call took effect after the next reply"
)

// Exceptions for decisions about tool calls, and for the history.
const (
	shownBefore exception = "approved before a new process showed the question again"
	memoryMoved exception = "memory of a chat that got a new id"
)

// exceptions returns all exceptions with their reasons.
func exceptions() map[exception]string {
	return map[exception]string{
		leftBehind:      "The old chat's message ids are not valid in the new chat, so the bot can't change messages in the old chat.",
		withoutID:       "The platform made the message but did not return its id. The bot can't edit, delete or find the message.",
		unchangeable:    "The platform refuses to edit the message, and has no call that deletes messages. The message stays beside its replacement.",
		questionStays:   "A question for approval is a message of its own. The platform can't delete messages, so the question stays. If the platform can edit it, its buttons are removed.",
		unknownCreate:   "D5: the platform does not report whether the create call took effect, and the bot can't search for the message. The bot sends the final once more.",
		longerBefore:    "The previews have more messages than the final, and the platform can't delete messages. The last messages keep their text.",
		deletedBetween:  "A person deleted a message that has other messages below it. No platform can insert a new message between two others.",
		editedAgain:     "D15: edits are recorded after the call. A process that continues a reply does not know whether the last edit took effect. It may repeat the edit.",
		editedBySeveral: "D10: an edit by a paused replica may take effect after the next owner's edit. The next owner can't know this, so it edits once more when the paused replica's call must have ended.",

		sentAnewBelow:  "The platform refuses to edit a message that has other messages below it, and can't delete messages. The replacement is below them.",
		refusedContent: "The platform refuses the text of the final, both with and without markup. The visible text stays, without a cursor.",
		givenUp:        "D5: a create call of unknown outcome is repeated at most once. If both outcomes are unknown, a third call could make a third copy. The bot does not delete the messages that these calls were to replace, because a person may see nothing else.",
		crowded:        "People send commands in one conversation faster than the platform accepts the answers. Without this limit, the number of waiting lines would have no bound.",
		waitsForNext:   "D14: the platform refuses the reply for longer than the bot tries to send a final. The bot tries again at the next message of the chat, or at the next start.",
		deadCalls:      "A killed process can't report how many calls it made. If each new process waited for a whole window first, it would be late at every start.",

		overtakenByNext: "D14: a reply that the platform refuses again and again does not block the next reply. The rest of the refused reply is below the next one.",
		orderMoved:      "Until the process learns that the chat got a new id, the old and the new chat are two conversations. Their replies run at the same time.",
		mixedUp:         "A search compares contents, and on Telegram it tries message ids. If two create calls have unknown outcomes, no process can tell which of them made the message.",
		tookEffectLate:  "D9: the platform adds the message at the end of the chat when the create call takes effect, and people may have read it there. A stopped reply keeps its text.",
		orderTaken:      "A person deleted a message, or the platform refused to edit it. The platform adds the replacement at the end of the chat.",

		shownBefore: "A process can't know whether an earlier process showed the question. People who answer while no process runs have seen the question.",
		memoryMoved: "Two conversations become one when the process learns that the chat got a new id. The bot can't know which of them a command was about.",
	}
}

// except records that the judge accepted behaviour because of an exception.
func (w *world) except(e exception) {
	if exceptions()[e] == "" {
		w.complain("an exception without a reason: %s", e)
	}
	w.counts.add("exception: "+string(e), 1)
}

// TestEachExceptionHasAReason checks that each exception has a reason, that the judge uses it, and that the judge uses
// no exception outside the list.
func TestEachExceptionHasAReason(t *testing.T) {
	t.Parallel()
	constants := regexp.MustCompile(`(?m)^\t(\w+) +exception = "(.*)"$`)
	made := map[string]int{}
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("found no files of the judge: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`w\.except\((\w+)\)`).FindAllStringSubmatch(string(text), -1) {
			made[m[1]]++
		}
	}
	list, err := os.ReadFile("exceptions_test.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := constants.FindAllStringSubmatch(string(list), -1)
	if len(declared) != len(exceptions()) {
		t.Errorf("%d exceptions are declared, but %d have a reason", len(declared), len(exceptions()))
	}
	for _, m := range declared {
		if made[m[1]] == 0 {
			t.Errorf("the judge never uses the exception %s", m[1])
		}
		if len(strings.Fields(exceptions()[exception(m[2])])) < 10 {
			t.Errorf("%s: no reason", m[1])
		}
		delete(made, m[1])
	}
	for name := range made {
		t.Errorf("the judge uses the exception %s, which is not in the list", name)
	}
}

// rareExceptions returns, for each exception that random schedules rarely need, a schedule that needs it.
func rareExceptions() map[exception]schedule {
	crowd := story("edit", talk(token(0, 0)))
	for i := range 8 {
		crowd.says = append(crowd.says, say{at: time.Duration(i+1) * time.Millisecond, user: "ann", kind: "help"})
	}
	crowd.latency = time.Second
	between := story("edit", talk(numbered(30)))
	between.profile.TextLimit, between.real = 60, 60
	between.answers[0].deltas = append(between.answers[0].deltas, delta{kind: "reset", text: "", after: time.Second})
	var rest []string
	for i := range 30 {
		rest = append(rest, token(0, 100+i))
	}
	other := talk(strings.Join(rest, " "))
	between.answers[0].deltas = append(between.answers[0].deltas, other.deltas...)
	between.answers[0].final, between.answers[0].shown = other.final, other.shown
	between.accidents = []accident{{at: 2190 * time.Millisecond, kind: "delete"}}
	again := story("edit", talk(numbered(17)))
	again.profile.TextLimit, again.real = 60, 60
	again.says = append(again.says, say{at: 2 * time.Hour, user: "ann", kind: "help"})
	// Only calls for the second message fail, so the first message can show the final text.
	again.faults = map[int]fault{3: {kind: isBad, after: time.Hour}}
	// In the schedules that the function stopped returns, the create call for the second message of the first answer
	// fails. The failed call takes effect late, or never.
	stopped := func(create fault, says ...time.Duration) schedule {
		s := story("edit-and-probe", talk("a0w0x a0w1x "+strings.Repeat("long", 9)+" a0w2x"))
		s.profile.TextLimit, s.real, s.config.Interval = 40, 40, 200*time.Millisecond
		s.profile.LateFor, s.busy, s.faults = lateFor, gateway.Interrupt, map[int]fault{2: create}
		for i := range s.answers[0].deltas {
			s.answers[0].deltas[i].after = map[int]time.Duration{0: time.Second, 2: time.Second, 3: 10 * time.Second}[i]
		}
		for _, at := range says {
			s.says = append(s.says, say{at: at, user: "ann", kind: "text"})
		}
		return s
	}
	late := stopped(fault{kind: cutLate, after: 8 * time.Second}, 2500*time.Millisecond)
	twins := stopped(fault{kind: cutBefore}, 2500*time.Millisecond, 5*time.Second)
	// The third create call takes effect, but the process dies before it gets the response.
	twins.kills = []kill{{where: afterCall, n: 11, down: 3 * time.Second}}
	return map[exception]schedule{tookEffectLate: late, crowded: crowd, deletedBetween: between, editedAgain: again, mixedUp: twins, editedBySeveral: lateEdit()}
}

func TestRareExceptions(t *testing.T) {
	t.Parallel()
	for e, s := range rareExceptions() {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			if w := perform(t, s); w.counts["exception: "+string(e)] == 0 {
				t.Errorf("the schedule did not need this exception\nwhat happened:\n%s", strings.Join(w.story(), "\n"))
			}
		})
	}
}
