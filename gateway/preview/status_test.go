package preview

import (
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
)

// working returns a status with tools that run from now on.
func working(lines ...string) Status { return Status{Lines: lines, Since: time.Now()} }

func withProgress() Config {
	c := streamed()
	c.Progress = true
	return c
}

func TestStatusStandsBelowTheTextUntilTheFinal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		s := begin(t, p, withProgress())
		s.says("one two three", 1200*ms)
		s.slot.SetStatus(working("⚙ Reading example.org"))
		s.waits(1200 * ms)
		s.slot.SetStatus(working("⚙ Reading example.org", "⚙ time"))
		s.waits(1200 * ms)
		s.slot.SetStatus(Status{})
		s.says(" four", 1200*ms)
		s.delivers(Ending{Text: "one two three four"}, "one two three four")
		equal(t, "calls", s.log(), []string{
			"0s send 1: one two three ▌", "1.2s edit 1: one two three\n\n⚙ Reading example.org ▌",
			"2.4s edit 1: one two three\n\n⚙ Reading example.org\n⚙ time ▌", "3.6s edit 1: one two three four ▌",
			"4.8s edit 1: one two three four",
		})
	})
}

// Without text, a status creates a message only after a tool has run for three seconds.
func TestStatusAloneOpensAMessageLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		s := begin(t, p, withProgress())
		s.slot.SetStatus(working("⚙ short"))
		s.waits(2 * time.Second)
		s.slot.SetStatus(Status{})
		s.waits(5 * time.Second)
		if n := len(s.sees()); n != 0 {
			t.Errorf("%d messages", n)
		}
		s.slot.SetStatus(working("⚙ long"))
		s.waits(4 * time.Second)
		equal(t, "seen", s.sees(), []string{"⚙ long ▌"})
		s.slot.SetStatus(Status{})
		s.waits(2 * time.Second)
		equal(t, "seen", s.sees(), []string{" ▌"})
		s.delivers(Ending{Text: "done"}, "done")
	})
}

func TestStatusIsNotShownIfSwitchedOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		s := begin(t, p, streamed())
		s.slot.SetStatus(working("⚙ long"))
		s.waits(10 * time.Second)
		s.says("one two three", 1200*ms)
		s.delivers(Ending{Text: "one two three"}, "one two three")
		equal(t, "calls", s.log(), []string{"10s send 1: one two three ▌", "11.2s edit 1: one two three"})
	})
}

// A question is shown with the next edit, and the buttons of the question replace the stop button.
func TestQuestionReplacesTheStopButton(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		c := streamed()
		c.Button, c.ButtonAlways = &chat.Action{ID: "stop:1", Label: "Stop"}, true
		s := begin(t, p, c)
		s.says("one two three", 300*ms)
		ask := working("Turn the light on?")
		ask.Urgent, ask.Actions = true, []chat.Action{{ID: "approve:1", Label: "Yes"}}
		s.slot.SetStatus(ask)
		s.waits(10 * time.Minute)
		equal(t, "calls", s.log(), []string{"0s send 1: one two three ▌", "300ms edit 1: one two three\n\nTurn the light on?"})
		last := p.calls[len(p.calls)-1].m
		if len(last.Actions) != 1 || last.Actions[0].ID != "approve:1" || last.Plain != last.Text {
			t.Errorf("got %+v", last)
		}
		s.slot.SetStatus(Status{})
		s.delivers(Ending{Text: "one two three four"}, "one two three four")
	})
}

// Lines can't be removed from a stream. When a question is asked, the bot therefore stops the stream and edits its
// message.
func TestQuestionEndsAStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		s := beginVia(t, p, e, Native)
		s.says("one two three ", 1200*ms)
		ask := working("Turn the light on?")
		ask.Urgent = true
		s.slot.SetStatus(ask)
		s.waits(2 * time.Second)
		s.slot.SetStatus(Status{})
		s.says("four ", 2*time.Second)
		s.delivers(Ending{Text: "one two three four five"}, "one two three four five")
		if got := s.logOf(everyCall); got[1] != "1.2s stop 1" || !strings.Contains(got[2], "Turn the light on?") {
			t.Errorf("calls: %q", got)
		}
	})
}

// If the text leaves no room, status lines are omitted, but a question is always shown.
func TestStatusWithoutRoom(t *testing.T) {
	for name, urgent := range map[string]bool{"progress": false, "a question": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit = 62
				s := begin(t, p, withProgress())
				text := strings.TrimSpace(strings.Repeat("word ", 11))
				s.says(text, 1200*ms)
				status := working("⚙ Reading example.org")
				status.Urgent = urgent
				s.slot.SetStatus(status)
				s.waits(4 * time.Second)
				all := strings.Join(s.sees(), "|")
				if strings.Contains(all, "Reading") != urgent {
					t.Errorf("urgent %t: a person sees %q", urgent, all)
				}
				s.slot.SetStatus(Status{})
				if o := s.ends(Ending{Text: text}); !o.Delivered || strings.Join(s.sees(), " ") != text {
					t.Errorf("urgent %t: a person sees %q", urgent, s.sees())
				}
			})
		})
	}
}

// The visible text stays after an interruption, without the status lines (D9).
func TestInterruptedAtAStatus(t *testing.T) {
	for text, want := range map[string][]string{"": nil, "one two three": {"one two three"}} {
		t.Run(text, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				s := begin(t, p, withProgress())
				s.slot.Append(text, 10)
				s.slot.SetStatus(working("⚙ long"))
				s.waits(10 * time.Second)
				s.delivers(Ending{Keep: true}, want...)
				if n := len(s.out.Refs); n != len(want) {
					t.Errorf("%d messages stand, want %d", n, len(want))
				}
			})
		})
	}
}
