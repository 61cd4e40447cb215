package conformance

import (
	"bytes"
	"context"
	"errors"
	"time"

	"telex/gateway"
	"telex/internal/chat"
)

// enough is a size limit in bytes. All attachments in the cases about attachments are smaller than enough.
const enough = 1 << 20

// attached returns a file of the given size, which a person can send.
func attached(size int) File {
	return File{Name: "notes.txt", Content: bytes.Repeat([]byte("ünïcödé 🦊\r\n\x00--\n"), size/21+1)[:size]}
}

// fetchCases returns the cases about attachments that people send.
func fetchCases() []testCase {
	return []testCase{
		{"an attachment is fetched unchanged", with((*scene).fetcher, func(s *scene, f gateway.Fetcher) {
			for _, size := range []int{1, 5000} {
				file := attached(size)
				a := s.attach(file, int64(size))
				if _, unsized := s.World.(Unsized); unsized {
					a.Size = int64(size)
				}
				if a.Name != file.Name || a.Size != int64(size) {
					s.Errorf("attached is %+v, want %s of %d bytes", a, file.Name, size)
				}
				s.fetch(f, a, file)
				s.fetch(f, a, file) // it must be possible to fetch the file a second time
			}
		})},
		{"attachments in a group can be fetched, also if the bot is not addressed", inGroup(with((*scene).fetcher, func(s *scene, _ gateway.Fetcher) {
			r := s.start("")
			s.Attach(s.Group(), attached(100), 100)
			for _, in := range r.take() { // some platforms don't deliver a message that does not mention the bot
				if in.Addressed || len(in.Attachments) != 1 {
					s.Errorf("got %+v, want one attachment of a message that is not addressed to the bot", in)
				}
			}
			r.stop(s)
		}))},
		{"a fetch stops at the maximum size", with((*scene).fetcher, func(s *scene, f gateway.Fetcher) {
			file := attached(5000)
			a := s.attach(file, 5000)
			s.fetchWithin(f, a, file, 5000)
			for _, limit := range []int64{4999, 1, 0} {
				s.wantTooLarge(f, a, limit)
			}
		})},
		{"a fetch checks the size itself, because the stated size may be wrong", with((*scene).fetcher, func(s *scene, f gateway.Fetcher) {
			file := attached(5000)
			for _, said := range []int64{0, 10} {
				a := s.attach(file, said)
				s.fetchWithin(f, a, file, 5000)
				s.wantTooLarge(f, a, 4999)
				s.wantTooLarge(f, a, 100)
			}
		})},
		{"fetching a deleted file reports that it is gone", with((*scene).fetcher, func(s *scene, f gateway.Fetcher) {
			_, err := f.Fetch(s.Context(), s.attach(File{Name: "old.txt"}, 10), enough)
			s.wantKind(err, chat.Gone)
			_, err = f.Fetch(s.Context(), chat.Attachment{Name: "poll"}, enough)
			s.wantKind(err, chat.Gone)
		})},
		{"a fetch that breaks off fails, and can be repeated", with((*scene).fetcher, func(s *scene, f gateway.Fetcher) {
			file := attached(5000)
			for _, said := range []int64{5000, 0} {
				a := s.attach(file, said)
				for _, fault := range []Fault{CutAfter, ServerError} {
					s.BreakFetch(fault)
					s.wantUnfetched(f, a, chat.Temporary)
					s.fetch(f, a, file)
				}
			}
		})},
		{"a refused fetch reports the reason", with((*scene).fetcher, func(s *scene, f gateway.Fetcher) {
			file := attached(100)
			a := s.attach(file, 100)
			s.BreakFetch(RateLimit)
			_, err := f.Fetch(s.Context(), a, enough)
			s.wantLimited(err)
			pass(s.retryAfter())
			s.fetch(f, a, file)
			for how, want := range map[Connection]chat.ErrorKind{WrongSecret: chat.Auth, Unreachable: chat.Temporary} {
				other, ok := s.connect(how).(gateway.Fetcher)
				if !ok {
					continue
				}
				if _, open := s.World.(OpenFiles); open && how == WrongSecret {
					s.fetch(other, a, file)
					continue
				}
				s.wantUnfetched(other, a, want)
			}
		})},
		{"a fetch ends when its context ends", with((*scene).fetcher, func(s *scene, f gateway.Fetcher) {
			a := s.attach(attached(5000), 5000)
			s.BreakFetch(Hang)
			ctx, cancel := context.WithTimeout(s.Context(), time.Second)
			defer cancel()
			start := time.Now()
			for range 2 {
				_, err := f.Fetch(ctx, a, enough)
				s.wantKind(err, chat.Temporary)
				if !errors.Is(err, context.DeadlineExceeded) {
					s.Errorf("error = %v, want one that is %v", err, context.DeadlineExceeded)
				}
			}
			if took := time.Since(start); took > time.Second+promptly {
				s.Errorf("fetching took %v, its context one second", took)
			}
		})},
	}
}

// attach makes a person send a file in the private chat, and returns the attachment that the adapter received.
func (s *scene) attach(f File, size int64) chat.Attachment {
	s.Helper()
	r := s.start("")
	r.take()
	s.Attach(s.Private(), f, size)
	in := s.one(r)
	r.stop(s)
	if !in.Addressed || len(in.Attachments) != 1 || in.Attachments[0].ID == "" {
		s.Fatalf("got %+v, want one attachment with an id", in)
	}
	return in.Attachments[0]
}

func (s *scene) fetch(f gateway.Fetcher, a chat.Attachment, want File) {
	s.Helper()
	s.fetchWithin(f, a, want, enough)
}

func (s *scene) fetchWithin(f gateway.Fetcher, a chat.Attachment, want File, limit int64) {
	s.Helper()
	got, err := f.Fetch(s.Context(), a, limit)
	if err != nil || !bytes.Equal(got, want.Content) {
		s.Errorf("Fetch within %d = %d bytes, %v, want the %d that were sent", limit, len(got), err, len(want.Content))
	}
}

func (s *scene) wantTooLarge(f gateway.Fetcher, a chat.Attachment, limit int64) {
	s.Helper()
	got, err := f.Fetch(s.Context(), a, limit)
	if !errors.Is(err, chat.ErrTooLarge) || len(got) != 0 {
		s.Errorf("Fetch within %d = %d bytes, %v, want none and %v", limit, len(got), err, chat.ErrTooLarge)
		return
	}
	s.wantNoSecret("an error", err.Error())
}

func (s *scene) wantUnfetched(f gateway.Fetcher, a chat.Attachment, want chat.ErrorKind) {
	s.Helper()
	got, err := f.Fetch(s.Context(), a, enough)
	s.wantKind(err, want)
	if len(got) != 0 {
		s.Errorf("%d bytes came with the error %v", len(got), err)
	}
}
