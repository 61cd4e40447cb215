package sim

import "testing"

// exception is something that the judge lets pass although a person would call it wrong. All of them stand here, each
// with the reason why no program could do better. One whose reason is ours is a fault to mend, not an exception.
type exception string

// What stands beside a reply.
const (
	leftBehind     exception = "left behind in a chat that moved"
	withoutID      exception = "message without an id"
	unchangeable   exception = "can neither be edited nor deleted"
	unknownCreate  exception = "create of unknown outcome"
	longerBefore   exception = "longer before, and nothing can be deleted"
	sentAnewBelow  exception = "can't be edited, and what is sent anew stands below the rest"
	cutElsewhere   exception = "stopped while the final was cut in other places"
	refusedContent exception = "the platform refuses the content of the final"
	givenUp        exception = "given up after two creates of unknown outcome"
)

// What the order of two replies says nothing about.
const (
	overtakenByNext exception = "overtaken by the next reply"
	overtakenNeeds  exception = "overtaken, and then in need of another message"
	orderMoved      exception = "order of replies in a chat that moved"
	orderTaken      exception = "order of replies of which messages were deleted or replaced"
)

// What people decide, and what is remembered.
const (
	shownBefore  exception = "approved by a word from before a process showed the question anew"
	memoryMoved  exception = "memory of a chat that moved"
	unheardMoved exception = "a decision in a chat that moved"
)

// exceptions are all of them, with their reasons.
func exceptions() map[exception]string {
	return map[exception]string{
		leftBehind:     "no id of the old chat means anything in the new one: what stands there can't be changed by anybody",
		withoutID:      "the platform made the message and did not tell its id: it can be neither edited nor deleted, nor found",
		unchangeable:   "the platform refuses to edit the message and has no deletion: what it says stays beside what replaces it",
		unknownCreate:  "D5: the platform can neither deduplicate, look up nor tell whether the create took effect, so that the final follows once more",
		longerBefore:   "the final is shorter than the previews, and the platform has no deletion: a message that is not needed keeps its text",
		sentAnewBelow:  "as can neither be edited nor deleted, of a message above others: chats have no way to put one in between",
		cutElsewhere:   "what people stop stays as it is: a final that is cut in other places than the previews (a limit that was learned, a construct that closed) was half applied, so that words at a seam stand twice or not yet",
		refusedContent: "the platform refuses the final itself, with and without markup: there is no text that it would take",
		givenUp:        "D5: one create that nobody can learn the outcome of may be repeated once, with the final; what is lost twice is given up and logged",

		overtakenByNext: "D14: a reply that the platform refuses again and again does not block the next one",
		overtakenNeeds:  "a message that turns out not to be editable, below which the next reply stands already, is replaced below it",
		orderMoved:      "the old and the new chat are two conversations until the process learns of the move: their replies run side by side",
		orderTaken:      "a person deleted messages, or the platform refused to edit one: what takes their place stands where chats put it, at the end",

		shownBefore:  "a process can't know whether the one before it had shown a question; people who answer it while nobody is there mean it",
		memoryMoved:  "the two conversations of a moving chat are one afterwards, and which of them people mean by what they say in between is not known",
		unheardMoved: "as memory of a chat that moved: what people say in the old chat about a question in the new one",
	}
}

// except counts that an exception was made.
func (w *world) except(e exception) {
	if exceptions()[e] == "" {
		w.complain("an exception without a reason: %s", e)
	}
	w.counts.add("exception: "+string(e), 1)
}

func TestEachExceptionHasAReason(t *testing.T) {
	t.Parallel()
	for e, reason := range exceptions() {
		if len(reason) < 20 {
			t.Errorf("%s: no reason", e)
		}
	}
}
