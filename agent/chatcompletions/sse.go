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

// frameBuffer holds the usual line; a longer one is put together elsewhere. The connection below has a
// buffer of its own, and there is one of each for every answer that is being written.
const frameBuffer = 1 << 10

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
	return &frameReader{in: bufio.NewReaderSize(r, frameBuffer), max: maxFrame}
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
		case string(field) == "event":
			f.event = string(value)
		case string(field) == "data" && hasData && complete(r.data):
			r.next = bytes.Clone(value)
			f.data = r.data
			return f, nil
		case string(field) == "data":
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
func splitField(line []byte) (field, value []byte) {
	field, value, _ = bytes.Cut(line, []byte(":"))
	return field, bytes.TrimPrefix(value, []byte(" "))
}

// complete says whether data needs no further line.
func complete(data []byte) bool {
	return isDone(data) || json.Valid(data)
}

// isDone says whether data is the terminator of a stream.
func isDone(data []byte) bool {
	return string(bytes.TrimSpace(data)) == "[DONE]"
}

// events is a streamed answer, event by event.
type events struct {
	frames *frameReader
	check  func(frame) error // says that a frame is an error
}

func newEvents(r io.Reader, check func(frame) error) *events {
	return &events{frames: newFrameReader(r), check: check}
}

// next returns the data of the next event, valid until the next call. After the terminator it
// returns io.EOF, and io.ErrUnexpectedEOF where the stream ends without one; error events are errors.
func (e *events) next() ([]byte, error) {
	for {
		f, err := e.frames.read()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		if isDone(f.data) {
			return nil, io.EOF
		}
		if err := e.check(f); err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(f.data)) > 0 {
			return f.data, nil
		}
	}
}
