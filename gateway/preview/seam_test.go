package preview

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The final is cut in other places than the previews were, and is stopped behind the edit of its first message: no word stands twice
// at the seam, none is missing there, and nothing stands below a final that is whole.
func TestStoppedAtASeam(t *testing.T) {
	const asks = "May I do this for you now?"
	for name, c := range map[string]struct {
		limit int
		asks  string   // in a message of its own, behind each text but the last
		texts []string // in a message each
		final string
		want  []string
	}{
		"the rest is in the first message": {40, asks, []string{"one two three", " four five"}, "one two three four five", []string{"one two three four five"}},
		"some of it is in the first": {
			40, asks, []string{"one two three", " four five"}, "one two three four five six seven eight nine", []string{"one two three four five six seven"},
		},
		"two messages are in the first":    {40, "May I do this for you, I wonder now?", []string{"one", " two", " three"}, "one two three four", []string{"one two three four"}},
		"the first message loses a word":   {20, "May I do this?", []string{"one two three", "fourteen five"}, "one two threefourteen five", []string{"one two", "threefourteen five"}},
		"the rest takes one message more":  {20, "May I do it all?", []string{"one two three", "fourteen fifteen"}, "one two threefourteen fifteen", []string{"one two", "threefourteen", "fifteen"}},
		"the final is shorter than before": {20, asks, []string{"one two three four", " five six"}, "one", []string{"one"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit, p.latency = c.limit, time.Second
				s := begin(t, p, streamed())
				for i, text := range c.texts {
					if i > 0 {
						s.asks(fmt.Sprint("yes:", i), c.asks, 5*time.Second)
						s.slot.Tell(Status{})
					}
					s.says(text, 5*time.Second)
				}
				if n := len(s.sees()); n != len(c.texts) {
					t.Fatalf("a person sees %q", s.sees())
				}
				s.slot.Finish(Ending{Text: c.final})
				s.waits(700 * time.Millisecond) // the edit of the first message is on its way
				s.slot.Cut()
				s.waits(time.Minute)
				equal(t, "stands", s.sees(), c.want)
			})
		})
	}
}

// The whole final stands in the first message when it is stopped, and a message of the process before, of which nobody knew, is found
// only then: it goes.
func TestStoppedBeforeAMessageIsFound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := lavish()
		p.profile.TextLimit, p.latency = 40, 200*time.Millisecond
		e.Finder = channel{p}
		p.fate = nth(map[int]fate{1: {hang: true, applied: true}})
		l := live(t, p, e, streamed())
		l.says(strings.TrimSpace(strings.Repeat("some words of a long answer ", 2)), 5*time.Second)
		l.again()
		p.fate = nil
		l.slot.Reset()
		l.slot.Finish(Ending{Text: "short"})
		time.Sleep(100 * time.Millisecond) // the first message is on its way to the final
		l.slot.Cut()
		<-l.ended
		equal(t, "person sees", p.sees(), []string{"short"})
	})
}
