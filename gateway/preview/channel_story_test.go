package preview

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
)

// beginVia begins a reply with the given transport.
func beginVia(t *testing.T, p *person, e Endpoint, via Transport) *story {
	t.Helper()
	c := streamed()
	c.Transport = via
	return beginAt(t, p, e, c, "key")
}

// bothWays runs a test twice: with applied set to false, and then to true. In most tests, one call gets no response,
// and applied says whether this call takes effect.
func bothWays(t *testing.T, f func(t *testing.T, applied bool)) {
	t.Helper()
	for _, applied := range []bool{false, true} {
		t.Run(fmt.Sprintf("%t", applied), func(t *testing.T) {
			bubble(t, func(t *testing.T) { f(t, applied) })
		})
	}
}

const everyCall = chat.OpAll &^ chat.OpTyping

func TestDraftIsSentInTheEnd(t *testing.T) { // D2
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		s := beginVia(t, p, e, Draft)
		s.says("one two three", 1200*ms)
		s.says(" four", 1200*ms)
		equal(t, "stands", s.sees(), nil)
		s.delivers(Ending{Text: "one two three four"}, "one two three four")
		equal(t, "calls", s.logOf(everyCall), []string{
			"0s draft: one two three ▌", "1.2s draft: one two three four ▌", "2.4s send 1: one two three four",
		})
	})
}

// If a stop button is configured, each draft has this button. A message has the stop button only where commands can't
// be typed (see Config.Button).
func TestDraftHasTheStopButton(t *testing.T) {
	bubble(t, func(t *testing.T) {
		stop := chat.Action{ID: "stop:1", Label: "Stop"}
		for _, cursor := range []string{" ▌", ""} {
			p, e := fullPlatform()
			p.cursor = cursor
			c := streamed()
			c.Transport, c.Button, c.Cursor = Draft, &stop, cursor
			s := beginAt(t, p, e, c, "key")
			s.says("one two three", 80*time.Second)
			if len(s.drafts) < 2 {
				t.Fatalf("%d drafts, want a renewed one", len(s.drafts))
			}
			for _, d := range s.drafts {
				if !slices.Equal(d.Actions, []chat.Action{stop}) {
					t.Errorf("cursor %q: the draft's buttons are %+v", cursor, d.Actions)
				}
			}
			s.slot.Finish(Ending{Text: "one two three"})
			<-s.ended
			for _, m := range s.messages {
				if m.now().Actions != nil {
					t.Errorf("cursor %q: the message's buttons are %+v", cursor, m.now().Actions)
				}
			}
		}
		p, e := fullPlatform()
		p.fate = func(c *call) fate {
			if c.op == chat.OpDraft {
				return fail(chat.Rejected)
			}
			return fate{}
		}
		c := streamed()
		c.Transport, c.Button = Draft, &stop
		s := beginAt(t, p, e, c, "key")
		s.says("one two three", 5*time.Second)
		if got := s.messages[0].now().Actions; got != nil {
			t.Errorf("after the drafts were refused, the message's buttons are %+v", got)
		}
		s.slot.Finish(Ending{Text: "one two three"})
		<-s.ended
	})
}

func TestDraftIsKeptAlive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		s := beginVia(t, p, e, Draft)
		s.says("one two three", 80*time.Second)
		equal(t, "calls", s.logOf(everyCall), []string{
			"0s draft: one two three ▌", "25s draft: one two three ▌", "50s draft: one two three ▌", "1m15s draft: one two three ▌",
		})
		s.slot.Finish(Ending{Text: "one two three"})
		<-s.ended
		equal(t, "person sees", s.sees(), []string{"one two three"})
		time.Sleep(time.Hour)
		if n := len(s.drafts); n != 4 {
			t.Errorf("%d drafts, want none after the end", n-4)
		}
	})
}

// The model starts its text over. When the bot renews the draft, the draft must still show the text that people have
// seen before.
func TestRenewedDraftShowsTheSameText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.profile.TextLimit = 20
		s := beginVia(t, p, e, Draft)
		s.says("one two three four five six", 5*time.Second) // one full message, and a draft for the rest
		s.slot.Reset()
		s.says("another text than before", 30*time.Second)
		if o := s.ends(Ending{Keep: true}); o.Shown != "one two three four five six" {
			t.Errorf("people saw %q", o.Shown)
		}
	})
}

func TestRefusedDraftFallsBackToEdits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.fate = func(c *call) fate {
			if c.op == chat.OpDraft {
				return fail(chat.Rejected)
			}
			return fate{}
		}
		s := beginVia(t, p, e, Draft)
		s.says("one two three", 1200*ms)
		s.says(" four", 1200*ms)
		s.delivers(Ending{Text: "one two three four"}, "one two three four")
		equal(t, "calls", s.logOf(everyCall), []string{
			"0s draft: one two three ▌ (rejected)", "1s send 1: one two three ▌",
			"2s edit 1: one two three four ▌", "2.4s edit 1: one two three four",
		})
	})
}

// After the call for a draft got a 429, the next draft must wait, and the bot must make no other call meanwhile.
func TestBlockedDraftIsNotReplaced(t *testing.T) { // F20
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.fate = func(c *call) fate {
			if c.op == chat.OpDraft && c.attempt == 1 {
				return tooMany(5 * time.Second)
			}
			return fate{}
		}
		s := beginVia(t, p, e, Draft)
		s.says("one two three", 1200*ms)
		s.says(" four", 2*time.Second)
		s.delivers(Ending{Text: "one two three four five"}, "one two three four five")
		equal(t, "calls", s.logOf(everyCall), []string{
			"0s draft: one two three ▌", "1.2s draft: one two three four ▌ (rate limited)", "6.2s send 1: one two three four five",
		})
	})
}

func TestInterruptedDraftStays(t *testing.T) { // D9
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		s := beginVia(t, p, e, Draft)
		s.says("one two three", 400*ms)
		s.says(" four", 100*ms)
		s.delivers(Ending{Keep: true}, "one two three")
		if s.out.Shown != "one two three" {
			t.Errorf("shown: %q", s.out.Shown)
		}
	})
}

func TestDraftThatOutgrowsAMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.profile.TextLimit = 30
		s := beginVia(t, p, e, Draft)
		s.says(strings.Repeat("word ", 4), 1200*ms)
		s.says(strings.Repeat("more ", 4), 1200*ms)
		equal(t, "stands", s.sees(), []string{"word word word word more"})
		if n := len(s.drafts); n == 0 || s.drafts[n-1].Text != "more more more ▌" {
			t.Errorf("drafts: %+v", s.drafts)
		}
		s.delivers(Ending{Text: s.slot.Text()}, "word word word word more", "more more more")
	})
}

func TestStreamOnlyGrows(t *testing.T) { // D13
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		s := beginVia(t, p, e, Native)
		s.says("one two three ", 1200*ms)
		s.says("four ", 1200*ms)
		s.delivers(Ending{Text: "one two three four five"}, "one two three four five")
		equal(t, "calls", s.logOf(everyCall), []string{"0s start 1: one two three", "1.2s append 1:  four", "2.4s stop 1:  five"})
	})
}

// The columns of a table may become wider with each row, and a stream can't change text. Therefore, the bot must append
// a table to the stream only when the table is complete.
func TestStreamShowsATableAtItsEnd(t *testing.T) { // D13
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		s := beginVia(t, p, e, Native)
		s.says("one two three\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", 1200*ms)
		s.says("| wider | than before |\n", 1200*ms)
		s.says("\nfour five six ", 1200*ms)
		s.slot.Finish(Ending{Text: s.slot.Text()})
		<-s.ended
		if got := s.logOf(everyCall); len(got) != 3 || !strings.HasPrefix(got[1], "2.4s append 1: ") || !strings.HasPrefix(got[2], "3.6s stop 1") {
			t.Errorf("calls: %q", got)
		}
		if !s.out.Delivered {
			t.Error("the final is not visible")
		}
	})
}

func TestStreamBecomesAMessageInTime(t *testing.T) { // D13, F48
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		s := beginVia(t, p, e, Native)
		s.says("one two three four ", 5*time.Minute)
		s.says("five six ", 2*time.Second)
		s.delivers(Ending{Text: "one two three four five six seven"}, "one two three four five six seven")
		equal(t, "calls", s.logOf(everyCall), []string{
			"0s start 1: one two three four", "4m0s stop 1",
			"5m0s edit 1: one two three four five six ▌", "5m2s edit 1: one two three four five six seven",
		})
	})
}

func TestAppendOfUnknownOutcomeBecomesAnEdit(t *testing.T) {
	bothWays(t, func(t *testing.T, applied bool) {
		p, e := fullPlatform()
		p.fate = func(c *call) fate {
			if c.op == chat.OpAppend {
				return uncertain(applied)
			}
			return fate{}
		}
		s := beginVia(t, p, e, Native)
		s.says("one two three ", 1200*ms)
		s.says("four ", 4*time.Second)
		s.delivers(Ending{Text: "one two three four five"}, "one two three four five")
		if n := s.count(chat.OpStart | chat.OpSend); n != 1 {
			t.Errorf("%d messages were made", n)
		}
	})
}

func TestStreamThatStartsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		s := beginVia(t, p, e, Native)
		s.says("one two three ", 1200*ms)
		s.slot.Reset()
		s.says("uno dos tres ", 3*time.Second)
		s.delivers(Ending{Text: "uno dos tres"}, "uno dos tres")
	})
}

func TestInterruptedStreamStays(t *testing.T) { // D9
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		s := beginVia(t, p, e, Native)
		s.says("one two three ", 400*ms)
		s.delivers(Ending{Keep: true}, "one two three")
		equal(t, "calls", s.logOf(everyCall), []string{"0s start 1: one two three", "400ms stop 1"})
	})
}

func TestRefusedStreamFallsBackToEdits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.fate = func(c *call) fate {
			if c.op == chat.OpStart {
				return fail(chat.Rejected)
			}
			return fate{}
		}
		s := beginVia(t, p, e, Native)
		s.says("one two three ", 1200*ms)
		s.delivers(Ending{Text: "one two three four"}, "one two three four")
	})
}

// After max_parts messages, the rest of the text is sent as a file, and no word may be lost (D8, F52).
func TestRestIsSentAsAFile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.profile.TextLimit = 40
		c := streamed()
		c.MaxParts, c.FileLine = 2, "The rest is in the file."
		s := beginAt(t, p, e, c, "key")
		text := strings.TrimSpace(strings.Repeat("some words of a long answer ", 10))
		s.says(text[:100], 10*time.Second)
		s.says(text[100:], 10*time.Second)
		o := s.ends(Ending{Text: text})
		got := s.sees()
		if !o.Delivered || len(got) != 3 || got[2] != "The rest is in the file." {
			t.Fatalf("person sees %q, %+v", got, o)
		}
		f := s.messages[2].file
		if f == nil || strings.Join([]string{got[0], got[1], string(f.Content)}, " ") != text || !strings.HasSuffix(f.Name, ".md") {
			t.Errorf("file %+v does not go on where the messages end", f)
		}
		for _, m := range s.messages[:2] {
			for _, v := range m.versions {
				if strings.Contains(v.Text, "file") {
					t.Errorf("a preview says %q", v.Text)
				}
			}
		}
	})
}

// Somebody stops a reply while the bot still makes the calls for its final. The test checks that people still get the
// file and the note of the ending.
func TestStoppedBehindAFile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.profile.TextLimit, p.latency = 40, time.Second
		c := streamed()
		c.MaxParts, c.FileLine = 1, "The rest is in the file."
		s := beginAt(t, p, e, c, "key")
		text := strings.TrimSpace(strings.Repeat("some words of a long answer ", 10))
		s.says(text, 10*time.Second)
		s.slot.Finish(Ending{Text: text, Note: "It broke."})
		s.waits(1500 * time.Millisecond) // the call for the last message has not arrived yet
		s.slot.Cut()
		s.waits(time.Minute)
		if got := s.sees(); len(got) != 3 || got[1] != "The rest is in the file." || got[2] != "It broke." {
			t.Errorf("person sees %q", got)
		}
	})
}

// Somebody stops a reply when its first message already shows the whole final text. The stream below this message shows
// text that the model discarded, so the bot must delete the stream.
func TestStoppedBeforeAStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.profile.TextLimit, p.latency = 40, time.Second
		s := beginVia(t, p, e, Native)
		s.says(strings.TrimSpace(strings.Repeat("some words of a long answer ", 2)), 10*time.Second)
		s.slot.Reset()
		s.slot.Finish(Ending{Text: "short", Note: "It broke."})
		s.waits(1500 * time.Millisecond) // the first message shows the final text
		s.slot.Cut()
		s.waits(time.Minute)
		equal(t, "person sees", s.sees(), []string{"short\n\nIt broke."})
	})
}

func TestRefusedFileBecomesMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, e := fullPlatform()
		p.profile.TextLimit = 40
		p.fate = func(c *call) fate {
			if strings.Contains(c.m.Text, "file") {
				return fail(chat.Rejected)
			}
			return fate{}
		}
		c := Config{MaxParts: 2, FileLine: "The rest is in the file."}
		s := beginAt(t, p, e, c, "key")
		text := strings.TrimSpace(strings.Repeat("some words of a long answer ", 10))
		o := s.ends(Ending{Text: text})
		if got := strings.Join(s.sees(), " "); !o.Delivered || got != text {
			t.Errorf("person sees %q, %+v", got, o)
		}
	})
}

// If a create call gets no response, the bot searches for its message on platforms that can be searched (D5).
func TestCreateOfUnknownOutcomeIsSearched(t *testing.T) {
	bothWays(t, func(t *testing.T, applied bool) {
		p := newPerson()
		e := p.endpoint()
		e.Finder = channel{p}
		p.fate = func(c *call) fate {
			if c.op == chat.OpSend && c.attempt < 3 {
				return uncertain(applied)
			}
			return fate{}
		}
		s := beginAt(t, p, e, streamed(), "key")
		s.says("one two three", 10*time.Second)
		if n := len(s.sees()); n != 1 || !strings.HasSuffix(s.sees()[0], "▌") {
			t.Errorf("previews do not go on: %q", s.sees())
		}
		s.delivers(Ending{Text: "one two three four"}, "one two three four")
		if s.out.Doubt {
			t.Error("doubt about what was looked for")
		}
	})
}

// A create call without a response may be repeated as long as the platform remembers its key (D5).
func TestCreateOfUnknownOutcomeIsRepeatedUnderItsKey(t *testing.T) {
	bothWays(t, func(t *testing.T, applied bool) {
		p := newPerson()
		p.profile.KeyFor = time.Minute
		p.fate = func(c *call) fate {
			if c.op == chat.OpSend && c.attempt < 3 {
				return uncertain(applied)
			}
			return fate{}
		}
		s := begin(t, p, streamed())
		s.says("one two three", 10*time.Second)
		s.says(" four", time.Second)
		s.delivers(Ending{Text: "one two three four five"}, "one two three four five")
	})
}

// An outage may last longer than the platform remembers the key of a create call. When the platform has forgotten the
// key, the bot must search for the message (D5).
func TestCreateOfUnknownOutcomeIsSearchedAfterItsKeyExpired(t *testing.T) {
	bothWays(t, func(t *testing.T, applied bool) {
		p := newPerson()
		p.profile.KeyFor = time.Minute
		e := p.endpoint()
		e.Finder = channel{p}
		began := time.Now()
		p.fate = func(c *call) fate {
			switch {
			case c.op == chat.OpSend && c.attempt == 1:
				return uncertain(applied)
			case time.Since(began) < 3*time.Minute:
				return fail(chat.Temporary)
			}
			return fate{}
		}
		s := beginAt(t, p, e, streamed(), "key")
		s.says("one two three", 4*time.Minute)
		s.says(" four", time.Second)
		s.delivers(Ending{Text: "one two three four five"}, "one two three four five")
		if s.out.Doubt {
			t.Error("doubt about what was looked for")
		}
		if s.count(chat.OpFind) == 0 {
			t.Error("it was not looked for")
		}
	})
}

// A message that can no longer be edited is replaced, and then deleted (F05, F18).
func TestMessageThatCannotBeEditedIsReplaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPerson()
		p.fate = func(c *call) fate {
			if c.op == chat.OpEdit {
				return fail(chat.Frozen)
			}
			return fate{}
		}
		s := begin(t, p, streamed())
		s.says("one two three", 1200*ms)
		s.says(" four", 1200*ms)
		s.delivers(Ending{Text: "one two three four"}, "one two three four")
		equal(t, "calls", s.log(), []string{
			"0s send 1: one two three ▌", "1.2s edit 1: one two three four ▌ (frozen)", "2.4s send 2: one two three four", "2.4s delete 1",
		})
	})
}
