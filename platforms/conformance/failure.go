package conformance

import (
	"context"
	"errors"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// failureCases returns the cases about failing calls.
func failureCases() []testCase {
	return []testCase{
		{"a call in a chat that is closed to the bot is reported as forbidden", both(func(s *scene, to chat.Target) {
			ref := s.send(to, "before")
			s.Ban(to)
			_, err := s.adapter.Send(s.Context(), to, outgoing("after"))
			s.wantKind(err, chat.Forbidden)
			if e, ok := s.adapter.(preview.Editor); ok {
				_, err := e.Edit(s.Context(), ref, outgoing("after"))
				s.wantKind(err, chat.Forbidden)
			}
			if f, ok := s.adapter.(preview.Filer); ok {
				_, err := f.SendFile(s.Context(), to, outgoing("after"), file())
				s.wantKind(err, chat.Forbidden)
			}
			if d, ok := s.adapter.(preview.Drafter); ok && s.adapter.Profile(to).DraftFor > 0 {
				s.wantKind(d.Draft(s.Context(), to, draftID, outgoing("after")), chat.Forbidden)
			}
			s.wantShown(to, "before")
			s.wantDrafts(to)
		})},
		{"a rate limit is reported with its wait, and the adapter repeats nothing (F03, F19)", func(s *scene) {
			for _, c := range s.calls() {
				before := s.Calls(c.op)
				s.Break(c.op, RateLimit)
				s.wantLimited(c.run(s.Context(), s.adapter))
				s.wantCalls(c.op, before+1)
				pass(s.retryAfter())
			}
		}},
		{"a call of unknown outcome is reported as uncertain, and the adapter repeats nothing (F13)", func(s *scene) {
			for _, f := range []Fault{ServerError, CutBefore, CutAfter} {
				for _, c := range s.calls() {
					before := s.Calls(c.op)
					s.Break(c.op, f)
					s.wantKind(c.run(s.Context(), s.adapter), chat.Uncertain)
					s.wantCalls(c.op, before+1)
				}
			}
		}},
		{"a message whose connection broke is shown once or not at all (F13)", func(s *scene) {
			s.sendFails(s.Private(), "lost", CutBefore)
			s.sendFails(s.Private(), "shown", CutAfter)
			s.wantShown(s.Private(), "shown")
		}},
		{"an edit can be repeated after the connection broke", with((*scene).editor, func(s *scene, e preview.Editor) {
			ref := s.send(s.Private(), "one")
			for _, f := range []Fault{CutBefore, CutAfter} {
				s.Break(chat.OpEdit, f)
				_, err := e.Edit(s.Context(), ref, outgoing("two"))
				s.wantKind(err, chat.Uncertain)
				s.edit(e, ref, outgoing("two"))
				s.wantShown(s.Private(), "two")
			}
		})},
		{"an adapter continues after a broken connection", func(s *scene) {
			s.sendFails(s.Private(), "lost", CutBefore)
			s.send(s.Private(), "next")
			s.wantShown(s.Private(), "next")
		}},
		{"a call that was certainly not sent is reported as temporary", func(s *scene) {
			nobody := s.connect(Unreachable)
			for _, c := range s.calls() {
				s.wantKind(c.run(s.Context(), nobody), chat.Temporary)
			}
			s.wantKind(nobody.Run(s.Context(), chat.Resume{}, s.refuse), chat.Temporary)
		}},
		{"refused credentials are reported as such", func(s *scene) {
			stranger := s.connect(WrongSecret)
			for _, c := range s.calls() {
				s.wantKind(c.run(s.Context(), stranger), chat.Auth)
			}
			s.wantKind(stranger.Run(s.Context(), chat.Resume{}, s.refuse), chat.Auth)
		}},
		{"calls end when their context ends", func(s *scene) {
			for _, c := range s.calls() {
				s.Break(c.op, Hang)
				s.wantKind(s.endless(func(ctx context.Context) error { return c.run(ctx, s.adapter) }), chat.Uncertain)
				before := s.Calls(c.op)
				over, cancel := context.WithTimeout(s.Context(), 0)
				cancel()
				s.wantKind(c.run(over, s.adapter), chat.Temporary)
				s.wantCalls(c.op, before)
			}
		}},
	}
}

// endless runs a call to which the platform never responds, and returns the call's error. endless checks that the call
// ends when its context ends.
func (s *scene) endless(run func(ctx context.Context) error) error {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	start := time.Now()
	err := run(ctx)
	if took := time.Since(start); took > time.Second+promptly || !errors.Is(err, context.DeadlineExceeded) {
		s.Errorf("the call took %v, its context one second: %v", took, err)
	}
	return err
}

// refuse is an accept function that fails the case. Cases pass refuse to Run if Run must fail before it receives a
// message.
func (s *scene) refuse(_ context.Context, in chat.Inbound) error {
	s.Errorf("accepted %+v, want nothing", in)
	return nil
}
