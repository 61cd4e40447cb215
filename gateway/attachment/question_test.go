package attachment_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"telex/gateway/attachment"
	"telex/internal/chat"
)

// spoken is a transcriber that always returns the text spoken.
type spoken string

func (s spoken) Transcribe(context.Context, string, []byte) (string, error) { return string(s), nil }

func TestReader(t *testing.T) {
	fetch := func(_ context.Context, a chat.Attachment, limit int64) ([]byte, error) {
		switch a.Name {
		case "large.txt":
			return nil, fmt.Errorf("%d bytes: %w", limit+1, chat.ErrTooLarge)
		case "gone.txt":
			return nil, errors.New("not found")
		case "voice.ogg":
			return []byte("OggS\x00"), nil
		}
		return []byte("content of " + a.Name), nil
	}
	files := func(names ...string) (all []chat.Attachment) {
		for _, n := range names {
			a := chat.Attachment{ID: n, Name: n, MediaType: "text/plain"}
			if strings.HasSuffix(n, ".ogg") {
				a.MediaType = "audio/ogg"
			}
			all = append(all, a)
		}
		return all
	}
	for _, c := range []struct {
		name     string
		hear     attachment.Transcriber
		fetch    attachment.Fetch
		text     string
		attached []chat.Attachment
		want     []string // texts that the question must contain
		failed   int
		unheard  bool
	}{
		{"words alone", nil, nil, "hello", nil, []string{"hello"}, 0, false},
		{"a file and words", nil, fetch, "look", files("a.txt"), []string{"look\n\n[file ", ": a.txt]\ncontent of a.txt\n[end of file "}, 0, false},
		{"a file that is gone beside one that is not", nil, fetch, "", files("gone.txt", "a.txt"), []string{"content of a.txt", "[attached: gone.txt, which you are not shown: it could not be fetched]"}, 1, false},
		{"only one that is too large", nil, fetch, "", files("large.txt"), nil, 1, false},
		{"where nothing can be fetched", nil, nil, "", files("a.txt"), nil, 1, false},
		{"spoken, and nobody hears", nil, fetch, "", files("voice.ogg"), nil, 1, true},
		{"spoken", spoken("how are you?"), fetch, "", files("voice.ogg"), []string{"how are you?"}, 0, false},
		{"too many", nil, fetch, "", files(strings.Fields(strings.Repeat("a.txt ", 12))...), []string{"[2 more were attached, which you are not shown: only 10 are]"}, 0, false},
		{"nothing", nil, nil, "", nil, nil, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := attachment.NewReader().Read(t.Context(), attachment.Sources{
				Messages: []chat.Inbound{{Text: c.text, Attachments: c.attached}}, Fetch: c.fetch, Hear: c.hear, Log: slog.New(slog.DiscardHandler),
			})
			if (q.Message.Text == "") != (len(c.want) == 0) || len(q.Failed) != c.failed || q.Unheard != c.unheard {
				t.Errorf("got %+v", q)
			}
			for _, want := range c.want {
				if !strings.Contains(q.Message.Text, want) {
					t.Errorf("the question lacks %q:\n%s", want, q.Message.Text)
				}
			}
		})
	}
}

// A question has too many files. The Reader must read the asker's own files before the files of quoted messages.
func TestAskersFilesAreReadFirst(t *testing.T) {
	t.Parallel()
	var others []chat.Attachment
	for i := range 12 {
		others = append(others, chat.Attachment{ID: fmt.Sprint(i), Name: fmt.Sprintf("other-%d.txt", i), MediaType: "text/plain"})
	}
	in := chat.Inbound{Text: "what is this?", Attachments: []chat.Attachment{{ID: "own", Name: "own.txt", MediaType: "text/plain"}}}
	in.Quotes = []chat.Quote{{Author: "Bob", Text: "look", Attachments: others[:6]}}
	q := attachment.NewReader().Read(t.Context(), attachment.Sources{
		Messages: []chat.Inbound{in}, Thread: []chat.Quote{{Author: "Cyd", Text: "here", Attachments: others[6:]}}, Log: slog.New(slog.DiscardHandler),
		Fetch: func(_ context.Context, a chat.Attachment, _ int64) ([]byte, error) {
			return []byte("content of " + a.Name), nil
		},
	})
	if n := strings.Count(q.Message.Text, "content of other-"); n != 9 || !strings.Contains(q.Message.Text, "content of own.txt") ||
		!strings.Contains(q.Message.Text, "[3 more were attached, which you are not shown: only 10 are]") {
		t.Errorf("%d files of others in %q", n, q.Message.Text)
	}
}
