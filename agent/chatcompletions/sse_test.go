package chatcompletions

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"telex/agent"
)

// frames reads all frames of a stream as "event|data".
func frames(r io.Reader, most int) ([]string, error) {
	in := newFrameReader(r)
	if most > 0 {
		in.max = most
	}
	var out []string
	for {
		f, err := in.read()
		if err != nil {
			return out, err
		}
		out = append(out, f.event+"|"+string(f.data))
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"LF", "data: {}\n\ndata: [DONE]\n\n", []string{"|{}", "|[DONE]"}},
		{"CRLF", "data: {}\r\n\r\ndata: [DONE]\r\n\r\n", []string{"|{}", "|[DONE]"}},
		{"no space", "data:{}\n\n", []string{"|{}"}},
		{"only one space belongs to the field", "data:  a\n\n", []string{"| a"}},
		{"comments", ": hello\n\n:\ndata: {}\n: in between\n\n", []string{"|{}"}},
		{"event", "event: error\ndata: {}\n\ndata: 1\n\n", []string{"error|{}", "|1"}},
		{"event without data", "event: ping\n\ndata: 1\n\n", []string{"|1"}},
		{"other fields", "id: 4\nretry: 10\nfoo\ndata: 1\n\n", []string{"|1"}},
		{"several lines", "data: {\"a\":\ndata: 1}\n\n", []string{"|{\"a\":\n1}"}},
		{"no empty line in between", "data: {}\ndata: 2\ndata: [DONE]\n", []string{"|{}", "|2", "|[DONE]"}},
		{"last line without newline", "data: {}\n\ndata: 2", []string{"|{}", "|2"}},
		{"no newline, read too far", "data: {}\ndata: 2", []string{"|{}", "|2"}},
		{"empty data", "data\n\ndata:\n\n", []string{"|", "|"}},
		{"byte order mark", "\ufeffdata: 1\n\n", []string{"|1"}},
		{"nothing", "", nil},
		{"longer than the buffer", "data: " + strings.Repeat("x", 10000) + "\n\n", []string{"|" + strings.Repeat("x", 10000)}},
	} {
		for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in)), iotest.DataErrReader(strings.NewReader(tt.in))} {
			got, err := frames(r, 0)
			if !slices.Equal(got, tt.want) || !errors.Is(err, io.EOF) {
				t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
			}
		}
	}
}

func TestFramesAreBounded(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"data: " + strings.Repeat("x", 101) + "\n\n",
		strings.Repeat("x", 10000), // no line end at all
		strings.Repeat("data: "+strings.Repeat("x", 40)+"\n", 3),
	} {
		if got, err := frames(strings.NewReader(in), 100); !errors.Is(err, errFrameTooLong) {
			t.Errorf("%.20q: got %q, %v", in, got, err)
		}
	}
	if _, err := frames(strings.NewReader("data: "+strings.Repeat("x", 100)+"\r\n\r\n"), 100); !errors.Is(err, io.EOF) {
		t.Errorf("at the limit: %v", err)
	}
}

func TestFramesBreak(t *testing.T) {
	t.Parallel()
	broke := errors.New("reset")
	in := io.MultiReader(strings.NewReader("data: 1\n\ndata: 2"), iotest.ErrReader(broke))
	if got, err := frames(in, 0); !slices.Equal(got, []string{"|1"}) || !errors.Is(err, broke) {
		t.Errorf("got %q, %v", got, err)
	}
}

// FuzzFrames compares a stream that comes at once with one that comes byte by byte, and holds
// both to the limits.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("data: {\"a\":1}\n\ndata: [DONE]\n\n"))
	f.Add([]byte("\ufeff: c\r\nevent: error\r\ndata:{\r\ndata: }\r\n\r\ndata: 2"))
	f.Add([]byte("data\ndata: {}\ndata\n\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		const most = 64
		whole, err := frames(bytes.NewReader(in), most)
		slow, slowErr := frames(iotest.OneByteReader(bytes.NewReader(in)), most)
		if !slices.Equal(whole, slow) || !errors.Is(slowErr, err) {
			t.Errorf("at once %q, %v\nbyte by byte %q, %v", whole, err, slow, slowErr)
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, errFrameTooLong) {
			t.Errorf("ended with %v", err)
		}
		for _, f := range whole {
			if _, data, _ := strings.Cut(f, "|"); len(data) > most+len("data: \r\n") {
				t.Errorf("frame of %d bytes", len(data))
			}
		}
		body, err := io.ReadAll(newEventBody(io.NopCloser(bytes.NewReader(in)), redactor{}.frameError))
		for line := range strings.Lines(string(body)) {
			if !strings.HasPrefix(line, "data: ") || !strings.HasSuffix(line, "\n") {
				t.Errorf("line %q of the body (%v)", line, err)
			}
		}
		if done := strings.HasSuffix(string(body), "data: [DONE]\n"); done != (err == nil) {
			t.Errorf("terminated %v, error %v", done, err)
		}
	})
}

func TestEventBody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, want string
		err            string
	}{
		{"terminated", "data: {\"a\":\ndata: 1}\n\n: c\n\ndata: [DONE]\n\ndata: after\n\n", "data: {\"a\": 1}\ndata: [DONE]\n", ""},
		{"not terminated", "data: {}\n\n", "data: {}\n", "unexpected EOF"},
		{"nothing", "", "", "unexpected EOF"},
		{"empty data", "data:\n\ndata: {}\n\ndata: [DONE]", "data: {}\ndata: [DONE]\n", ""},
		{"error object", `data: {"error":{"message":"boom","code":502}}` + "\n\n", "", "retryable: HTTP 502: boom, code 502"},
		{"error text", `data: {"error":"boom"}` + "\n\n", "", "broken: boom"},
		{"vLLM", `data: {"object":"error","message":"boom","type":"BadRequestError","code":400}` + "\n\n", "", "bad_request: HTTP 400: boom, type BadRequestError, code 400"},
		{"after a comment", ": c\n" + `data: {"error":{"message":"boom"}}` + "\n\n", "", "broken: boom"},
		{"error event", "event: error\n" + `data: {"message":"boom"}` + "\n\n", "", "broken: boom"},
		{"error event of no JSON", "event: error\ndata: boom  boom\n\n", "", "broken: boom boom"},
		{"empty error event", "event: error\ndata: {}\n\n", "", "broken: error event: {}"},
		{"finish reason", `data: {"choices":[{"finish_reason":"error"}]}` + "\n\n", "", "broken: the provider ended the answer with finish_reason error"},
		{"error in a choice", `data: {"choices":[{"error":{"message":"boom","code":429}}]}` + "\n\n", "", "rate_limited: HTTP 429: boom, code 429"},
		{"null error", `data: {"error":null}` + "\n\ndata: [DONE]\n\n", "data: {\"error\":null}\ndata: [DONE]\n", ""},
		{"error in the text", `data: {"choices":[{"delta":{"content":"\"error\": {"}}]}` + "\n\ndata: [DONE]\n\n", `data: {"choices":[{"delta":{"content":"\"error\": {"}}]}` + "\ndata: [DONE]\n", ""},
		{"broken JSON with error", "data: {\"error\"\n\ndata: [DONE]\n\n", "data: {\"error\"\ndata: [DONE]\n", ""},
	} {
		body := newEventBody(io.NopCloser(strings.NewReader(tt.in)), redactor{}.frameError)
		got, err := io.ReadAll(body)
		if string(got) != tt.want || errorText(err) != tt.err {
			t.Errorf("%s: got %q, %v\nwant %q, %v", tt.name, got, err, tt.want, tt.err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
	broke := errors.New("reset")
	_, err := io.ReadAll(newEventBody(io.NopCloser(iotest.ErrReader(broke)), redactor{}.frameError))
	if !errors.Is(err, broke) {
		t.Errorf("got %v, want %v", err, broke)
	}
	if _, ok := errors.AsType[*agent.ModelError](err); ok {
		t.Errorf("%v is judged before it is known what came", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
