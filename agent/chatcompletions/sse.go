package chatcompletions

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxFrame bounds one event of a stream, and with it what a mad server can make us hold.
const maxFrame = 16 << 20

var errFrameTooLong = errors.New("an event of the stream is longer than 16 MB")

// frame is one server-sent event that has data.
type frame struct {
	event string // empty: "message"
	data  []byte // valid until the next frame
}

// frameReader reads server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), more generously than the
// standard where providers are careless: the last event needs neither an empty line nor a
// newline after it, and a data line after data that is complete begins a new event.
type frameReader struct {
	in    *bufio.Reader
	max   int
	line  []byte // the line being read, when it is longer than in's buffer
	data  []byte
	next  []byte // a data line that was read too far
	began bool
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{in: bufio.NewReader(r), max: maxFrame}
}

// read returns the next frame that has data. At the end it returns what the reader below
// returned: io.EOF, or why it broke; then a frame that was begun is lost, unless the end was
// an orderly one.
func (r *frameReader) read() (frame, error) {
	var f frame
	hasData := false
	r.data = r.data[:0]
	if r.next != nil {
		r.data, r.next, hasData = append(r.data, r.next...), nil, true
	}
	for {
		line, err := r.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return frame{}, err
		}
		field, value := splitField(line)
		switch {
		case len(line) == 0 && hasData:
			f.data = r.data
			return f, nil
		case len(line) == 0:
			f.event = ""
		case field == "event":
			f.event = string(value)
		case field == "data" && hasData && complete(r.data):
			r.next = bytes.Clone(value)
			f.data = r.data
			return f, nil
		case field == "data":
			if hasData {
				r.data = append(r.data, '\n')
			}
			r.data, hasData = append(r.data, value...), true
			if len(r.data) > r.max {
				return frame{}, errFrameTooLong
			}
		}
		if err != nil {
			if hasData {
				f.data = r.data
				return f, nil // the next call meets the end again
			}
			return frame{}, err
		}
	}
}

// readLine returns the next line without its end, valid until the next call. Text without a
// newline at the end comes with io.EOF.
func (r *frameReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if !r.began {
			r.began = true
			part = bytes.TrimPrefix(part, []byte("\ufeff"))
		}
		if len(r.line)+len(part) > r.max+len("data: \r\n") {
			return nil, errFrameTooLong
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			r.line = append(r.line, part...)
			continue
		}
		if len(r.line) > 0 {
			r.line = append(r.line, part...)
			part = r.line
		}
		part = bytes.TrimSuffix(part, []byte("\n"))
		return bytes.TrimSuffix(part, []byte("\r")), err
	}
}

// splitField parts a line. A comment has an empty field.
func splitField(line []byte) (field string, value []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	return string(name), bytes.TrimPrefix(value, []byte(" "))
}

// complete says whether data needs no further line.
func complete(data []byte) bool {
	return isDone(data) || json.Valid(data)
}

// isDone says whether data is the terminator of a stream.
func isDone(data []byte) bool {
	return string(bytes.TrimSpace(data)) == "[DONE]"
}

// eventBody is the body of a streamed answer as go-openai can read it: one "data: {…}" line
// for each event, then "data: [DONE]". Error events become errors, and a stream that ends
// without its terminator ends with io.ErrUnexpectedEOF.
type eventBody struct {
	frames  *frameReader
	raw     io.Closer
	check   func(frame) error // says that a frame is an error
	pending []byte            // of out, not read yet
	out     []byte
	err     error
}

func newEventBody(raw io.ReadCloser, check func(frame) error) *eventBody {
	return &eventBody{frames: newFrameReader(raw), raw: raw, check: check}
}

func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.pending) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.fill()
	}
	n := copy(p, b.pending)
	b.pending = b.pending[n:]
	return n, nil
}

func (b *eventBody) fill() {
	f, err := b.frames.read()
	switch {
	case errors.Is(err, io.EOF):
		b.err = io.ErrUnexpectedEOF
		return
	case err != nil:
		b.err = err
		return
	}
	if isDone(f.data) {
		b.pending, b.err = []byte("data: [DONE]\n"), io.EOF
		return
	}
	if err := b.check(f); err != nil {
		b.err = err
		return
	}
	if len(bytes.TrimSpace(f.data)) == 0 {
		return
	}
	b.out = append(b.out[:0], "data: "...)
	for _, c := range f.data {
		if c == '\n' || c == '\r' { // white space between JSON tokens
			c = ' '
		}
		b.out = append(b.out, c)
	}
	b.out = append(b.out, '\n')
	b.pending = b.out
}

func (b *eventBody) Close() error { return b.raw.Close() }
