package conformance

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"telex/agent"
)

// answer describes a model's answer: its text, and how fast the model writes.
type answer struct {
	text string
	each time.Duration // pause between two pieces of the text; 0: 30 ms
	tail time.Duration // silence after the last piece, before the answer ends
	fail error         // the error with which the answer ends; nil: no error
}

// flowing returns an answer whose pieces arrive so fast that the whole answer takes at most about 40 seconds.
func flowing(text string) answer {
	return answer{text: text, each: min(20*time.Millisecond, 40*time.Second*pieceSize/time.Duration(len(text)))}
}

// pieceSize is the number of characters that the model writes at once. The pieces of an answer are so small that they
// end in the middle of words, Markdown delimiters and graphemes.
const pieceSize = 3

// model is a Runner that gives a fixed answer to each question.
type model struct {
	mu      sync.Mutex
	answers map[string]answer // maps a word that the question contains to the answer
	ended   map[string]time.Time
	runs    map[string]int
	running int // number of answers that the model is writing
}

// Run implements gateway.Runner. Run writes the answer in small pieces.
func (m *model) Run(ctx context.Context, t agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	asked := t.Messages[len(t.Messages)-1].Text
	word, a := m.begin(asked[strings.LastIndex(asked, "\n")+1:]) // the question is the last line; quoted text may precede it
	defer m.end(word)
	r := agent.Result{Model: "scripted", Stop: agent.StopDone}
	cut := func() (agent.Result, error) {
		r.Partial, r.Stop = true, agent.StopCancelled
		return r, &agent.Error{Reason: r.Stop, Err: context.Cause(ctx)}
	}
	wait := func(d time.Duration) bool {
		select {
		case <-time.After(d): //nolint:forbidigo // the test runs in virtual time
			return true
		case <-ctx.Done():
			return false
		}
	}
	for piece := range slices.Chunk([]rune(a.text), pieceSize) {
		if !wait(a.each) {
			return cut()
		}
		r.Text += string(piece)
		emit(agent.Text{Delta: string(piece)})
	}
	if !wait(a.tail) {
		return cut()
	}
	if a.fail != nil {
		r.Partial, r.Stop = true, agent.StopError
		return r, &agent.Error{Reason: r.Stop, Err: a.fail}
	}
	r.Append = []agent.Message{{Role: agent.Assistant, Text: r.Text}}
	return r, nil
}

// begin returns the answer to a question, and counts the answer as running until end is called.
func (m *model) begin(question string) (string, answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running++
	for word, a := range m.answers {
		if slices.ContainsFunc(strings.Fields(question), func(w string) bool { return strings.Trim(w, ".,") == word }) {
			m.runs[word]++
			if a.each == 0 {
				a.each = 30 * time.Millisecond
			}
			return word, a
		}
	}
	return "", answer{text: "I was asked: " + question, each: time.Millisecond}
}

func (m *model) end(word string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running--
	m.ended[word] = time.Now()
}

// writes reports whether the model is writing an answer.
func (m *model) writes() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running > 0
}

// lastAnswer returns when the model's last answer to a question ended, and how many times the model has begun to answer
// the question.
func (m *model) lastAnswer(word string) (time.Time, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended[word], m.runs[word]
}
