package conformance

import (
	"context"
	"slices"
	"strings"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// streamCases returns the cases about native streams.
func streamCases() []testCase {
	return []testCase{
		{"a stream grows by the added text, and is a message after it is stopped", streams(func(s *scene, st preview.Streamer, w StreamWorld, m chat.Outgoing, to chat.Target) {
			ref := s.stream(st, to, m, "one")
			s.wantStreams(w, to, "one")
			s.grow(st, ref, " two 🦊")
			s.grow(st, ref, "\n\nthree")
			s.wantStreams(w, to, "one two 🦊\n\nthree")
			s.stop(st, ref, " four")
			s.wantStreams(w, to)
			s.wantShown(to, "one two 🦊\n\nthree four")
		})},
		{"a stream shows no link previews", streams(func(s *scene, st preview.Streamer, _ StreamWorld, m chat.Outgoing, to chat.Target) {
			ref := s.stream(st, to, m, "see https://leak.example.com/1")
			s.grow(st, ref, " and [a](https://leak.example.com/2)")
			s.stop(st, ref, " or https://leak.example.com/3")
			s.wantNone(s.Opened(to), "the platform opened")
		})},
		{"a stream can be stopped without more text, and a second time", streams(func(s *scene, st preview.Streamer, w StreamWorld, m chat.Outgoing, to chat.Target) {
			ref := s.stream(st, to, m, "one")
			for range 2 {
				s.stop(st, ref, "")
				s.wantStreams(w, to)
				s.wantShown(to, "one")
			}
		})},
		{"a stopped stream is edited and deleted like any other message", streams(func(s *scene, st preview.Streamer, _ StreamWorld, m chat.Outgoing, to chat.Target) {
			e, ok := s.editor()
			if !ok {
				s.Error("there are streams without edits: what was streamed wrongly would stand")
				return
			}
			ref := s.stream(st, to, m, "one")
			s.stop(st, ref, " two")
			for _, text := range []string{"other", "other", "1"} {
				s.edit(e, ref, outgoing(text))
				s.wantShown(to, text)
			}
			if d, ok := s.adapter.(preview.Deleter); ok {
				s.delete(d, ref)
				s.wantShown(to)
			}
		})},
		{"text added over a broken connection is reported as uncertain, and the adapter repeats nothing", streams(func(s *scene, st preview.Streamer, w StreamWorld, m chat.Outgoing, to chat.Target) {
			ref := s.stream(st, to, m, "one")
			for _, c := range []struct {
				fault Fault
				want  string
			}{{CutBefore, "one"}, {CutAfter, "one two"}} {
				before := s.Calls(chat.OpAppend)
				s.Break(chat.OpAppend, c.fault)
				s.wantKind(st.Append(s.Context(), ref, " two"), chat.Uncertain)
				s.wantCalls(chat.OpAppend, before+1)
				s.wantStreams(w, to, c.want)
			}
			s.stop(st, ref, "")
			s.wantShown(to, "one two")
		})},
		{"a stop can be repeated after the connection broke", streams(func(s *scene, st preview.Streamer, w StreamWorld, m chat.Outgoing, to chat.Target) {
			for i, f := range []Fault{CutBefore, CutAfter} {
				ref := s.stream(st, to, m, []string{"one", "two"}[i])
				s.Break(chat.OpStop, f)
				s.wantKind(st.Stop(s.Context(), ref, ""), chat.Uncertain)
				s.stop(st, ref, "")
				s.wantStreams(w, to)
			}
			s.wantShown(to, "one", "two")
		})},
		{"adding text to a stopped stream fails", streams(func(s *scene, st preview.Streamer, _ StreamWorld, m chat.Outgoing, to chat.Target) {
			ref := s.stream(st, to, m, "one")
			s.stop(st, ref, "")
			if err := st.Append(s.Context(), ref, " two"); err == nil {
				s.Error("Append to a stream that was stopped succeeded")
			} else {
				s.wantNoSecret("an error", err.Error())
			}
			s.wantShown(to, "one")
		})},
	}
}

// streamEndCases returns the cases about native streams that end in unusual ways.
func streamEndCases() []testCase {
	return []testCase{
		{"a stream that the platform ended can be stopped and completed (F48)", streams(func(s *scene, st preview.Streamer, w StreamWorld, m chat.Outgoing, to chat.Target) {
			e, ok := s.editor()
			if !ok {
				return
			}
			life := s.adapter.Profile(to).StreamFor
			if life >= w.StreamLife() {
				s.Fatalf("a stream is to be stopped after %v, and the platform ends it after %v", life, w.StreamLife())
			}
			ref := s.stream(st, to, m, "one")
			pass(w.StreamLife() + time.Second)
			if got, want := w.Broken(to), []string{"one"}; !slices.Equal(got, want) {
				s.Errorf("broken are %q, want %q", got, want)
			}
			if err := st.Append(s.Context(), ref, " two"); err == nil {
				s.Error("Append to a stream that has ended succeeded")
			}
			if err := st.Stop(s.Context(), ref, ""); err != nil { // Stop may succeed; if it fails with Rejected, the gateway edits the message
				s.wantKind(err, chat.Rejected)
			}
			s.edit(e, ref, outgoing("one two"))
			s.wantShown(to, "one two")
			s.wantNone(w.Broken(to), "broken are")
		})},
		{"a stream that is stopped in time never breaks (F48)", streams(func(s *scene, st preview.Streamer, w StreamWorld, m chat.Outgoing, to chat.Target) {
			ref := s.stream(st, to, m, "one")
			pass(s.adapter.Profile(to).StreamFor)
			s.stop(st, ref, " two")
			pass(2 * w.StreamLife())
			s.wantShown(to, "one two")
			s.wantNone(w.Broken(to), "broken are")
		})},
		{"a stream is refused in chats without streams", with((*scene).streamer, func(s *scene, st preview.Streamer) {
			places := s.both()
			for _, to := range places {
				if s.adapter.Profile(to).StreamFor > 0 {
					continue
				}
				_, err := st.Start(s.Context(), to, outgoing("x"))
				s.wantKind(err, chat.Rejected)
				s.wantShown(to)
			}
			if !slices.ContainsFunc(places, func(to chat.Target) bool { return s.adapter.Profile(to).StreamFor > 0 }) {
				s.Error("there are streams neither in the private chat nor in the group")
			}
		})},
		{"a stream may be as long as a message, a longer one is reported as too long", streams(func(s *scene, st preview.Streamer, _ StreamWorld, m chat.Outgoing, to chat.Target) {
			limit := s.adapter.Profile(to).TextLimit
			ref := s.stream(st, to, m, "x")
			s.grow(st, ref, strings.Repeat("x", limit-2))
			s.stop(st, ref, "x")
			s.wantShown(to, strings.Repeat("x", limit))
			m.Text, m.Key = strings.Repeat("x", 100_000), "too long"
			_, err := st.Start(s.Context(), to, m)
			s.wantKind(err, chat.TooLong)
			s.wantShown(to, strings.Repeat("x", limit))
		})},
	}
}

// streamFailureCases returns the cases about failing calls on streams.
func streamFailureCases() []testCase {
	return []testCase{
		{"a stream of a removed message is reported as gone, and one in a closed chat as forbidden", streams(func(s *scene, st preview.Streamer, _ StreamWorld, m chat.Outgoing, to chat.Target) {
			ref := s.stream(st, to, m, "one")
			s.Remove(ref)
			s.wantKind(st.Append(s.Context(), ref, " two"), chat.Gone)
			if err := st.Stop(s.Context(), ref, ""); err != nil { // Stop of a deleted stream may succeed or fail with Gone
				s.wantKind(err, chat.Gone)
			}
			s.wantShown(to)
			other := s.stream(st, to, m, "other")
			s.Ban(to)
			s.wantKind(st.Append(s.Context(), other, " two"), chat.Forbidden)
			_, err := st.Start(s.Context(), to, m)
			s.wantKind(err, chat.Forbidden)
		})},
		{"errors of stream calls are classified like any other", streams(func(s *scene, st preview.Streamer, _ StreamWorld, m chat.Outgoing, to chat.Target) {
			ref := s.stream(st, to, m, "one")
			m.Key = "another"
			for op, run := range map[chat.Op]func(context.Context, preview.Streamer) error{
				chat.OpStart: func(ctx context.Context, st preview.Streamer) error {
					_, err := st.Start(ctx, to, m)
					return err
				},
				chat.OpAppend: func(ctx context.Context, st preview.Streamer) error { return st.Append(ctx, ref, " two") },
				chat.OpStop:   func(ctx context.Context, st preview.Streamer) error { return st.Stop(ctx, ref, " end") },
			} {
				s.judgeCall(op, func(ctx context.Context, a Adapter) error {
					return run(ctx, a.(preview.Streamer)) //nolint:errcheck // the adapter has the capability.
				})
			}
		})},
		{"stream calls count against the limits that the profile states", streams(func(s *scene, _ preview.Streamer, _ StreamWorld, _ chat.Outgoing, to chat.Target) {
			limits := s.adapter.Profile(to).Limits
			for _, op := range []chat.Op{chat.OpStart, chat.OpAppend, chat.OpStop} {
				if len(limits) > 0 && !slices.ContainsFunc(limits, func(l chat.Limit) bool { return l.Ops&op != 0 }) {
					s.Errorf("no limit of %+v counts calls %b", limits, op)
				}
			}
		})},
	}
}

// judgeCall checks which kind of error a call of type op returns after each of several faults. None of the faults that
// judgeCall causes lets the call take effect, so judgeCall may repeat the call.
func (s *scene) judgeCall(op chat.Op, run func(ctx context.Context, a Adapter) error) {
	s.Helper()
	before := s.Calls(op)
	s.Break(op, RateLimit)
	s.wantLimited(run(s.Context(), s.adapter))
	pass(RetryAfter)
	s.Break(op, ServerError)
	s.wantKind(run(s.Context(), s.adapter), chat.Uncertain)
	s.wantCalls(op, before+2)

	s.Break(op, Hang)
	s.wantKind(s.endless(func(ctx context.Context) error { return run(ctx, s.adapter) }), chat.Uncertain)
	over, cancel := context.WithTimeout(s.Context(), 0)
	cancel()
	s.wantKind(run(over, s.adapter), chat.Temporary)
	s.wantCalls(op, before+3)
	s.wantKind(run(s.Context(), s.connect(Unreachable)), chat.Temporary)
	s.wantKind(run(s.Context(), s.connect(WrongSecret)), chat.Auth)
}

// streams runs a case in each chat that supports streams. The parameter m of the function run answers a person's
// message, because on some platforms a stream can only be sent to a certain person.
func streams(run func(s *scene, st preview.Streamer, w StreamWorld, m chat.Outgoing, to chat.Target)) func(*scene) {
	return inPlaces((*scene).streamer, func(p chat.Profile) bool { return p.StreamFor > 0 }, func(s *scene, st preview.Streamer, to chat.Target) {
		s.Helper()
		w, ok := s.World.(StreamWorld)
		if !ok {
			s.Fatal("the adapter has streams, and the world can't show them")
		}
		run(s, st, w, s.answering(to), to)
	})
}

// answering makes a person write in a chat, and returns a message that answers this person.
func (s *scene) answering(to chat.Target) chat.Outgoing {
	s.Helper()
	r := s.start("")
	r.take()
	s.Say(to, Saying{Text: "tell me", Mention: to.Kind == chat.Group})
	in := s.one(r)
	r.stop(s)
	if in.To != to {
		s.Fatalf("the answer would go to %+v, want %+v", in.To, to)
	}
	m := outgoing("")
	m.ReplyTo, m.Answers = in.ID, in.ID
	return m
}

// stream starts a native stream that shows text. The parameter m contains the other fields of the message. If the
// stream can't be started, the case fails.
func (s *scene) stream(st preview.Streamer, to chat.Target, m chat.Outgoing, text string) chat.MessageRef {
	s.Helper()
	m.Text, m.Plain, m.Source, m.Key = text, text, text, "key of "+text
	receipt, err := st.Start(s.Context(), to, m)
	return s.shown(to, receipt, err)
}

func (s *scene) grow(st preview.Streamer, ref chat.MessageRef, text string) {
	s.Helper()
	if err := st.Append(s.Context(), ref, text); err != nil {
		s.Errorf("Append: %v", err)
	}
}

func (s *scene) stop(st preview.Streamer, ref chat.MessageRef, text string) {
	s.Helper()
	if err := st.Stop(s.Context(), ref, text); err != nil {
		s.Errorf("Stop: %v", err)
	}
}

// wantStreams checks the texts of the streams that are running in a chat.
func (s *scene) wantStreams(w StreamWorld, to chat.Target, want ...string) {
	s.Helper()
	if got := w.Streaming(to); !slices.Equal(got, want) {
		s.Errorf("the streams are %q, want %q", got, want)
	}
	for _, text := range want {
		if !slices.Contains(s.Shown(to), text) {
			s.Errorf("%q is a stream and not shown", text)
		}
	}
}
