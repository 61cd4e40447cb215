package preview

import "telex/internal/chat"

// A draft is a preview that is no message: it leaves nothing, vanishes by itself or when a
// message arrives, and may be repeated freely. Nothing of it is recorded.

// drafted says that a person may see a draft now.
func (s *state) drafted() bool { return !s.draft.at.IsZero() }

// redraft shows the draft once more, since it would vanish.
func (s *state) redraft() action {
	return action{kind: doDraft, desired: desired{part: s.draft.part, display: s.draft.display, size: s.laidOut, class: chat.ClassPreview}}
}

// erase says that the draft vanished: it is due to be shown again.
func (s *state) erase() {
	if s.drafted() {
		s.draft.at = s.draft.at.Add(-s.draftFor)
	}
}

// settleDraft notes what the draft shows.
func (s *state) settleDraft(a action) {
	s.displayed = true
	s.draft = draft{display: a.display, part: a.part, at: s.lastCall}
	s.laidOut, s.shownFrame = a.size, a.frame
}
