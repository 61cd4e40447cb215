package preview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
)

// The final text is split at other places than the previews. Somebody stops the reply after the edit of its first
// message. Between the final text and the previews, no word may be missing or appear twice. No message may follow a
// complete final text.
func TestStoppedAtASeam(t *testing.T) {
	const asks = "May I do this for you now?"
	for name, c := range map[string]struct {
		limit int
		asks  string   // a question that is asked in its own message, after each text except the last
		texts []string // each of these texts is shown in its own message
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
						s.slot.SetStatus(Status{})
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

// Somebody stops a reply after the edit of its first message. After the stop, the rest of the text needs one message
// fewer than before, and the first of the remaining messages can't be edited. The bot must send new messages in place
// of all remaining messages, and delete the old ones.
func TestStoppedAtASeamThatCannotBeEdited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit, p.latency = 20, time.Second
		s := begin(t, p, streamed())
		for i, text := range []string{"one two three", "fourteen", " five"} {
			if i > 0 {
				s.asks(fmt.Sprint("yes:", i), "May I do it all?", 5*time.Second)
				s.slot.SetStatus(Status{})
			}
			s.says(text, 5*time.Second)
		}
		equal(t, "the previews", s.sees(), []string{"one two three", "fourteen", "five ▌"})
		p.fate = func(c *call) fate {
			if c.op == chat.OpEdit && c.id == "2" {
				return fail(chat.Frozen)
			}
			return fate{}
		}
		s.slot.Finish(Ending{Text: "one two threefourteen five"})
		s.waits(700 * time.Millisecond) // the edit of the first message is on its way
		s.slot.Cut()
		s.waits(time.Minute)
		equal(t, "stands", s.sees(), []string{"one two", "threefourteen five"})
	})
}

// Somebody stops a reply when its first message shows the complete final text. After that, a search finds a second
// message, made by a create call that got no response in the earlier process. The bot must delete the second message.
func TestStoppedBeforeAMessageIsFound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.profile.TextLimit, p.latency = 40, 200*time.Millisecond
		e.Finder = channel{p}
		p.fate = nth(map[int]fate{1: {hang: true, applied: true}})
		l := live(t, p, e, streamed())
		l.says(strings.TrimSpace(strings.Repeat("some words of a long answer ", 2)), 5*time.Second)
		l.again()
		p.fate = nil
		l.slot.Reset()
		l.slot.Finish(Ending{Text: "short"})
		time.Sleep(100 * time.Millisecond) // the edit of the first message is on its way
		l.slot.Cut()
		<-l.ended
		equal(t, "person sees", p.sees(), []string{"short"})
	})
}

// An earlier process showed another answer, which needed more messages than the new answer. Somebody stops the new
// answer after the edit of the first message. People must see the beginning of the final text, and nothing of the other
// answer.
func TestStoppedAmongMessagesOfAnotherAnswer(t *testing.T) {
	const other, final = "one two three four five six seven eight nine", "ten eleven twelve thirteen fourteen fifteen"
	for name, c := range map[string]struct {
		killed  bool // another process dies before the reply is stopped
		unknown bool // the create call for the last message gets no response
		ending  Ending
	}{
		"in the same process":                 {},
		"in the next":                         {killed: true, ending: Ending{Text: final}},
		"before the next":                     {killed: true, ending: Ending{Text: final, Keep: true}},
		"where the last message is not known": {unknown: true},
		"not known, and stopped in the next":  {unknown: true, killed: true, ending: Ending{Text: final}},
		"not known, stopped before the next":  {unknown: true, killed: true, ending: Ending{Text: final, Keep: true}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit, p.latency = 20, time.Second
				if c.unknown {
					p.profile.KeyFor = time.Hour
					p.fate = nth(map[int]fate{2: {hang: true, applied: true}})
				}
				l := live(t, p, p.endpoint(), streamed())
				l.says(other, 8*time.Second)
				equal(t, "the earlier process shows", p.sees(), []string{"one two three four", "five six seven", "eight nine ▌"})
				p.fate = nil
				l.again()
				l.says(final, 0)
				l.slot.Finish(Ending{Text: final})
				l.waits(200 * time.Millisecond) // the edit of the first message is on its way
				if c.killed {
					l.again()
					l.slot.Finish(c.ending)
				}
				l.slot.Cut()
				l.waits(time.Minute)
				if got := strings.Join(p.sees(), " "); !strings.HasPrefix(final, got) || len(p.sees()) < 2 {
					t.Errorf("a person sees %q", p.sees())
				}
				for _, r := range l.notes.parts {
					if r.Index > 0 && r.State == chat.PartStands && !strings.Contains(final, cmp.Or(r.Source, "nothing")) {
						t.Errorf("the record of message %d has the Markdown %q", r.Index, r.Source)
					}
				}
			})
		})
	}
}

// The final text is split at other places than the previews. The process dies after the edit of the first message, and
// somebody stops the reply in the next process. The text that followed the edited message must stay visible.
func TestStoppedWhereAnEarlierProcessMadeASeam(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.profile.TextLimit = 20
		l := live(t, p, p.endpoint(), streamed())
		l.says("one two three", 5*time.Second)
		l.asks("yes:1", "May I do this?", 5*time.Second) // the question is shown in its own message
		l.slot.SetStatus(Status{})
		l.says("fourteen five", 5*time.Second)
		p.latency = time.Second
		final := Ending{Text: "one two threefourteen five six seven eight"}
		l.slot.Finish(final)
		l.waits(1200 * time.Millisecond) // the edit of the second message is on its way
		l.again()
		l.slot.Finish(final)
		l.slot.Cut()
		l.waits(time.Minute)
		if got := strings.Join(p.sees(), " "); !strings.HasPrefix(final.Text, got) || !strings.Contains(got, "fourteen") {
			t.Errorf("a person sees %q", p.sees())
		}
	})
}

// Somebody stops a reply after the edit of its first message. The second message is a stream. In the final text, the
// first message has no room for some of the words that it showed before. The visible words must be the beginning of the
// text, without a gap.
func TestStoppedAtASeamBeforeAStream(t *testing.T) {
	const text = "one two three\n---\nfour fivefivefivefivefivefivefive six seven eight"
	for limit := 32; limit <= 42; limit += 2 {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, e := fullPlatform()
				p.profile.TextLimit, p.latency = limit, time.Second
				c := streamed()
				c.Transport = Native
				s := beginAt(t, p, e, c, "key")
				s.says(text, 10*time.Second)
				// If split like the stream, this final would show another text.
				s.slot.Finish(Ending{Text: text + " **nine\n===\n"})
				s.waits(700 * time.Millisecond) // the edit of the first message is on its way
				s.slot.Cut()
				s.waits(time.Minute)
				got := strings.Fields(strings.Join(s.sees(), " "))
				if want := strings.Fields(strings.Replace(text, "---", "", 1)); len(got) > len(want) || !slices.Equal(got, want[:len(got)]) || len(got) < 7 {
					t.Errorf("a person sees %q", s.sees())
				}
			})
		})
	}
}
