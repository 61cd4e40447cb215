package sse

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxFrame is the maximum size of one event of a stream. maxFrame limits the memory that a faulty server can make telex use.
const maxFrame = 16 << 20

// frameBuffer is the size of the read buffer of a stream. A usual line fits into the buffer; readLine joins the parts of
// longer lines. The buffer is small, because each answer that is being written has one, and the connection has its own
// buffer.
const frameBuffer = 1 << 10

var errFrameTooLong = errors.New("an event of the stream is longer than 16 MB")

// Frame is one server-sent event that has data.
type Frame struct {
	Event string // empty: the default type "message"
	Data  []byte // valid until the next frame
}

// Events reads the server-sent events of one answer (https://html.spec.whatwg.org/multipage/server-sent-events.html). Some
// providers deviate from the standard, so Events accepts more: the last event needs no empty line and no newline after it,
// and a data line after complete JSON begins a new event. Events is not safe for concurrent use.
type Events struct {
	in    *bufio.Reader
	check func(Frame) error
	max   int
	line  []byte // the line being read, if it is longer than in's buffer
	data  []byte
	next  []byte // a data line that belongs to the next event
	began bool
}

// New returns the events of a stream. check returns the error that a frame reports, or nil if the frame reports none. If
// check is nil, Events accepts every frame.
func New(r io.Reader, check func(Frame) error) *Events {
	return &Events{in: bufio.NewReaderSize(r, frameBuffer), check: check, max: maxFrame}
}

// read returns the next frame that has data. At the end of the stream, read returns the reader's error, such as io.EOF. If
// the stream breaks inside a frame, that frame is lost.
func (r *Events) read() (Frame, error) {
	var f Frame
	hasData := false
	r.data = r.data[:0]
	if r.next != nil {
		r.data, r.next, hasData = append(r.data, r.next...), nil, true
	}
	for {
		line, err := r.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return Frame{}, err
		}
		field, value := splitField(line)
		switch {
		case len(line) == 0 && hasData:
			f.Data = r.data
			return f, nil
		case len(line) == 0:
			f.Event = ""
		case string(field) == "event":
			f.Event = string(value)
		case string(field) == "data" && hasData && complete(r.data):
			r.next = bytes.Clone(value)
			f.Data = r.data
			return f, nil
		case string(field) == "data":
			if hasData {
				r.data = append(r.data, '\n')
			}
			r.data, hasData = append(r.data, value...), true
			if len(r.data) > r.max {
				return Frame{}, errFrameTooLong
			}
		}
		if err != nil {
			if hasData {
				f.Data = r.data
				return f, nil // the next call returns the reader's error
			}
			return Frame{}, err
		}
	}
}

// readLine returns the next line without its end, valid until the next call.
func (r *Events) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		part, more, err := r.in.ReadLine()
		if !r.began {
			r.began = true
			part = bytes.TrimPrefix(part, []byte("\ufeff"))
		}
		switch {
		case len(r.line)+len(part) > r.max+len("data: "):
			return nil, errFrameTooLong
		case err != nil || !more && len(r.line) == 0:
			return part, err
		}
		if r.line = append(r.line, part...); !more {
			return r.line, nil
		}
	}
}

// splitField splits a line into its field and its value. A comment has an empty field.
func splitField(line []byte) (field, value []byte) {
	field, value, _ = bytes.Cut(line, []byte(":"))
	return field, bytes.TrimPrefix(value, []byte(" "))
}

// complete reports whether data is a complete event: valid JSON, or the terminator of the stream.
func complete(data []byte) bool {
	return isDone(data) || json.Valid(data)
}

// isDone reports whether data is the terminator of a stream.
func isDone(data []byte) bool {
	return string(bytes.TrimSpace(data)) == "[DONE]"
}

// Next returns the data of the next event, valid until the next call. At the terminator, Next returns io.EOF. If the stream
// ends without a terminator, Next returns io.ErrUnexpectedEOF. If an event reports an error, Next returns that error.
func (r *Events) Next() ([]byte, error) {
	for {
		f, err := r.read()
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		if isDone(f.Data) {
			return nil, io.EOF
		}
		if r.check != nil {
			if err := r.check(f); err != nil {
				return nil, err
			}
		}
		if len(bytes.TrimSpace(f.Data)) > 0 {
			return f.Data, nil
		}
	}
}
