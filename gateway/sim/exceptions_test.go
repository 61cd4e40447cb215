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
	leftBehind      exception = "left behind in a chat that moved"
	withoutID       exception = "message without an id"
	unchangeable    exception = "can neither be edited nor deleted"
	questionStays   exception = "a question that can't be deleted"
	unknownCreate   exception = "create of unknown outcome"
	longerBefore    exception = "longer before, and nothing can be deleted"
	deletedBetween  exception = "a message between others was deleted by the person"
	editedAgain     exception = "edited once more after it was given up for now"
	editedBySeveral exception = "edited once more after a replica took over"
)

// Exceptions for missing or late text.
const (
	sentAnewBelow  exception = "can't be edited, and what is sent anew stands below the rest"
	refusedContent exception = "the platform refuses the content of the final"
	givenUp        exception = "given up after two creates of unknown outcome"
	crowded        exception = "five fixed lines are under way in the conversation"
	waitsForNext   exception = "waits for the next message of the chat"
	deadCalls      exception = "more calls in a window, because a process died in it"
)

// Exceptions for the order of two replies.
const (
	overtakenByNext exception = "overtaken by the next reply"
	orderMoved      exception = "order of replies in a chat that moved"
	orderTaken      exception = "order of replies of which messages were deleted or replaced"
	mixedUp         exception = "a search mixed up the messages of two replies"
	tookEffectLate  exception = "order of a stopped reply whose create took effect after the next reply"
)

// Exceptions for decisions about tool calls, and for the history.
const (
	shownBefore exception = "approved by a word from before a process showed the question anew"
	memoryMoved exception = "memory of a chat that moved"
)

// exceptions returns all exceptions with their reasons.
func exceptions() map[exception]string {
	return map[exception]string{
		leftBehind:      "A message id of the old chat means nothing in the new chat. Nobody can change what stands in the old one.",
		withoutID:       "The platform made the message and did not tell its id. The bot can't edit, delete or find it.",
		unchangeable:    "The platform refuses to edit the message, and it has no deletion. The message stays beside the one that replaces it.",
		questionStays:   "A question is a message of its own. The platform has no deletion, so the question stays, without its buttons where it can be edited.",
		unknownCreate:   "D5: the platform does not tell whether the create took effect, and the bot can't look. The final follows once more.",
		longerBefore:    "The final has fewer messages than the previews, and the platform has no deletion. The last messages keep their text.",
		deletedBetween:  "A person deleted a message that has others below it. No platform puts a new message between two others.",
		editedAgain:     "D15: edits are recorded after the call. A reply that is taken up again does not know whether its last edit took effect, and an edit may be repeated.",
		editedBySeveral: "D10: an edit of a replica that was paused may take effect after that of the next owner, who can't know whether there is one, and edits once more when it must be over.",

		sentAnewBelow:  "The platform refuses to edit a message that has others below it, and it has no deletion. The new message stands below them.",
		refusedContent: "The platform refuses the text of the final, with and without markup. What stands stays, without a cursor.",
		givenUp:        "D5: a create of unknown outcome is repeated once at most. When both outcomes are unknown, a third create could be the third copy; and what they were to replace is not deleted, since it may be all that a person sees.",
		crowded:        "One conversation sends commands faster than the platform takes the answers. More lines would wait without bound.",
		waitsForNext:   "D14: the platform refuses the reply for longer than a final is tried. The next message of the chat is the sign to try again, or the next start.",
		deadCalls:      "A killed process can't tell the next one how many calls it made. A process that waited for a whole window at each start would be late each time.",

		overtakenByNext: "D14: a reply that the platform refuses again and again does not block the next one. What it still needs stands below that.",
		orderMoved:      "The old and the new chat are two conversations until the process learns of the move. Their replies run at the same time.",
		mixedUp:         "A search goes by the content, and on Telegram it tries ids. Of two creates with unknown outcomes, no process can tell which one made the message.",
		tookEffectLate:  "D9: the platform makes the message at the end when its create takes effect, and people may have read it there. A stopped reply keeps its text.",
		orderTaken:      "A person deleted a message, or the platform refused to edit it. The platform puts the message that replaces it at the end.",

		shownBefore: "A process can't know whether the one before it had shown a question. People who answer while no process runs have seen it.",
		memoryMoved: "Two conversations become one when the process learns of the move. Which of them a command was about is not known.",
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
		t.Fatalf("no files of the judge: %v", err)
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
		t.Errorf("%d exceptions are declared, %d have a reason", len(declared), len(exceptions()))
	}
	for _, m := range declared {
		if made[m[1]] == 0 {
			t.Errorf("the judge never makes the exception %s", m[1])
		}
		if len(strings.Fields(exceptions()[exception(m[2])])) < 10 {
			t.Errorf("%s: no reason", m[1])
		}
		delete(made, m[1])
	}
	for name := range made {
		t.Errorf("%s is made, and is not in the list", name)
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
				t.Errorf("never met\nwhat happened:\n%s", strings.Join(w.story(), "\n"))
			}
		})
	}
}
