package conformance

import (
	"slices"
	"strings"
	"time"

	"telex/gateway"
	"telex/gateway/preview"
	"telex/internal/chat"
)

// promptlyAsked is how soon the question for approval must be visible after the model has stopped writing.
const promptlyAsked = 5 * time.Second

// verdict is a decision about a tool call: the label of its button, the word that a person may write instead, and how
// often the tool must then have run.
type verdict struct {
	label gateway.TextKey
	word  string
	runs  int
	told  string // result of the call, as the model received it
}

func verdicts() []verdict {
	return []verdict{
		{gateway.TextApproveButton, "approve", 1, "pulled"},
		{gateway.TextDenyButton, "deny", 0, "the person denied this call"},
	}
}

// questionCases returns the cases about tool calls that wait for a person's approval. In the cases that questionCases
// returns, the gateway uses the real agent with a planner.
func questionCases() []testCase {
	return []testCase{
		{"a question for approval appears with its buttons, and nothing changes until a person answers", questioned(func(h *testGateway, w Presser, to chat.Target) {
			q := h.question(w, to)
			moved := func() int { return len(h.Versions(to)) + h.moves() }
			before := moved()
			for range 4 {
				pass(time.Minute)
				if got := moved(); got != before {
					h.Errorf("while nobody answered there were %d calls and changes, before %d", got, before)
				}
				h.wantQuestion(w, q)
			}
			h.planner.note = gateway.DefaultTexts()[gateway.TextUndecided]
			h.wantDecided(w, q, 0, "nobody approved this call in time")
		})},
		{"buttons answer a question for approval: the tool runs once or not at all, and the answer appears in the same message", func(s *scene) {
			for _, v := range verdicts() {
				questioned(func(h *testGateway, w Presser, to chat.Target) {
					q := h.question(w, to)
					w.Press(q.ref, q.button(h, v.label))
					h.wantDecided(w, q, v.runs, v.told)
				})(s)
			}
		}},
		{"a command answers a question for approval, without a slash where commands can't be typed", func(s *scene) {
			for _, v := range verdicts() {
				questioned(func(h *testGateway, w Presser, to chat.Target) {
					q := h.question(w, to)
					h.command(to, v.word)
					h.wantDecided(w, q, v.runs, v.told)
				})(s)
			}
		}},
		{"a yes of the asker answers a question for approval", questioned(func(h *testGateway, w Presser, to chat.Target) {
			q := h.question(w, to)
			h.ask(to, "Yes!")
			h.wantDecided(w, q, 1, "pulled")
		})},
		{"a question for approval ignores presses by other people", questioned(func(h *testGateway, w Presser, to chat.Target) {
			if to.Kind != chat.Group {
				return
			}
			q := h.question(w, to)
			for _, b := range q.buttons {
				w.PressAside(q.ref, b.ID)
				pass(promptlyAsked)
			}
			h.wantQuestion(w, q)
			h.wantAcknowledged(w)
			for _, text := range h.Shown(to)[q.before:] {
				if text != q.text && text != gateway.DefaultTexts()[gateway.TextNotYours] {
					h.Errorf("beside the question stands %q", text)
				}
			}
			w.Press(q.ref, q.button(h, gateway.TextApproveButton))
			h.wantDecided(w, q, 1, "pulled")
		})},
		{"without streaming, a question for approval and the answer share one message, without a cursor", editable(func(s *scene, w Presser, _ preview.Editor, to chat.Target) {
			h := s.newGateway(nil, func(h *testGateway) { h.planner, h.config.Enabled = newPlanner(), false })
			q := h.question(w, to)
			w.Press(q.ref, q.button(h, gateway.TextApproveButton))
			h.wantDecided(w, q, 1, "pulled")
			for _, v := range h.Versions(to)[q.seen:] {
				if v.Message != string(q.ref.ID) || strings.Contains(v.Text, "▌") {
					h.Errorf("shown was %+v, want one message and no cursor", v)
				}
			}
			h.end()
		})},
		{"D10: after a kill during a question for approval, its old button still works, once", func(s *scene) {
			for _, away := range []bool{false, true} {
				questioned(func(h *testGateway, w Presser, to chat.Target) {
					q := h.question(w, to)
					approve := q.button(h, gateway.TextApproveButton)
					h.stopHard()
					if away { // the person presses the button while no process runs; some platforms lose such a press
						w.Press(q.ref, approve)
						pass(10 * time.Second)
					}
					h.restart()
					pass(10 * time.Second)
					if ran, _ := h.planner.toolRuns(); ran == 0 {
						h.wantQuestion(w, q)
						w.Press(q.ref, approve)
					}
					if h.wantEnded(w, q, 1, "pulled"); !away {
						h.wantDecided(w, q, 1, "pulled")
					}
				})(s)
			}
		}},
		{"a question for approval with 2,000 bytes is shown within the limit, with its beginning and its end", func(s *scene) {
			for _, words := range []string{"word ", "a *b* _c_ `d` <e> & [f](g) ~h~ @everyone ", "日本語の質問 👩‍👩‍👧‍👦 "} {
				s.questionAt(2000, words)
			}
		}},
	}
}

// questionAt checks the question for approval of a tool call whose description is size bytes long. Most of the
// description repeats the text in words.
func (s *scene) questionAt(size int, words string) {
	s.Helper()
	if short, ok := s.World.(Brief); ok {
		size = min(size, short.ButtonText()*3/4) // leave room for the text around the description
	}
	buttons(func(s *scene, w Presser, _ preview.Editor, to chat.Target) {
		h := s.newGateway(nil, func(h *testGateway) { h.planner = newPlanner() })
		first, last := "The 1st line of it", "The 9th line of it"
		middle := strings.Repeat(words, size)[:size-len(first+last)-2]
		h.planner.proposal = first + "\n" + strings.TrimSpace(strings.ToValidUTF8(middle, "")) + "\n" + last
		q := h.question(w, to)
		asked := strings.Split(gateway.DefaultTexts()[gateway.TextApproval], "\n")
		how, _, _ := strings.Cut(asked[len(asked)-1], "{")
		for _, line := range []string{asked[0], first, last, how} {
			if !strings.Contains(letters(q.text), letters(line)) {
				h.Errorf("the question says %q, want %q in it", q.text, line)
			}
		}
		h.wantNone(h.Pings(to), "the question called")
		w.Press(q.ref, q.button(h, gateway.TextApproveButton))
		h.wantEnded(w, q, 1, "pulled")
		h.end()
	})(s)
}

func newPlanner() *planner {
	return &planner{before: "I look at the lever, and now I pull it.", after: "The lever is down, as you asked.", proposal: "Pull the *lever* by_hand"}
}

// question describes a question for approval that is visible in a chat.
type question struct {
	ref     chat.MessageRef
	text    string
	buttons []chat.Action
	before  int // number of messages that the chat contained before the question
	seen    int // number of versions that the chat's messages had before the question
}

// button returns the ID of the button with the given label.
func (q question) button(h *testGateway, label gateway.TextKey) string {
	h.Helper()
	i := slices.IndexFunc(q.buttons, func(a chat.Action) bool { return a.Label == gateway.DefaultTexts()[label] })
	if i < 0 {
		h.Fatalf("below the question stand %+v, want %s", q.buttons, label)
	}
	return q.buttons[i].ID
}

// questioned runs a case in the private chat and in the group, once for each way in which the chat can show previews.
func questioned(run func(h *testGateway, w Presser, to chat.Target)) func(*scene) {
	return buttons(func(s *scene, w Presser, _ preview.Editor, to chat.Target) {
		s.Helper()
		for _, transport := range s.transports(to) {
			h := s.newGateway(nil, func(h *testGateway) { h.planner, h.config.Transport = newPlanner(), transport })
			run(h, w, to)
			h.end()
		}
	})
}

// question makes a person ask for something that needs approval, and waits until the bot's question for approval is
// visible.
func (h *testGateway) question(w Presser, to chat.Target) (q question) {
	h.Helper()
	q.before, q.seen = len(h.Shown(to)), len(h.Versions(to))
	h.ask(to, "go")
	h.until("that a question is shown", func() bool {
		for _, v := range h.Versions(to)[q.seen:] {
			q.ref = chat.MessageRef{Target: to, ID: chat.MessageID(v.Message)}
			if q.buttons = w.Buttons(q.ref); len(q.buttons) > 0 {
				return true
			}
		}
		return false
	})
	pass(promptlyAsked)
	q.buttons = w.Buttons(q.ref)
	if got := h.Shown(to); len(got) > 0 {
		q.text = got[len(got)-1]
	}
	h.wantQuestion(w, q)
	return q
}

// moves returns the total number of calls of all kinds that the platform has received.
func (h *testGateway) moves() (n int) {
	for _, op := range []chat.Op{chat.OpSend, chat.OpEdit, chat.OpDelete, chat.OpTyping, chat.OpDraft, chat.OpStart, chat.OpAppend, chat.OpStop} {
		n += h.Calls(op)
	}
	return n
}

// wantQuestion checks that a question for approval is still open and unchanged, and that the text that the model wrote
// before it is still visible above it.
func (h *testGateway) wantQuestion(w Presser, q question) {
	h.Helper()
	to, texts := q.ref.Target, gateway.DefaultTexts()
	shown := h.Shown(to)[q.before:]
	asked, _, _ := strings.Cut(texts[gateway.TextApproval], "{what}")
	said := h.planner.before
	if !h.can().Edit {
		said = "" // if the platform has no edits, this text becomes visible only with the answer
	}
	first, _, _ := strings.Cut(h.planner.proposal, "\n")
	want := letters(said) + letters(asked) + letters(first)
	if got := letters(strings.Join(shown, "\n")); !strings.Contains(got, want) || !slices.Contains(shown, q.text) {
		h.Errorf("shown are %q, want the question %q", shown, q.text)
	}
	h.wantButtons(w, q.ref, q.buttons...)
	var labels []string
	for _, b := range q.buttons {
		labels = append(labels, b.Label)
	}
	if want := []string{texts[gateway.TextApproveButton], texts[gateway.TextDenyButton], texts[gateway.TextAlwaysButton]}; !slices.Equal(labels, want) {
		h.Errorf("the buttons are %q, want %q", labels, want)
	}
	h.wantDrafts(to)
	if ran, _ := h.planner.toolRuns(); ran != 0 {
		h.Errorf("the tool ran %d times before anybody answered", ran)
	}
}

// wantDecided checks what a chat contains after a decision, if the process that asked the question still runs.
// wantDecided makes the same checks as wantEnded. In addition, wantDecided checks that an edit has replaced the
// question with the answer, if the platform supports edits.
func (h *testGateway) wantDecided(w Presser, q question, runs int, told string) {
	h.Helper()
	h.wantEnded(w, q, runs, told)
	if !h.can().Edit {
		h.wantAcknowledged(w)
		return
	}
	if i := slices.IndexFunc(h.Versions(q.ref.Target), func(v Version) bool { return v.Message == string(q.ref.ID) && v.Text == h.planner.final() }); i < 0 {
		h.Errorf("the answer was never in the message of the question: %+v", h.Versions(q.ref.Target)[q.seen:])
	}
	h.wantAcknowledged(w)
	for _, v := range h.Violations() {
		h.Errorf("violation: %s", v)
	}
}

// wantEnded checks what a chat contains after a decision. In the end, the answer must be the only new message. (On
// platforms without edits, the question for approval stays visible too.) The parameter runs is how many times the tool
// must have run.
func (h *testGateway) wantEnded(w Presser, q question, runs int, told string) {
	h.Helper()
	pass(settleTime)
	to, final := q.ref.Target, h.planner.final()
	aside := gateway.DefaultTexts()[gateway.TextNotYours]
	got := slices.DeleteFunc(h.Shown(to)[q.before:], func(text string) bool { return text == aside })
	want := []string{final}
	if !h.can().Edit { // the question stays visible, and a new process may have asked the same question again
		got, want = slices.Compact(got), []string{q.text, final}
	}
	if !slices.Equal(got, want) {
		h.Errorf("shown are %q, want %q", got, want)
	}
	for _, v := range h.Versions(to)[q.seen:] {
		piece := letters(v.Text)
		if v.Text != aside && !strings.Contains(letters(final), piece) && !strings.Contains(letters(q.text), piece) {
			h.Errorf("the screen showed %q, which is not a part of the question or the answer", v.Text)
		}
	}
	if h.can().Edit {
		h.wantButtons(w, q.ref)
	}
	h.wantDrafts(to)
	if w, ok := h.World.(StreamWorld); ok {
		h.wantStreams(w, to)
	}
	h.wantValid(to)
	if ran, heard := h.planner.toolRuns(); ran != runs || !strings.Contains(heard, told) {
		h.Errorf("the tool ran %d times and its model was told %q, want %d and %q", ran, heard, runs, told)
	}
}
