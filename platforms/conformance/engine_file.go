package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"telex/gateway/preview"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// endingFiles returns files that a reply sends at its end. The returned files have the form in which tools add files to
// an answer.
func endingFiles(names ...string) []chat.File {
	var list []chat.File
	for _, n := range names {
		list = append(list, chat.File{Name: n, MediaType: "text/plain; charset=utf-8", Content: []byte("This is " + n + ".\n")})
	}
	return list
}

// decided stores a complete answer, as if an earlier process had stopped before it delivered the answer. After storing
// the answer, decided starts a process of the gateway, which delivers the answer.
func (s *scene) decided(to chat.Target, e preview.Ending) *testGateway {
	s.Helper()
	if s.memory == nil {
		s.memory = memory.New()
	}
	ending, err := json.Marshal(e)
	if err == nil {
		err = s.memory.Begin(s.Context(), chat.Turn{
			ID: fmt.Sprintf("decided%d", time.Now().UnixNano()), To: to, Ending: ending,
			Conversation: chat.Conversation{Endpoint: "bot", Chat: to.Chat, Thread: to.Thread},
		})
	}
	if err != nil {
		s.Fatal(err)
	}
	return s.newGateway(nil, nil)
}

// answerFileCases returns the cases about answers with files.
func answerFileCases() []testCase {
	return []testCase{
		{"files of an answer follow its text, in order", with((*scene).filer, func(s *scene, _ preview.Filer) {
			files := endingFiles("first.txt", "second.txt")
			h := s.decided(s.Private(), preview.Ending{Text: "The **text**.", Files: files})
			pass(settleTime)
			h.wantAnswer(s.Private(), "The text.", files...)
			h.wantGood()
		})},
		{"a file that is too large or can't be sent is named below the text", func(s *scene) {
			_, ok := s.filer()
			limit := s.adapter.Profile(s.Private()).FileLimit
			if ok && limit == 0 || limit > 64<<20 {
				return // this platform's limit is so high that a larger file would be too large for a test
			}
			files := endingFiles("a_b_c.txt")
			if files[0].Content = make([]byte, limit+1); ok {
				files = append(files, endingFiles("small.txt")...)
			}
			h := s.decided(s.Private(), preview.Ending{Text: "The text.", Files: files})
			pass(settleTime)
			h.wantAnswer(s.Private(), "The text.\n\nI could not send a_b_c.txt here.", files[1:]...)
			h.wantGood()
		}},
		{"a file that the platform refuses is left out", with((*scene).filer, func(s *scene, _ preview.Filer) {
			files := endingFiles("empty.txt", "second.txt")
			files[0].Content = nil
			h := s.decided(s.Private(), preview.Ending{Text: "The text.", Files: files})
			pass(settleTime)
			h.wantAnswer(s.Private(), "The text.", files[1:]...)
			if strings.Contains(h.log.String(), "was not delivered") {
				h.Error("the log says that the answer was not delivered")
			}
		})},
		{"D10: after a kill between two files, each file is sent once", with((*scene).filer, func(s *scene, _ preview.Filer) {
			files := endingFiles("first.txt", "second.txt", "third.txt")
			for i, to := range s.Crowd(12) {
				h := s.decided(to, preview.Ending{Text: "The text.", Files: files})
				if i == 0 {
					h.until("that a file stands", func() bool { return len(h.Files(to)) > 0 })
				} else {
					pass(time.Duration(i) * 97 * time.Millisecond)
				}
				h.kill()
				pass(settleTime)
				if got := h.Files(to); !h.reconciles(to) && len(got) == len(files)+1 && strings.Contains(h.log.String(), "outcome") {
					h.Logf("killed %d: one file stands twice, and the log says so", i)
				} else {
					h.wantAnswer(to, "The text.", files...)
				}
				h.end()
			}
		})},
	}
}

// wantAnswer checks that a chat contains a message with the text, followed by the files.
func (h *testGateway) wantAnswer(to chat.Target, text string, files ...chat.File) {
	h.Helper()
	var want []File
	for _, f := range files {
		want = append(want, File{Name: f.Name, Content: f.Content})
	}
	shown := h.Shown(to)
	if n := len(files) + 1; len(shown) != n || letters(shown[0]) != letters(text) || slices.ContainsFunc(shown[1:], func(s string) bool { return s != "" }) {
		h.Errorf("shown are %q, want %q and %d files", shown, text, len(files))
	}
	h.wantFiles(to, want...)
}
