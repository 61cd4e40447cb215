package sse

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// frames reads all frames of a stream, and returns each as "event|data".
func frames(r io.Reader, most int) ([]string, error) {
	in := New(r, nil)
	if most > 0 {
		in.max = most
	}
	var out []string
	for {
		f, err := in.read()
		if err != nil {
			return out, err
		}
		out = append(out, f.Event+"|"+string(f.Data))
	}
}

func TestFrameBoundaries(t *testing.T) {
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

// FuzzFrames reads a stream that arrives at once, and the same stream byte by byte. The results must be equal, and no frame
// may exceed the size limit.
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
		list, err := readEvents(bytes.NewReader(in))
		if _, slowErr := readEvents(iotest.OneByteReader(bytes.NewReader(in))); errorText(err) != errorText(slowErr) {
			t.Errorf("at once %v\nbyte by byte %v", err, slowErr)
		}
		for _, data := range list {
			if strings.TrimSpace(data) == "" || strings.TrimSpace(data) == "[DONE]" {
				t.Errorf("event %q (%v)", data, err)
			}
		}
	})
}

// readEvents reads all events of a stream.
func readEvents(r io.Reader) ([]string, error) {
	in := New(r, func(f Frame) error {
		if f.Event == "error" {
			return errTold
		}
		return nil
	})
	var list []string
	for {
		data, err := in.Next()
		if err != nil {
			return list, err
		}
		list = append(list, string(data))
	}
}

var errTold = errors.New("told")

func TestEvents(t *testing.T) {
	t.Parallel()
	broke := errors.New("reset")
	for _, tt := range []struct {
		name string
		in   io.Reader
		want []string
		err  error
	}{
		{"terminated", strings.NewReader("data: {\"a\":\ndata: 1}\n\n: c\n\ndata: [DONE]\n\ndata: after\n\n"), []string{"{\"a\":\n1}"}, io.EOF},
		{"not terminated", strings.NewReader("data: {}\n\n"), []string{"{}"}, io.ErrUnexpectedEOF},
		{"nothing", strings.NewReader(""), nil, io.ErrUnexpectedEOF},
		{"empty data", strings.NewReader("data:\n\ndata: {}\n\ndata: [DONE]"), []string{"{}"}, io.EOF},
		{"an error", strings.NewReader("data: {}\n\nevent: error\ndata: {}\n\n"), []string{"{}"}, errTold},
		{"broken", iotest.ErrReader(broke), nil, broke},
	} {
		if got, err := readEvents(tt.in); !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %q, %v\nwant %q, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
