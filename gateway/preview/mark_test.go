package preview

import (
	"testing"
	"time"

	"telex/internal/chat"
)

// stoppable is how replies stream whose end is marked where they are stopped.
func stoppable(via Transport) Config {
	c := streamed()
	c.Transport, c.StopMark = via, "(stopped)"
	return c
}

// stopped is the ending of a reply that was stopped.
func stopped() Ending { return Ending{Keep: true, Stopped: true} }

// The mark is added by the edit that removes the cursor, by the message that a draft becomes, and after the end of a stream.
// The recorded text does not contain it.
func TestStoppedTextIsMarked(t *testing.T) { // D9
	for name, c := range map[string]struct {
		via   Transport
		calls []string
	}{
		"edit":   {Edit, []string{"0s send 1: one two three ▌", "400ms edit 1: one two three\n\n(stopped)"}},
		"draft":  {Draft, []string{"0s draft: one two three ▌", "400ms send 1: one two three\n\n(stopped)"}},
		"native": {Native, []string{"0s start 1: one two three", "400ms stop 1", "400ms edit 1: one two three\n\n(stopped)"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, e := lavish()
				s := beginAt(t, p, e, stoppable(c.via), "key")
				s.says("one two three ", 400*ms)
				s.delivers(stopped(), "one two three\n\n(stopped)")
				equal(t, "calls", s.logOf(everyCall), c.calls)
				if s.out.Shown != "one two three" && s.out.Shown != "one two three " {
					t.Errorf("shown %q, want the text without the mark", s.out.Shown)
				}
			})
		})
	}
}

// A mark that the platform refuses, or for which there is no room, is left out.
func TestMarkIsLeftOut(t *testing.T) {
	for _, kind := range []chat.ErrorKind{chat.TooLong, chat.Rejected} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = nth(map[int]fate{1: fail(kind)})
				s := begin(t, p, stoppable(Edit))
				s.says("one two three", time.Second)
				s.delivers(stopped(), "one two three")
			})
		})
	}
}

// A final that was completely visible when it was stopped is not marked. One of which nothing new was visible is.
func TestStoppedFinalIsMarkedIfItIsIncomplete(t *testing.T) {
	for text, want := range map[string]string{
		"one two three":           "one two three",
		"one two three four five": "one two three\n\n(stopped)",
	} {
		t.Run(text, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.fate = nth(map[int]fate{1: tooMany(10 * time.Second)})
				s := begin(t, p, stoppable(Edit))
				s.says("one two three", time.Second)
				s.slot.Finish(Ending{Text: text})
				s.waits(time.Second)
				s.slot.Cut()
				s.delivers(Ending{Text: text}, want)
			})
		})
	}
}
