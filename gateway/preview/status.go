package preview

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// Status is what a turn does beside writing: what the model thinks, the tools that are at work, and what it asks a
// person. It stands around the text of every preview and is gone from the final.
type Status struct {
	Lines   []string      // as they are, not Markdown
	Code    Span          // of the lines, joined: what is shown as code, so that nothing in it is a link, a mention or a command
	Since   time.Time     // when the first of what is under way began
	Actions []chat.Action // buttons, in place of the one that stops the reply
	Urgent  bool          // somebody must see it: it is shown also where nothing else is yet, and before previews of others

	Thought      string    // a short paragraph as it is, not Markdown; quoted above the text of the first part
	ThoughtSince time.Time // when the model began to think
}

// statusAfter is how long tools must have worked, or a model thought, for that to open a message: what is over
// sooner would only flicker.
const statusAfter = 3 * time.Second

// empty says that there are no lines to show.
func (s Status) empty() bool { return len(s.Lines) == 0 }

// urgent says that somebody is asked.
func (s Status) urgent() bool { return s.Urgent && !s.empty() }

// Tell says what the turn does beside writing. The newest replaces the one before.
func (s *Slot) Tell(status Status) {
	s.mu.Lock()
	if !status.urgent() || !slices.Equal(status.Lines, s.status.Lines) {
		s.asked = time.Time{}
	}
	s.status = status
	if !status.empty() {
		s.paused = s.text.Len()
	}
	s.mu.Unlock()
	notify(s.changed)
	if status.urgent() {
		notify(s.urged)
	}
}
