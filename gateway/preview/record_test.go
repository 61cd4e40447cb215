package preview

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// If a call only stops a stream, the record contains the Markdown of the visible text, because the model may have
// started over.
func TestRecordOfTheVisibleText(t *testing.T) {
	r := &Reply{state: state{parts: []message{{phase: streaming, source: "one two", shown: display{body: payload{end: 7}}}}}}
	r.view.Text = "a wholly new text"
	if got := r.intendedRecord(r.stop(0)).Source; got != "one two" {
		t.Errorf("recorded %q, want what the message shows", got)
	}
}

// The next process splits the text at the same places as this process, even if the platform enforces a smaller limit
// now (F06).
func TestRecordOfTheCut(t *testing.T) {
	r := &Reply{state: state{place: place{limit: 35}, cuts: []int{70}}}
	for i, want := range []int{70, 35} {
		if got := r.intendedRecord(action{kind: doSend, desired: desired{part: i}}).Cut; got != want {
			t.Errorf("part %d: recorded %d, want %d", i, got, want)
		}
	}
}

// F05: a replaced message is deleted only after another message shows its text.
func TestReplacedMessageIsDeletedLast(t *testing.T) {
	for _, c := range []struct {
		name  string
		part  message
		final []markup.Part
		want  actionKind
	}{
		{"replaced", message{phase: standing}, make([]markup.Part, 1), doDelete},
		{"replacement did not arrive", message{attempt: attempt{unresolved: maxUncertainCreates}}, make([]markup.Part, 1), doEnd},
		{"the person deleted the replacement", message{phase: gone}, make([]markup.Part, 1), doDelete},
		{"nobody wants it", message{}, nil, doDelete},
	} {
		s := state{
			place: place{ops: chat.OpDelete}, ending: &Ending{}, finalLayout: finalLayout{final: c.final}, parts: []message{c.part},
			superseded: []message{{role: roleSuperseded, phase: standing, ref: chat.MessageRef{ID: "1"}}},
		}
		got := action{kind: doEnd}
		for _, d := range s.atEnd() {
			if d.part == supersededAt {
				got = s.plan(d, time.Now())
			}
		}
		if got.kind != c.want {
			t.Errorf("%s: got action %v, want %v", c.name, got.kind, c.want)
		}
	}
}

// Two create calls with the same key get no response. Only one of the two calls contained a question. The next process
// must not take the message for a stream, because then the question's buttons would stay.
func TestRecordOfAPossibleQuestion(t *testing.T) { // D10
	t.Parallel()
	for _, c := range []struct {
		kind  actionKind
		doubt resolution
		want  bool
	}{{doSend, byKey, true}, {doStart, byKey, false}, {doSend, known, false}, {doEdit, byKey, false}} {
		r := &Reply{state: state{place: place{dialect: markup.Plain{}, limit: 100}, parts: []message{{attempt: attempt{resolution: c.doubt}, shown: display{cursor: true}}}}}
		if got := r.intendedRecord(action{kind: c.kind}).Cursor; got != c.want {
			t.Errorf("kind %d, in doubt %d: got %t, want %t", c.kind, c.doubt, got, c.want)
		}
	}
}

// A stream shows the line === below a heading, but the final text contains no such line. The final replaces a preview
// whose id is unknown. The bot must split the final in the usual way, and not like a stream.
func TestFinalIsNotCutLikeAStream(t *testing.T) {
	s := state{place: place{dialect: markup.Plain{}, limit: 20, grows: true}, cuts: []int{20}, nameless: true}
	s.parts = []message{{phase: standing, ref: chat.MessageRef{ID: "1"}, shown: display{body: payload{rendered: markup.Rendered{Text: "one\n===\ntwo three"}}}}}
	for _, p := range s.layoutStanding("one\n===\ntwo three four five six", markup.Options{Dialect: s.dialect, Limit: s.limit, Paused: true}) {
		if strings.Contains(p.Plain, "===") {
			t.Errorf("the final shows %q", p.Plain)
		}
	}
}

// Somebody stops a reply before any of its final text is sent. The process dies while it stores the new texts of the
// messages. The next process must show no word twice.
func TestRegressionKilledWhileAStoppedReplyIsRecorded(t *testing.T) { // make sim KIND=edit-without-typing SEED=3275147547
	first := strings.Repeat("one ", 9) + "two" // fills a message
	for stored := range 5 {
		t.Run(strconv.Itoa(stored), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPerson()
				p.profile.TextLimit = 40
				l := live(t, p, p.endpoint(), streamed())
				for _, words := range []string{first, " four five"} {
					l.says(words, 5*time.Second)
					l.slot.SetStatus(question("yes:1", "May I do this for you now?")) // the question is shown in its own message
					time.Sleep(5 * time.Second)
					l.slot.SetStatus(Status{})
				}
				l.says(" six", 5*time.Second)
				l.again()
				p.fate = func(*call) fate { return tooMany(time.Minute) }
				whole := first + " four five six"
				l.slot.Finish(Ending{Text: whole})
				time.Sleep(time.Second)
				l.notes.most.Store(int32(stored) + 1)
				l.slot.Cut()
				time.Sleep(time.Second)
				l.notes.most.Store(0)
				l.again()
				p.fate = nil
				l.slot.Finish(Ending{Keep: true, Text: whole})
				<-l.ended
				if got := strings.Join(p.sees(), " "); strings.Count(got, "four five") != 1 || strings.Count(got, "si") != 1 {
					t.Errorf("a person sees %q", p.sees())
				}
			})
		})
	}
}
