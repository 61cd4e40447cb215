package conformance

import (
	"context"
	"strings"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// findCases returns the cases in which an adapter finds out whether a create call took effect.
func findCases() []testCase {
	return []testCase{
		{"a message is found by its own key only (D5)", findsByKey(func(s *scene, f preview.Finder, to chat.Target) {
			ref := s.send(to, "one")
			s.send(to, "another")
			s.wantFound(f, to, "key of one", ref)
			s.wantFound(f, to, "key of", chat.MessageRef{})
			s.wantFound(f, to, "no such key", chat.MessageRef{})
		})},
		{"a create call whose connection broke is found, or certainly had no effect (D5)", finds(func(s *scene, f preview.Finder, to chat.Target) {
			s.send(to, "before")
			after := f.Newest(to)
			s.sendFails(to, "lost", CutBefore)
			s.wantFound(f, to, "key of lost", chat.MessageRef{})

			s.sendFails(to, "shown", CutAfter)
			shown := tried("shown")
			shown.After = after
			ref, ok, err := s.ask(f, to, shown)
			if err != nil || !ok || ref.Target != to || ref.ID == "" {
				s.Fatalf("Find = %+v, %t, %v, want the message", ref, ok, err)
			}
			s.wantShown(to, "before", "shown")
			if e, ok := s.adapter.(preview.Editor); ok { // if the bot has found its message, it can edit this message
				s.edit(e, ref, outgoing("changed"))
				s.wantShown(to, "before", "changed")
			}
		})},
		{"a message is found among many others, and after an edit", findsByKey(func(s *scene, f preview.Finder, to chat.Target) {
			ref := s.send(to, "one")
			if e, ok := s.adapter.(preview.Editor); ok {
				s.edit(e, ref, outgoing("changed"))
			}
			for range 30 {
				s.Say(to, Saying{Text: "key of one"})
			}
			s.wantFound(f, to, "key of one", ref)
		})},
		{"a search finds no messages of others, and nothing for a removed message", findsByKey(func(s *scene, f preview.Finder, to chat.Target) {
			s.Say(to, Saying{Text: "key of other"})
			s.wantFound(f, to, "key of other", chat.MessageRef{})
			ref := s.send(to, "one")
			s.Remove(ref)
			if got, ok, err := s.ask(f, to, tried("one")); err != nil || ok && got != ref { // Find may return the removed message
				s.Errorf("Find = %+v, %t, %v, want nothing or %+v", got, ok, err, ref)
			}
		})},
		{"a file is found by its key (D5)", findsByKey(func(s *scene, f preview.Finder, to chat.Target) {
			fl, ok := s.filer()
			if !ok {
				return
			}
			ref := s.sendFile(fl, to, outgoing("a file"), file())
			c := tried("a file")
			c.File = true
			got, found, err := s.ask(f, to, c)
			switch {
			case err != nil: // if the platform can't search for files, Find must fail with Rejected
				s.wantKind(err, chat.Rejected)
			case !found || got != ref:
				s.Errorf("Find = %+v, %t, want %+v", got, found, ref)
			}
		})},
		{"a search that fails returns an error and no result", finds(func(s *scene, f preview.Finder, to chat.Target) {
			one := tried("one")
			one.After = f.Newest(to)
			s.send(to, "one")
			before := s.Calls(chat.OpFind)
			if _, _, err := s.ask(f, to, one); err != nil || s.Calls(chat.OpFind) == before {
				return // if Find makes no call to the platform, there is no call that can fail
			}
			ask := func(ctx context.Context, f preview.Finder) error {
				found, err := f.Find(ctx, to, one, "")
				if err == nil || found != (chat.Found{}) {
					s.Errorf("Find = %+v, %v, want an error alone", found, err)
				}
				return err
			}
			s.Break(chat.OpFind, RateLimit)
			s.wantLimited(ask(s.Context(), f))
			pass(RetryAfter)
			for _, fault := range []Fault{ServerError, CutBefore, CutAfter} {
				s.Break(chat.OpFind, fault)
				s.wantPassing(ask(s.Context(), f))
			}
			s.Break(chat.OpFind, Hang)
			s.wantPassing(s.endless(func(ctx context.Context) error { return ask(ctx, f) }))
			for how, want := range map[Connection]chat.ErrorKind{WrongSecret: chat.Auth, Unreachable: chat.Temporary} {
				if other, ok := s.connect(how).(preview.Finder); ok {
					s.wantKind(ask(s.Context(), other), want)
				}
			}
		})},
	}
}

// finds runs a case in each chat, if the adapter is a preview.Finder. During the case, the adapter also receives
// messages, because Find may need the ids of received messages.
func finds(run func(s *scene, f preview.Finder, to chat.Target)) func(*scene) {
	return with((*scene).finder, func(s *scene, f preview.Finder) {
		s.Helper()
		r := s.start("")
		defer r.stop(s)
		for _, to := range s.both() {
			run(s, f, to)
		}
	})
}

// findsByKey is like finds, but runs a case only on platforms that can find every message by its key. On other
// platforms, the adapter can find a message only if the outcome of the call that created the message is unknown.
func findsByKey(run func(s *scene, f preview.Finder, to chat.Target)) func(*scene) {
	return finds(func(s *scene, f preview.Finder, to chat.Target) {
		s.Helper()
		if s.adapter.Profile(to).LateFor == 0 {
			run(s, f, to)
		}
	})
}

// tried returns a create call whose message consists of the given text.
func tried(text string) chat.Create {
	m := outgoing(text)
	return chat.Create{Key: m.Key, Message: m}
}

// maxFinds is the maximum number of calls of Find with which an adapter must complete the search for one message.
const maxFinds = 20

// ask calls Find until Find has found the message of the create call c, or has found out that the message does not
// exist. While Find fails with Temporary, ask repeats the call for up to a minute.
func (s *scene) ask(f preview.Finder, to chat.Target, c chat.Create) (ref chat.MessageRef, ok bool, err error) {
	s.Helper()
	next, calls := "", 0
	for range 60 {
		found, err := f.Find(s.Context(), to, c, next)
		switch {
		case err != nil && chat.AsSendError(err).Kind != chat.Temporary:
			return chat.MessageRef{}, false, err
		case err != nil:
			pass(time.Second)
			continue
		case found.Next == "":
			return found.Ref, found.Ref.ID != "", nil
		}
		if next, calls = found.Next, calls+1; calls > maxFinds {
			s.Fatalf("a search goes on after %d calls", calls)
		}
	}
	return chat.MessageRef{}, false, &chat.SendError{Kind: chat.Temporary}
}

// wantFound checks that Find finds the message want by its idempotency key. If want has no id, Find must find nothing.
func (s *scene) wantFound(f preview.Finder, to chat.Target, key string, want chat.MessageRef) {
	s.Helper()
	if got, ok, err := s.ask(f, to, tried(strings.TrimPrefix(key, "key of "))); err != nil || ok != (want.ID != "") || got != want {
		s.Errorf("Find %q = %+v, %t, %v, want %+v", key, got, ok, err, want)
	}
}

// wantPassing checks that a call of Find failed with Temporary or Uncertain. Temporary and Uncertain are both correct,
// because calling Find again does no harm.
func (s *scene) wantPassing(err error) {
	s.Helper()
	if kind := chat.AsSendError(err).Kind; kind != chat.Uncertain && kind != chat.Temporary {
		s.Errorf("kind = %v, want one that passes (%v)", kind, err)
	}
	s.wantNoSecret("an error", err.Error())
}

// keyCases returns the cases about create calls that are repeated with the same idempotency key.
func keyCases() []testCase {
	return []testCase{
		{"a repeated create call with the same key makes no second message (D5)", keyed(func(s *scene, to chat.Target, last time.Duration) {
			ref := s.send(to, "one")
			for range 2 {
				if again := s.send(to, "one"); again != ref {
					s.Errorf("the message is %+v and then %+v", ref, again)
				}
			}
			pass(last)
			if again := s.send(to, "one"); again != ref {
				s.Errorf("after %v the message is %+v, want %+v", last, again, ref)
			}
			s.wantShown(to, "one")
			m := outgoing("one")
			m.Key = "another key"
			if receipt, err := s.adapter.Send(s.Context(), to, m); err != nil || receipt.Ref == ref || receipt.Ref.ID == "" {
				s.Errorf("Send with another key = %+v, %v, want another message than %+v", receipt, err, ref)
			}
			s.wantShown(to, "one", "one")
		})},
		{"after a create call whose connection broke, the next attempt leaves one message (D5)", keyed(func(s *scene, to chat.Target, last time.Duration) {
			for _, c := range []struct {
				fault Fault
				text  string
			}{{CutBefore, "lost"}, {CutAfter, "shown"}, {ServerError, "refused"}} {
				s.sendFails(to, c.text, c.fault)
				pass(last)
				s.send(to, c.text)
			}
			s.wantShown(to, "lost", "shown", "refused")
		})},
		{"a repeated create call with another text makes no second message", keyed(func(s *scene, to chat.Target, _ time.Duration) {
			ref := s.send(to, "one")
			longer := outgoing("one two")
			longer.Key = "key of one"
			if receipt, err := s.adapter.Send(s.Context(), to, longer); err != nil || receipt.Ref != ref {
				s.Errorf("Send = %+v, %v, want %+v", receipt, err, ref)
			}
			if n := len(s.Shown(to)); n != 1 {
				s.Errorf("%d messages stand, want one", n)
			}
		})},
		{"a repeated file with the same key makes no second message (D5)", keyed(func(s *scene, to chat.Target, last time.Duration) {
			f, ok := s.filer()
			if !ok {
				return
			}
			s.Break(chat.OpSend, CutAfter)
			_, err := f.SendFile(s.Context(), to, outgoing("the rest"), file())
			s.wantKind(err, chat.Uncertain)
			pass(last)
			s.sendFile(f, to, outgoing("the rest"), file())
			s.wantFiles(to, File{Name: "answer.md", Content: file().Content, Caption: "the rest"})
		})},
	}
}

// keyed runs a case in each chat where the platform recognizes repeated create calls by their idempotency key. The
// parameter last is a little less than the time for which the platform recognizes a key.
func keyed(run func(s *scene, to chat.Target, last time.Duration)) func(*scene) {
	return func(s *scene) {
		s.Helper()
		s.lacks = "KeyFor"
		for _, to := range s.both() {
			if d := s.adapter.Profile(to).KeyFor; d > 0 {
				s.lacks = ""
				run(s, to, d-time.Second)
			}
		}
	}
}
