package telegram

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"telex/internal/chat"
)

// The test compares whole requests byte for byte, except for the boundary of the form's parts.
func TestFileEncoding(t *testing.T) {
	t.Parallel()
	const golden = "--B\r\nContent-Disposition: form-data; name=\"caption\"\r\n\r\nthe rest ▼\r\n" +
		"--B\r\nContent-Disposition: form-data; name=\"caption_entities\"\r\n\r\n[{\"type\":\"bold\",\"offset\":0,\"length\":3}]\r\n" +
		"--B\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n-100200300\r\n" +
		"--B\r\nContent-Disposition: form-data; name=\"message_thread_id\"\r\n\r\n12\r\n" +
		"--B\r\nContent-Disposition: form-data; name=\"reply_parameters\"\r\n\r\n{\"message_id\":41,\"allow_sending_without_reply\":true}\r\n" +
		"--B\r\nContent-Disposition: form-data; name=\"document\"; filename=\"größe 1.md\"\r\nContent-Type: text/markdown; charset=utf-8\r\n\r\n" +
		"# rest\r\n\x00\xff\r\n--B--\r\n"
	type sent struct {
		method, body string
		length       int64
	}
	calls := make(chan sent, 1)
	b := serve(t, func(w http.ResponseWriter, r *http.Request, method string) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, boundary, _ := strings.Cut(r.Header.Get("Content-Type"), "multipart/form-data; boundary=")
		calls <- sent{method, strings.ReplaceAll(string(data), boundary, "B"), r.ContentLength - int64(len(data))}
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":99}}`)
	})
	to := chat.Target{Chat: "-100200300", Thread: "12", Kind: chat.Group}
	m := chat.Outgoing{Text: "the rest ▼", Spans: []chat.Span{{Kind: "bold", Length: 3}}, ReplyTo: "41", Preview: true}
	receipt, err := b.SendFile(t.Context(), to, m, chat.File{
		Name: "größe 1.md", MediaType: "text/markdown; charset=utf-8", Content: []byte("# rest\r\n\x00\xff"),
	})
	if want := (chat.MessageRef{Target: to, ID: "99"}); err != nil || receipt.Ref != want {
		t.Errorf("SendFile = %+v, %v, want %+v", receipt, err, want)
	}
	got := <-calls
	if got.method != "sendDocument" || got.length != 0 {
		t.Errorf("called %s with a length %d off, want sendDocument with its length", got.method, got.length)
	}
	if got.body != golden {
		t.Errorf("the body is\n%q, want\n%q", got.body, golden)
	}
}

// If Telegram would refuse a file because of a limit, the bot must not upload the file. The error for a refused file
// must say which limit the file exceeds.
func TestFileLimits(t *testing.T) {
	t.Parallel()
	b := newBot(t, Options{HTTP: roundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("a call was made")
		return nil, http.ErrHandlerTimeout
	})})
	file := chat.File{Name: "a.md", Content: []byte("x")}
	_, err := b.SendFile(t.Context(), private, chat.Outgoing{Text: strings.Repeat("🦊", 512) + "x"}, file)
	if failure := wantKind(t, err, chat.TooLong); !strings.Contains(failure.Error(), "1025 UTF-16 units, and the maximum is 1024") {
		t.Errorf("a long caption: error = %q, want the limit in it", failure)
	}
	file.Content = make([]byte, 50_000_001)
	_, err = b.SendFile(t.Context(), private, chat.Outgoing{}, file)
	if failure := wantKind(t, err, chat.TooLong); !strings.Contains(failure.Error(), "50000001 bytes") {
		t.Errorf("a large file: error = %q, want the size in it", failure)
	}
	_, err = b.SendFile(t.Context(), chat.Target{Chat: "C0123"}, chat.Outgoing{}, file)
	wantKind(t, err, chat.Forbidden)
}

// If the connection breaks during an upload, the bot must not repeat the upload, neither on a new connection nor on a
// reused connection (F13).
func TestUploadIsNeverRepeated(t *testing.T) {
	t.Parallel()
	for _, warm := range []bool{false, true} {
		t.Run(fmt.Sprintf("reused connection %t", warm), func(t *testing.T) {
			t.Parallel()
			var uploads atomic.Int32
			b := serve(t, func(w http.ResponseWriter, r *http.Request, method string) {
				_, _ = io.ReadAll(r.Body)
				if method != "sendDocument" {
					_, _ = io.WriteString(w, `{"ok":true,"result":true}`)
					return
				}
				uploads.Add(1)
				panic(http.ErrAbortHandler)
			})
			if warm {
				if err := b.Typing(t.Context(), private); err != nil {
					t.Fatal(err)
				}
			}
			_, err := b.SendFile(t.Context(), private, chat.Outgoing{Text: "x"}, chat.File{Content: bytes.Repeat([]byte("x"), 1<<20)})
			wantKind(t, err, chat.Uncertain)
			if got := uploads.Load(); got != 1 {
				t.Errorf("the server saw %d uploads, want 1", got)
			}
		})
	}
}

// A failed upload must return the same kinds of errors as any other call. The bot does not upload files with the
// function of the Telegram library, because the function would lose the error code.
func TestUploadFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   chat.ErrorKind
	}{
		{400, refusal(400, "Bad Request: file must be non-empty", ""), chat.Rejected},
		{400, refusal(400, "Bad Request: message caption is too long", ""), chat.TooLong},
		{400, refusal(400, "Bad Request: MEDIA_CAPTION_TOO_LONG", ""), chat.TooLong},
		{400, refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", `{"migrate_to_chat_id":-1002147483648}`), chat.Moved},
		{401, refusal(401, "Unauthorized", ""), chat.Auth},
		{403, refusal(403, "Forbidden: bot was blocked by the user", ""), chat.Forbidden},
		{404, refusal(404, "Not Found: method not found", ""), chat.Rejected},
		{413, refusal(413, "Request Entity Too Large", ""), chat.TooLong},
		{413, "<html>nginx</html>", chat.TooLong},
		{429, refusal(429, "Too Many Requests: retry after 35", `{"retry_after":35}`), chat.RateLimited},
		{502, "<html>", chat.Uncertain},
		{200, "", chat.Uncertain},
	} {
		b := serve(t, func(w http.ResponseWriter, r *http.Request, _ string) {
			_, _ = io.ReadAll(r.Body)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := b.SendFile(t.Context(), private, chat.Outgoing{Text: "x"}, chat.File{Name: "a", Content: []byte("x")})
		wantKind(t, err, c.want)
	}
	b := newBot(t, Options{HTTP: roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("cut") })})
	_, err := b.SendFile(t.Context(), private, chat.Outgoing{}, chat.File{Content: []byte("x")})
	wantKind(t, err, chat.Uncertain)
}
