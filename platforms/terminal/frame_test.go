package terminal

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestFramesSurviveTheWire(t *testing.T) {
	t.Parallel()
	var wire bytes.Buffer
	sent := []Frame{
		{Hello: &Hello{Version: Version, Session: "main", Dialect: Dialect{Colour: true, Links: true}, Client: "me"}},
		{Input: &Input{ID: "1", Text: "two\nlines <&> 世界"}},
		{Stop: &Stop{}},
		{Welcome: &Welcome{Version: Version, Model: "main", History: []Line{{Mine: true, Text: "a"}, {Text: "b", ID: "t.0"}}, Once: true}},
		{Refused: &Refused{Reason: "no"}},
		{Message: &Message{ID: "x", Answer: "1", Text: "\x1b[1ma\x1b[0m", Source: "**a**", Note: "n", Cursor: " ▌", Live: true}},
		{Deleted: &Deleted{ID: "x"}},
		{Typing: &Typing{}},
		{Done: &Done{Input: "1", Failed: true}},
		{Closed: &Closed{Reason: "over"}},
	}
	for _, f := range sent {
		line, err := encodeFrame(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
			t.Errorf("%q is not one line", line)
		}
		wire.Write(line)
	}
	r := newReader(&wire)
	for _, want := range sent {
		if got, err := r.next(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := r.next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v, want io.EOF", err)
	}
}

func TestBadFrames(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "{}", "null", "x", `{"other":{}}`, `{"stop":{},"typing":{}}`, `{"input":1}`, `[]`} {
		if f, err := decodeFrame([]byte(line)); !errors.Is(err, errFrame) {
			t.Errorf("%q is %+v, %v, want %v", line, f, err, errFrame)
		}
	}
	if _, err := newReader(strings.NewReader(strings.Repeat("x", maxFrame+1))).next(); !errors.Is(err, errFrameTooLong) {
		t.Errorf("a long line: %v, want %v", err, errFrameTooLong)
	}
	if _, err := encodeFrame(Frame{Message: &Message{Text: strings.Repeat("x", maxFrame)}}); !errors.Is(err, errFrameTooLong) {
		t.Errorf("a long message: %v, want %v", err, errFrameTooLong)
	}
}

// For any line, decodeFrame must return a frame of exactly one kind, or an error. If a decoded frame is encoded and
// decoded again, the result must be the same frame.
func FuzzFrame(f *testing.F) {
	for _, line := range []string{`{"hello":{"version":1,"session":"main"}}`, `{"input":{"id":"1","text":"\ud800"}}`, `{"stop":{}}`, `{}`, "\x00"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		first, err := decodeFrame(line)
		if err != nil {
			return
		}
		again, err := encodeFrame(first)
		if errors.Is(err, errFrameTooLong) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		second, err := decodeFrame(again)
		if err != nil {
			t.Fatal(err)
		}
		if third, err := encodeFrame(second); err != nil || !bytes.Equal(third, again) {
			t.Errorf("%q became %q, then %q (%v)", line, again, third, err)
		}
	})
}
