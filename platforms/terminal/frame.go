package terminal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version is that of the protocol. A hub refuses clients of another: both come with the same binary, and a daemon that
// was not restarted after an update must say so.
//
// Fields that one side does not know it leaves out, so that these were added to version 1: Hello.Client with
// Welcome.Once, for clients that come back, Line.ID, Welcome.Commands, Welcome.Config, and Input.Files with Welcome.Files.
const Version = 1

// maxFrame is the longest line, in bytes, that either side takes. It holds the longest message as text and as source, and the
// files of an input, which are a third longer in the frame.
const maxFrame = 4<<20 + MaxFiles*4/3

// The reasons why a frame can't be had.
var (
	errFrameTooLong = errors.New("frame is too long")
	errFrame        = errors.New("frame is not one of the protocol")
)

// Frame is one line of the protocol: exactly one of its fields is set. A client begins with Hello and the hub answers it
// with Welcome, or with Refused and the end of the connection.
type Frame struct {
	Hello *Hello `json:"hello,omitempty"` // from the client from here on
	Input *Input `json:"input,omitempty"`
	Stop  *Stop  `json:"stop,omitempty"`

	Welcome *Welcome `json:"welcome,omitempty"` // from the hub from here on
	Refused *Refused `json:"refused,omitempty"`
	Message *Message `json:"message,omitempty"`
	Deleted *Deleted `json:"deleted,omitempty"`
	Typing  *Typing  `json:"typing,omitempty"`
	Done    *Done    `json:"done,omitempty"`
	Closed  *Closed  `json:"closed,omitempty"`
}

// Hello attaches a client to a session. The width of the terminal is not in it: a client wraps lines itself, so that a
// change of the window concerns nobody else.
type Hello struct {
	Version int     `json:"version"`
	Session string  `json:"session"`
	Dialect Dialect `json:"dialect"`          // how it wants messages written
	Client  string  `json:"client,omitempty"` // its name, random and the same whenever it comes back; empty: it won't
}

// Input is what the person typed. ID is the client's choice; Done repeats it. A client with a name uses an ID once, but for
// the same input on another connection: should that have been answered meanwhile, Done comes at once.
type Input struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Last bool   `json:"last,omitempty"` // until it is answered nothing more will come: nobody can be asked anything
	// Piped says that nobody typed it: it was on standard input that is no terminal.
	Piped bool   `json:"piped,omitempty"`
	Files []File `json:"files,omitempty"` // what the person attached; at most MaxFiles bytes in all
}

// File is an attached file. The client reads it, as the person who runs it.
type File struct {
	Name string `json:"name"` // without a path
	Data []byte `json:"data"`
}

// Stop ends the answer that is being written.
type Stop struct{}

// Welcome says that the client is attached.
type Welcome struct {
	Version int    `json:"version"`
	Model   string `json:"model,omitempty"`   // who answers; empty: not known
	Config  string `json:"config,omitempty"`  // the file that telex runs with; empty: not known
	History []Line `json:"history,omitempty"` // what was said last, oldest first
	// Commands are the names of the commands that can be typed behind a slash.
	Commands []string `json:"commands,omitempty"`
	Files    bool     `json:"files,omitempty"` // the hub takes files
	Once     bool     `json:"once,omitempty"`  // an input is taken once, however often a client with a name says it
}

// Line is something that was said earlier, as Markdown.
type Line struct {
	Mine bool   `json:"mine,omitempty"` // by the person at the terminal
	Text string `json:"text"`
	ID   string `json:"id,omitempty"` // of the message of the bot that showed it, the first one if there were several; empty: not known
}

// Refused is why the client is not attached.
type Refused struct {
	Reason string `json:"reason"`
}

// Message is the newest state of a message of the bot. The ids of an answer's messages are the same up to the last dot.
type Message struct {
	ID     string `json:"id"`
	Answer string `json:"answer,omitempty"` // the input that it begins the answer to; empty further down the answer, and without an input
	Text   string `json:"text"`             // in the client's dialect, without cursor
	Source string `json:"source,omitempty"` // the model's Markdown, without the note
	Note   string `json:"note,omitempty"`   // the line at the end of Text that is not the model's
	Cursor string `json:"cursor,omitempty"` // to be shown behind Text while it grows
	Live   bool   `json:"live,omitempty"`   // it will still change
}

// Deleted says that a message does not stand any more.
type Deleted struct {
	ID string `json:"id"`
}

// Typing says that the bot is at work.
type Typing struct{}

// Done says that nothing more follows in answer to an input.
type Done struct {
	Input  string `json:"input"`
	Failed bool   `json:"failed,omitempty"` // what it got is no answer, or not all of it
}

// Closed is the hub's last word.
type Closed struct {
	Reason string `json:"reason"`
}

// encodeFrame returns the line that a frame is.
func encodeFrame(f Frame) ([]byte, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		return nil, fmt.Errorf("encode frame: %w", err)
	}
	if line.Len() > maxFrame {
		return nil, errFrameTooLong
	}
	return line.Bytes(), nil
}

// reader reads the frames of one side.
type reader struct{ lines *bufio.Scanner }

func newReader(r io.Reader) reader {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxFrame)
	return reader{lines}
}

// next blocks for the next frame. At the end of the connection it returns io.EOF.
func (r reader) next() (Frame, error) {
	if !r.lines.Scan() {
		switch err := r.lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return Frame{}, errFrameTooLong
		case err != nil:
			return Frame{}, fmt.Errorf("read frame: %w", err)
		}
		return Frame{}, io.EOF
	}
	return decodeFrame(r.lines.Bytes())
}

// decodeFrame reads a line. Fields that it does not know it ignores; a frame that it does not know is an error, since
// leaving it out could lose something.
func decodeFrame(line []byte) (Frame, error) {
	var f Frame
	if err := json.Unmarshal(line, &f); err != nil {
		return Frame{}, fmt.Errorf("%w: %w", errFrame, err)
	}
	set := 0
	for _, is := range []bool{
		f.Hello != nil, f.Input != nil, f.Stop != nil, f.Welcome != nil, f.Refused != nil,
		f.Message != nil, f.Deleted != nil, f.Typing != nil, f.Done != nil, f.Closed != nil,
	} {
		if is {
			set++
		}
	}
	if set != 1 {
		return Frame{}, fmt.Errorf("%w: it says %d things", errFrame, set)
	}
	return f, nil
}
