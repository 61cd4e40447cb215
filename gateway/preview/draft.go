package preview

import "telex/internal/chat"

// A draft is a preview that is not a message. The platform removes a draft after some time or when a message arrives,
// so the bot sends the draft again until the reply ends. Drafts are not stored.

// drafted reports whether a person may see a draft now.
func (s *state) drafted() bool { return !s.draft.at.IsZero() }

// redraft returns the action that sends the draft again before the platform removes it.
func (s *state) redraft() action {
	return action{kind: doDraft, desired: desired{part: s.draft.part, display: s.draft.display, keepsText: true, size: s.laidOutLength, class: chat.ClassPreview}}
}

// expireDraft marks the draft as expired, so that the bot sends it again at once.
func (s *state) expireDraft() {
	if s.drafted() {
		s.draft.at = s.draft.at.Add(-s.draftFor)
	}
}

// settleDraft records the content of the draft.
func (s *state) settleDraft(a action) {
	s.displayed = true
	s.draft = draft{display: a.display, part: a.part, at: s.lastCall}
	s.laidOutLength, s.shownFrame = a.size, a.frame
}
