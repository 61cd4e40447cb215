package preview

import (
	"slices"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
	"telex/platforms/discord"
	"telex/platforms/telegram"
)

// thinking returns a status of a model that thinks from now on.
func thinking(thought string) Status { return Status{Thought: thought, ThoughtSince: time.Now()} }

// When the model has thought for a while, a message with the thought is created. The thought appears above the text and
// disappears when the model has stopped thinking.
func TestThoughtStandsAboveTheText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		s := begin(t, p, withProgress())
		s.slot.SetStatus(thinking("Let me see."))
		s.waits(4 * time.Second)
		s.says("one two three", 2*time.Second)
		both := working("⚙ time")
		both.Thought = "And so?"
		s.slot.SetStatus(both)
		s.waits(2 * time.Second)
		s.slot.SetStatus(Status{})
		s.waits(2 * time.Second)
		s.delivers(Ending{Text: "one two three"}, "one two three")
		equal(t, "calls", s.log(), []string{
			"3s send 1: 💭 Let me see. ▌", "4s edit 1: 💭 Let me see.\n\none two three ▌",
			"6s edit 1: 💭 And so?\n\none two three\n\n⚙ time ▌", "8s edit 1: one two three ▌", "10s edit 1: one two three",
		})
	})
}

// If the model thinks only briefly, the bot creates no message to show the thought. Without streaming, no thought is
// shown.
func TestThoughtThatIsNotShown(t *testing.T) {
	for name, c := range map[string]Config{"short": streamed(), "not streaming": {}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				s := begin(t, p, c)
				s.slot.SetStatus(thinking("Let me see."))
				if s.waits(2 * time.Second); !c.Enabled {
					s.waits(10 * time.Second)
				}
				s.slot.SetStatus(Status{})
				s.waits(5 * time.Second)
				equal(t, "seen", s.sees(), nil)
				s.delivers(Ending{Text: "final"}, "final")
			})
		})
	}
}

// Every dialect shows a thought as a quote. In the text below the thought, the offsets of all formats must be adjusted.
func TestThoughtInDialects(t *testing.T) {
	for _, c := range []struct {
		name    string
		dialect markup.Dialect
		text    string
		spans   []chat.Span
	}{
		{"discord", discord.Dialect{}, "> 💭 A \\*star\\*.\n\n**bold** word\n\n⚙ \\*x\\* ▌", nil},
		{"telegram", telegram.Dialect{}, "💭 A *star*.\n\nbold word\n\n⚙ *x* ▌", []chat.Span{
			{Kind: "blockquote", Offset: 0, Length: 12}, {Kind: "bold", Offset: 14, Length: 4},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.dialect = c.dialect
				s := begin(t, p, withProgress())
				both := working("⚙ *x*")
				both.Thought = "A *star*."
				s.slot.SetStatus(both)
				s.says("**bold** word and", time.Second)
				s.slot.SetStatus(both)
				got := p.calls[len(p.calls)-1].m
				got.Text = strings.Replace(got.Text, " and", "", 1)
				if got.Text != c.text || !slices.Equal(got.Spans, c.spans) {
					t.Errorf("got %q, %+v\nwant %q, %+v", got.Text, got.Spans, c.text, c.spans)
				}
				if want := "💭 A *star*.\n\nbold word and\n\n⚙ *x* ▌"; got.Plain != want || got.Source != "**bold** word and" {
					t.Errorf("got plain %q, source %q", got.Plain, got.Source)
				}
				s.ends(Ending{Text: "**bold** word and"})
			})
		})
	}
}

// If a message has no room for the thought, only the text or the question is shown. Streams, and all messages of a
// reply except the first, contain no thought.
func TestThoughtGivesWay(t *testing.T) {
	t.Run("to the text", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := newPerson()
			p.profile.TextLimit = 62
			s := begin(t, p, streamed())
			s.slot.SetStatus(thinking("Let me see."))
			s.says(strings.TrimSpace(strings.Repeat("word ", 11)), 4*time.Second)
			equal(t, "seen", s.sees(), []string{strings.Repeat("word ", 11) + "▌"})
			s.says(strings.Repeat(" more", 6), 4*time.Second)
			if all := s.sees(); len(all) != 2 || strings.Contains(strings.Join(all, ""), "💭") {
				t.Errorf("a person sees %q", all)
			}
			s.ends(Ending{Keep: true})
		})
	})
	t.Run("to a question", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := newPerson()
			p.profile.TextLimit = 40
			s := begin(t, p, streamed())
			ask := question("yes:1", "Really?")
			ask.Thought = "Let me see what he says."
			s.says("one two three", 0)
			s.slot.SetStatus(ask)
			s.waits(4 * time.Second)
			equal(t, "seen", s.sees(), []string{"one two three\n\nReally?"})
			s.ends(Ending{Keep: true})
		})
	})
	t.Run("to a stream", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p, e := fullPlatform()
			s := beginVia(t, p, e, Native)
			s.slot.SetStatus(thinking("Let me see."))
			s.waits(5 * time.Second)
			s.says("one two three ", 4*time.Second)
			s.delivers(Ending{Text: "one two three"}, "one two three")
			if all := strings.Join(s.logOf(everyCall), "|"); strings.Contains(all, "💭") {
				t.Errorf("calls: %s", all)
			}
		})
	})
}

// The thought of an earlier process does not count as text and is removed.
func TestThoughtOfAnEarlierProcess(t *testing.T) {
	for text, want := range map[string][]string{"": nil, "one two three": {"one two three"}} {
		t.Run(text, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				s := live(t, p, p.endpoint(), streamed())
				s.slot.Append(text, 5)
				s.slot.SetStatus(thinking("Let me see."))
				s.waits(5 * time.Second)
				if all := s.sees(); len(all) != 1 || !strings.HasPrefix(all[0], "💭 Let me see.") {
					t.Errorf("a person sees %q", all)
				}
				for _, r := range s.notes.parts {
					if strings.Contains(r.Text+r.Plain+r.Source, "see") || !r.Cursor {
						t.Errorf("the record is %+v", r)
					}
				}
				s.again()
				s.delivers(Ending{Keep: true}, want...)
			})
		})
	}
}
