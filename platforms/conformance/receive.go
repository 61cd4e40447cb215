package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// receiveCases returns the cases about receiving: which messages the adapter passes on, when, and how many times.
func receiveCases() []testCase {
	return []testCase{
		{"every message is accepted once and in order, including old ones (F43, F44)", people(func(s *scene) {
			resume := s.known()
			var want []string
			say := func(text string) {
				s.Say(s.Private(), Saying{Text: text})
				want = append(want, text)
			}
			say("before 1")
			say("before 2")
			r := s.start(resume)
			for i := range 5 {
				say(fmt.Sprintf("during %d", i))
			}
			s.wantTexts(r, want...)
			r.stop(s)
			say("between")
			want = want[len(want)-1:]
			r = s.start(r.resume)
			s.wantTexts(r, want...)
			r.stop(s)
		})},
		{"a message that was not accepted is delivered again (F43)", people(func(s *scene) {
			resume := s.known()
			for _, text := range []string{"one", "two", "three"} {
				s.Say(s.Private(), Saying{Text: text})
			}
			ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
			defer cancel()
			full := errors.New("disk full")
			err := s.adapter.Run(ctx, chat.Resume{Cursor: resume}, func(_ context.Context, in chat.Inbound) error {
				if in.Text == "two" {
					return full
				}
				resume = in.Resume
				return nil
			})
			if !errors.Is(err, full) {
				s.Errorf("Run = %v, want %v", err, full)
			}
			r := s.start(resume)
			s.wantTexts(r, "two", "three")
			r.stop(s)
		})},
		{"an invalid update does not block the next one", people(func(s *scene) {
			resume := s.known()
			s.Say(s.Private(), Saying{Text: "one"})
			s.Garble()
			s.Say(s.Private(), Saying{Text: "two"})
			s.Garble()
			r := s.start(resume)
			s.Garble()
			s.Say(s.Private(), Saying{Text: "three"})
			s.wantTexts(r, "one", "two", "three")
			r.stop(s)
		})},
		{"the bot's own messages are ignored, and an edited message is not a new one", people(func(s *scene) {
			r := s.start("")
			for _, to := range s.both() {
				s.send(to, "mine")
			}
			s.Say(s.Private(), Saying{Text: "first", Edited: "changed"})
			first := s.one(r)
			s.Say(s.Private(), Saying{Text: "second"})
			s.wantTexts(r, "second")
			r.stop(s)
			s.wantChanged(r, first)
		})},
		{"Run ends when its context ends, after the current message", func(s *scene) {
			ctx, cancel := context.WithCancel(s.Context())
			done := make(chan error, 1)
			var got []string
			var start time.Time
			go func() {
				done <- s.adapter.Run(ctx, chat.Resume{}, func(_ context.Context, in chat.Inbound) error {
					start = time.Now()
					cancel()
					pass(50 * time.Millisecond) // simulate a store that needs some time for the message
					got = append(got, s.said(in))
					return nil
				})
			}()
			pass(time.Second)
			synctest.Wait()
			s.Say(s.Private(), Saying{Text: "one"})
			err := <-done
			if took := time.Since(start); took > 50*time.Millisecond+promptly {
				s.Errorf("the run ended %v after its context", took)
			}
			if !errors.Is(err, context.Canceled) || !slices.Equal(got, []string{"one"}) {
				s.Errorf("Run = %v having accepted %q, want %v and one", err, got, context.Canceled)
			}
		}},
		{"Run reports that it is alive while nothing arrives", func(s *scene) {
			p, ok := s.adapter.(gateway.Pulse)
			if !ok {
				return // this adapter's Run contains no loop that the watchdog must monitor
			}
			r := s.start("")
			for range 60 {
				pass(47 * time.Second)
				synctest.Wait()
				last, limit := p.Pulse()
				if still := time.Since(last); still > limit {
					s.Errorf("its loop has stood still for %v, want %v at most", still, limit)
				}
			}
			r.stop(s)
		}},
		{"sending works while receiving", func(s *scene) {
			r := s.start("")
			s.send(s.Private(), "meanwhile")
			s.Say(s.Private(), Saying{Text: "hello"})
			s.wantTexts(r, "hello")
			s.wantShown(s.Private(), "meanwhile")
			r.stop(s)
		}},
	}
}

// decodeCases returns the cases about the fields of received messages.
func decodeCases() []testCase {
	return []testCase{
		{"a message contains everything that an answer needs", people(func(s *scene) {
			r := s.start("")
			said := time.Now()
			s.Say(s.Private(), Saying{Text: "hello 🦊"})
			in := s.one(r)
			if in.To != s.Private() || in.ID == "" || in.Sender.ID == "" || in.Sender.Bot || in.Kind != chat.Text ||
				in.Text != "hello 🦊" || !in.Addressed || in.Reply || in.Resume == "" {
				s.Errorf("got %+v", in)
			}
			if off := in.At.Sub(said).Abs(); off > time.Second { // platforms may round times to whole seconds
				s.Errorf("the message is of %v, want %v", in.At, said)
			}
			r.stop(s)
		})},
		{"in groups, the bot recognizes messages that address it", inGroup(func(s *scene) {
			own := s.send(s.Group(), "mine")
			r := s.start("")
			r.take()
			s.Say(s.Group(), Saying{Text: "what is that?", Mention: true})
			s.wantGroup(s.one(r), chat.Inbound{Text: "what is that?"})
			if _, ok := s.World.(Threader); !ok {
				s.Say(s.Group(), Saying{Text: "go on", ReplyTo: own})
				s.wantGroup(s.one(r), chat.Inbound{Text: "go on"})
			}
			if !s.adapter.Profile(s.Group()).NoCommands {
				s.Say(s.Group(), Saying{Text: "/model big one", Command: true})
				in := s.one(r)
				s.wantCommand(in, "model", "big one")
				if in.To != s.Group() || !in.Reply {
					s.Errorf("got %+v, want it from the group and to be replied to", in)
				}
			}
			s.Say(s.Group(), Saying{Text: "nobody asked the bot"})
			for _, in := range r.take() { // some platforms do not deliver the message of this case
				if in.Addressed {
					s.Errorf("%+v is addressed, want not", in)
				}
			}
			r.stop(s)
		})},
		{"a command is split into its name and its arguments", people(func(s *scene) {
			r := s.start("")
			s.Say(s.Private(), Saying{Text: "/New", Command: true})
			s.wantCommand(s.one(r), "new", "")
			r.stop(s)
		})},
		{"messages in a thread of the bot's message are addressed to the bot", func(s *scene) {
			w, ok := s.World.(Threader)
			if !ok {
				s.lacks = "Threads"
				return
			}
			own := s.send(w.Channel(), "mine")
			r := s.start("")
			r.take()
			s.Say(w.Channel(), Saying{Text: "go on", ReplyTo: own})
			in := s.one(r)
			if !in.Addressed || in.Text != "go on" || in.To.Chat != w.Channel().Chat || in.To.Thread == "" || in.To == s.Group() {
				s.Errorf("got %+v, want it addressed, in a thread of its own", in)
			}
			s.Say(w.Channel(), Saying{Text: "and you?", Mention: true})
			if in := s.one(r); !in.Addressed || in.Text != "and you?" || in.To.Chat != w.Channel().Chat || in.To.Thread == "" {
				s.Errorf("got %+v, want it addressed, to be answered in a thread", in)
			}
			r.stop(s)
		}},
	}
}

// running is a call of an adapter's Run in a separate goroutine. A case may read the fields of running only while all
// goroutines of its synctest bubble are blocked.
type running struct {
	cancel   context.CancelFunc
	done     chan error
	accepted []chat.Inbound
	changes  []chat.Inbound // edits and deletions of messages
	resume   string
}

// known makes the adapter receive a first message, and returns the resume position after that message. Some platforms
// store messages for a bot only if the bot has connected before.
func (s *scene) known() string {
	s.Helper()
	r := s.start("")
	s.Say(s.Private(), Saying{Text: "first"})
	s.wantTexts(r, "first")
	r.stop(s)
	return r.resume
}

// wantChanged checks that the adapter reported at most one change of a message, and that the changed message is first.
func (s *scene) wantChanged(r *running, first chat.Inbound) {
	s.Helper()
	for _, c := range r.changes {
		if c.Kind != chat.Edited || c.ID != first.ID || c.Text != "changed" || c.To != first.To || c.Sender != first.Sender {
			s.Errorf("a change of %+v is told as %+v", first, c)
		}
	}
	if first.Text != "first" || len(r.changes) > 1 {
		s.Errorf("accepted %q and %d changes, want %q and at most one", first.Text, len(r.changes), "first")
	}
}

// start runs the adapter in another goroutine until the method stop is called.
func (s *scene) start(resume string) *running {
	ctx, cancel := context.WithCancel(s.Context())
	r := &running{cancel: cancel, done: make(chan error, 1), resume: resume}
	go func() {
		r.done <- s.adapter.Run(ctx, chat.Resume{Cursor: resume}, func(_ context.Context, in chat.Inbound) error {
			r.resume = in.Resume
			if in.Kind == chat.Edited || in.Kind == chat.Deleted {
				r.changes = append(r.changes, in)
			} else {
				r.accepted = append(r.accepted, in)
			}
			return nil
		})
	}()
	pass(time.Second) // wait until the adapter is connected, which may take several calls
	synctest.Wait()
	return r
}

// stop ends Run, and checks that Run returns promptly.
func (r *running) stop(s *scene) {
	s.Helper()
	start := time.Now()
	r.cancel()
	if err := <-r.done; !errors.Is(err, context.Canceled) {
		s.Errorf("Run = %v, want %v", err, context.Canceled)
	}
	if took := time.Since(start); took > promptly {
		s.Errorf("Run took %v to end, want at most %v", took, promptly)
	}
}

// The method take waits until the adapter is idle, and returns the messages that were accepted since the previous call
// of take.
func (r *running) take() []chat.Inbound {
	pass(time.Minute)
	synctest.Wait()
	list := r.accepted
	r.accepted = nil
	return list
}

// wantTexts checks the texts of the messages that were accepted since the previous call of take, and checks that all
// ids differ.
func (s *scene) wantTexts(r *running, want ...string) {
	s.Helper()
	var got []string
	ids := map[chat.MessageID]bool{}
	for _, in := range r.take() {
		got = append(got, s.said(in))
		ids[in.ID] = true
	}
	if _, unordered := s.World.(Unordered); unordered {
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
	}
	if !slices.Equal(got, want) || len(ids) != len(want) {
		s.Errorf("accepted %q with %d ids, want %q", got, len(ids), want)
	}
}

// The method one returns the only message that was accepted since the previous call of take. If no message or several
// messages were accepted, the case fails.
func (s *scene) one(r *running) chat.Inbound {
	s.Helper()
	list := r.take()
	if len(list) != 1 {
		s.Fatalf("accepted %+v, want one message", list)
	}
	return list[0]
}

// wantCommand checks the name and the arguments of a received command. On a platform that has a single command for all
// of telex's commands, got contains no command name. If got contains no command name, wantCommand takes the name from
// the text, as the gateway does. wantCommand does not check the text of the message, which differs between platforms.
func (s *scene) wantCommand(got chat.Inbound, name, args string) {
	s.Helper()
	if got.Command == "" {
		first, rest, _ := strings.Cut(got.Args, " ")
		got.Command, got.Args = strings.ToLower(strings.TrimPrefix(first, "/")), rest
	}
	if got.Kind != chat.Command || got.Command != name || got.Args != args || !got.Addressed || got.ID == "" {
		s.Errorf("got %+v, want it addressed, the command %s and %q", got, name, args)
	}
}

// wantGroup compares a message that arrived in the group with the expected message.
func (s *scene) wantGroup(got, want chat.Inbound) {
	s.Helper()
	if !got.Addressed || !got.Reply || got.To != s.Group() || got.Text != want.Text || got.Kind != want.Kind {
		s.Errorf("got %+v, want it addressed, to be replied to, and %+v", got, want)
	}
}
