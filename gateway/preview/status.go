package preview

import (
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// Status is what a turn does beside writing: the tools that are at work, and what it asks a person.
// It stands below the text of every preview and is gone from the final.
type Status struct {
	Lines   []string      // as they are, not Markdown
	Since   time.Time     // when the first of what is under way began
	Actions []chat.Action // buttons, in place of the one that stops the reply
	Urgent  bool          // somebody must see it: it is shown also where nothing else is yet, and before previews of others
}

// statusAfter is how long tools must have worked for their lines to open a message: what is over sooner
// would only flicker.
const statusAfter = 3 * time.Second

// empty says that there is nothing to show.
func (s Status) empty() bool { return len(s.Lines) == 0 }

// Tell says what the turn does beside writing. The newest replaces the one before.
func (s *Slot) Tell(status Status) {
	s.mu.Lock()
	s.status = status
	s.mu.Unlock()
	s.signal()
}

// statusText returns the lines that belong below the text now; while it returns none that are wanted, due
// is when that will have changed even without news.
func (s *state) statusText(now time.Time, text string) (status string, due time.Time) {
	v := s.view.Status
	if v.empty() || !s.cfg.Progress && !v.Urgent {
		return "", time.Time{}
	}
	if text == "" && !s.displayed && !v.Urgent {
		if open := v.Since.Add(statusAfter); now.Before(open) {
			return "", open
		}
	}
	return strings.Join(v.Lines, "\n"), time.Time{}
}

// clears says that part i shows lines that are over, and nothing else: its cursor alone takes their place.
func (s *state) clears(i int) bool {
	stale := i < len(s.parts) && s.parts[i].exists && s.parts[i].status != "" || s.drafted() && s.draft.part == i && s.draft.status != ""
	return stale && s.cfg.Cursor != ""
}

// decorated returns what a message shows that has status below its text.
func (s *state) decorated(text, status string) string {
	if status == "" {
		return text
	}
	written := s.dialect.Render(markup.Piece{Text: status}).Text
	if text == "" {
		return written
	}
	return text + "\n\n" + written
}

// fits says that a message has room for the status below its text.
func (s *state) fits(text, status string) bool {
	return s.dialect.Len(markup.Rendered{Text: s.decorated(text, status)}) <= s.limit
}
