package preview

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// Status is what a turn does besides writing: the model's thoughts, the running tools, and a question to a person. The
// status is shown around the text of every preview and is not part of the final.
type Status struct {
	Lines   []string      // plain text, not Markdown
	Code    Span          // range of the joined lines to show as code, so that no part of it becomes a link, a mention or a command
	Since   time.Time     // time when the oldest current activity began
	Actions []chat.Action // buttons, replacing the one that stops the reply
	Urgent  bool          // a person must see the status: it is shown even without any text, and before previews of other replies

	Thought      string    // a short plain paragraph, not Markdown; quoted above the text of the first part
	ThoughtSince time.Time // time when the model began to think
}

// statusAfter is how long tools or the model's thinking must last before a message is created to show only them. A
// message that shows a shorter activity would flicker.
const statusAfter = 3 * time.Second

// empty reports whether there are no lines to show.
func (s Status) empty() bool { return len(s.Lines) == 0 }

// urgent reports whether the status asks a person something.
func (s Status) urgent() bool { return s.Urgent && !s.empty() }

// SetStatus sets what the turn does besides writing, replacing the previous status.
func (s *Slot) SetStatus(status Status) {
	s.mu.Lock()
	if !status.urgent() || !slices.Equal(status.Lines, s.status.Lines) {
		s.askedSince = time.Time{}
	}
	s.status = status
	if !status.empty() {
		s.paused = s.text.Len()
	}
	s.mu.Unlock()
	notify(s.changed)
	if status.urgent() {
		notify(s.questionAsked)
	}
}
