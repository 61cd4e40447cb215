package conformance

import (
	"bytes"
	"slices"
	"strings"

	"telex/gateway/preview"
	"telex/internal/chat"
)

// file returns a file in the form in which the gateway passes a file to an adapter.
func file() chat.File {
	return chat.File{Name: "answer.md", MediaType: "text/markdown; charset=utf-8", Content: []byte("# The rest\n\nünïcödé 🦊\r\n\x00--\n")}
}

// fileCases returns the cases about messages with files.
func fileCases() []testCase {
	return []testCase{
		{"a file arrives with its name, its content and its caption", with((*scene).filer, func(s *scene, f preview.Filer) {
			for _, to := range s.both() {
				asked := s.send(to, "before")
				m := outgoing("the *rest* 🦊")
				m.ReplyTo = asked.ID
				s.sendFile(f, to, m, file())
				s.sendFile(f, to, chat.Outgoing{Key: "no caption"}, file())
				s.send(to, "after")
				s.wantShown(to, "before", "the *rest* 🦊", "", "after")
				s.wantFiles(to,
					File{Name: "answer.md", Content: file().Content, Caption: "the *rest* 🦊"},
					File{Name: "answer.md", Content: file().Content})
			}
			s.wantCalls(chat.OpSend, 4*len(s.both()))
		})},
		{"a strange file name is shown as a plain name", with((*scene).filer, func(s *scene, f preview.Filer) {
			for _, name := range []string{"../../etc/passwd", `C:\a\"b".md`, "a\r\nContent-Type: x\r\n\r\n.md", "", strings.Repeat("x", 300) + ".md"} {
				odd := file()
				odd.Name = name
				s.sendFile(f, s.Private(), outgoing("named "+name), odd)
			}
			for _, got := range s.Files(s.Private()) {
				if got.Name == "" || strings.ContainsAny(got.Name, "/\\\"\r\n") || len(got.Name) > 255 {
					s.Errorf("a file is called %q", got.Name)
				}
				if !bytes.Equal(got.Content, file().Content) {
					s.Errorf("the content of %q is %q, want %q", got.Name, got.Content, file().Content)
				}
			}
		})},
		{"a file that replies to a missing message is shown (F47)", with((*scene).filer, func(s *scene, f preview.Filer) {
			for _, to := range s.both() {
				ref := s.send(to, "gone soon")
				s.Remove(ref)
				m := outgoing("answer")
				m.ReplyTo = ref.ID
				s.sendFile(f, to, m, file())
				s.wantShown(to, "answer")
			}
		})},
		{"a file whose connection broke is shown once or not at all (F13)", with((*scene).filer, func(s *scene, f preview.Filer) {
			for _, c := range []struct {
				fault Fault
				text  string
			}{{CutBefore, "lost"}, {CutAfter, "shown"}} {
				s.Break(chat.OpSend, c.fault)
				_, err := f.SendFile(s.Context(), s.Private(), outgoing(c.text), file())
				s.wantKind(err, chat.Uncertain)
			}
			s.wantCalls(chat.OpSend, 2)
			s.wantFiles(s.Private(), File{Name: "answer.md", Content: file().Content, Caption: "shown"})
		})},
		{"a file can be removed", func(s *scene) {
			f, ok := s.filer()
			d, deletes := s.adapter.(preview.Deleter)
			if !ok || !deletes {
				return
			}
			ref := s.sendFile(f, s.Private(), outgoing("x"), file())
			s.delete(d, ref)
			s.wantFiles(s.Private())
		}},
		{"a file without content is rejected", with((*scene).filer, func(s *scene, f preview.Filer) {
			_, err := f.SendFile(s.Context(), s.Private(), outgoing("x"), chat.File{Name: "a.md", MediaType: "text/plain"})
			s.wantKind(err, chat.Rejected)
			s.wantShown(s.Private())
		})},
	}
}

// sendFile sends a file with the adapter. If sending fails, the case fails.
func (s *scene) sendFile(f preview.Filer, to chat.Target, m chat.Outgoing, content chat.File) chat.MessageRef {
	s.Helper()
	receipt, err := f.SendFile(s.Context(), to, m, content)
	return s.shown(to, receipt, err)
}

func (s *scene) wantFiles(to chat.Target, want ...File) {
	s.Helper()
	same := func(a, b File) bool {
		return a.Name == b.Name && a.Caption == b.Caption && bytes.Equal(a.Content, b.Content)
	}
	if got := s.Files(to); !slices.EqualFunc(got, want, same) {
		s.Errorf("the files are %q, want %q", got, want)
	}
}
