package conformance

import (
	"slices"
	"strings"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// draftID is the id that most cases use for their draft.
const draftID = 7

// draftsGone is a time after which every platform has removed a draft that the bot has not renewed.
const draftsGone = 10 * time.Minute

// draftCases returns the cases about drafts, which are previews without a message.
func draftCases() []testCase {
	return []testCase{
		{"a draft replaces the previous one and is not a message", drafts(func(s *scene, d preview.Drafter, to chat.Target) {
			for _, text := range []string{"one", "one two 🦊", "one two 🦊", "1"} { // sending the same draft twice must succeed
				s.draft(d, to, draftID, text)
				s.wantDrafts(to, text)
			}
			s.draft(d, to, draftID+1, "of another reply")
			s.wantDrafts(to, "of another reply")
			s.wantShown(to)
			s.wantCalls(chat.OpSend, 0)
		})},
		{"a draft vanishes when a message arrives (D2)", drafts(func(s *scene, d preview.Drafter, to chat.Target) {
			s.draft(d, to, draftID, "almost")
			s.send(to, "the answer")
			s.wantDrafts(to)
			s.draft(d, to, draftID, "next")
			s.wantDrafts(to, "next")
			if f, ok := s.adapter.(preview.Filer); ok {
				if _, err := f.SendFile(s.Context(), to, outgoing("a file"), file()); err != nil {
					s.Errorf("SendFile: %v", err)
				}
				s.wantDrafts(to)
			}
		})},
		{"a draft that is renewed in time stays, all others vanish", drafts(func(s *scene, d preview.Drafter, to chat.Target) {
			for range 5 {
				s.draft(d, to, draftID, "still here")
				pass(s.adapter.Profile(to).DraftFor)
				s.wantDrafts(to, "still here")
			}
			pass(draftsGone)
			s.wantDrafts(to)
			s.wantShown(to)
		})},
		{"a draft is refused in chats without drafts", with((*scene).drafter, func(s *scene, d preview.Drafter) {
			places := s.both()
			for _, to := range places {
				if s.adapter.Profile(to).DraftFor == 0 {
					s.wantKind(d.Draft(s.Context(), to, draftID, outgoing("x")), chat.Rejected)
					s.wantDrafts(to)
				}
			}
			if !slices.ContainsFunc(places, func(to chat.Target) bool { return s.adapter.Profile(to).DraftFor > 0 }) {
				s.Error("there are drafts neither in the private chat nor in the group")
			}
		})},
		{"a draft at the text limit is shown, a longer one is reported as too long (F06)", drafts(func(s *scene, d preview.Drafter, to chat.Target) {
			longest := strings.Repeat("x", s.adapter.Profile(to).TextLimit)
			s.draft(d, to, draftID, longest)
			s.wantKind(d.Draft(s.Context(), to, draftID, outgoing(longest+"x")), chat.TooLong)
			s.wantDrafts(to, longest)
		})},
		{"a draft with a stop button can be stopped, and the press names the draft", drafts(func(s *scene, d preview.Drafter, to chat.Target) {
			w, ok := s.World.(DraftStopper)
			if !ok {
				return
			}
			r := s.start(s.known())
			defer r.stop(s)
			s.draft(d, to, draftID, "one")
			if w.StopDraft(to) {
				s.Error("a draft without actions can be stopped")
			}
			m := outgoing("one two")
			m.Actions = []chat.Action{{ID: "stop:1a2b3c4d", Label: "Stop"}}
			if err := d.Draft(s.Context(), to, draftID, m); err != nil || !w.StopDraft(to) {
				s.Fatalf("Draft = %v, or it can't be stopped", err)
			}
			if in := s.one(r); in.Kind != chat.Button || in.Action != chat.DraftAction(draftID) || in.To != to {
				s.Errorf("accepted is %+v, want a press on the button of draft %d in %+v", in, draftID, to)
			}
		})},
		{"a draft can be repeated after the connection broke", drafts(func(s *scene, d preview.Drafter, to chat.Target) {
			for _, f := range []Fault{CutBefore, CutAfter} {
				s.Break(chat.OpDraft, f)
				s.wantKind(d.Draft(s.Context(), to, draftID, outgoing("two")), chat.Uncertain)
				s.draft(d, to, draftID, "two")
				s.wantDrafts(to, "two")
			}
		})},
		{"drafts count against the limits that the profile states", drafts(func(s *scene, _ preview.Drafter, to chat.Target) {
			limits := s.adapter.Profile(to).Limits
			if len(limits) > 0 && !slices.ContainsFunc(limits, func(l chat.Limit) bool { return l.Ops&chat.OpDraft != 0 }) {
				s.Errorf("no limit of %+v counts drafts", limits)
			}
		})},
	}
}

// drafts runs a case in each chat that supports drafts.
func drafts(run func(s *scene, d preview.Drafter, to chat.Target)) func(*scene) {
	return inPlaces((*scene).drafter, func(p chat.Profile) bool { return p.DraftFor > 0 }, run)
}

// draft shows a draft with the adapter. If the call of Draft fails, the case fails.
func (s *scene) draft(d preview.Drafter, to chat.Target, id int64, text string) {
	s.Helper()
	if err := d.Draft(s.Context(), to, id, outgoing(text)); err != nil {
		s.Fatalf("Draft: %v", err)
	}
}

func (s *scene) wantDrafts(to chat.Target, want ...string) {
	s.Helper()
	if got := s.Drafts(to); !slices.Equal(got, want) {
		s.Errorf("the drafts are %q, want %q", got, want)
	}
}
