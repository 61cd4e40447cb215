package preview

import (
	"testing"
	"time"

	"telex/internal/chat"
)

// stoppable returns a configuration with which the bot shows "(stopped)" below stopped replies.
func stoppable(via Transport) Config {
	c := streamed()
	c.Transport, c.StopMark = via, "(stopped)"
	return c
}

// stopped returns the ending of a stopped reply.
func stopped() Ending { return Ending{Keep: true, Stopped: true} }

// The bot adds the stop mark "(stopped)" with the edit that removes the cursor, with the message that replaces a draft,
// or after the end of a stream. The text in the records does not contain the stop mark.
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
				p, e := fullPlatform()
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

// The bot leaves out the stop mark "(stopped)" if the platform refuses it or if there is no room for it.
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

// If somebody stops a reply whose whole final text is visible, the reply gets no stop mark. If only the text of the
// last preview is visible, the reply gets a stop mark.
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
