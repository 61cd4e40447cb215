package terminal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version is the version of the protocol. A hub refuses clients with another version. Client and daemon are the same
// program, so different versions mean that the daemon was not restarted after an update. The refusal tells the person
// so.
//
// Each side ignores unknown fields. So an older program of version 1 may lack these fields: Hello.Client and
// Welcome.Once for reconnecting clients, Line.ID, Welcome.Commands, Welcome.Config, Input.Files and Welcome.Files.
const Version = 1

// maxFrame is the longest line that either side accepts, in bytes. It has room for the longest message as text and as
// source, and for the files of an input, which base64 makes a third longer.
const maxFrame = 4<<20 + MaxFiles*4/3

// Errors about frames.
var (
	errFrameTooLong = errors.New("frame is too long")
	errFrame        = errors.New("frame is not one of the protocol")
)

// Frame is one line of the protocol. Exactly one of its fields is set. A client begins with Hello. The hub answers with
// Welcome, or with Refused and then closes the connection.
type Frame struct {
	Hello *Hello `json:"hello,omitempty"` // from here on, frames that clients send
	Input *Input `json:"input,omitempty"`
	Stop  *Stop  `json:"stop,omitempty"`

	Welcome *Welcome `json:"welcome,omitempty"` // from here on, frames that the hub sends
	Refused *Refused `json:"refused,omitempty"`
	Message *Message `json:"message,omitempty"`
	Deleted *Deleted `json:"deleted,omitempty"`
	Typing  *Typing  `json:"typing,omitempty"`
	Done    *Done    `json:"done,omitempty"`
	Closed  *Closed  `json:"closed,omitempty"`
}

// Hello attaches a client to a session. It does not contain the terminal's width, because the client wraps lines itself.
type Hello struct {
	Version int     `json:"version"`
	Session string  `json:"session"`
	Dialect Dialect `json:"dialect"`          // the dialect that the client wants for its messages
	Client  string  `json:"client,omitempty"` // the client's random name, equal for all its connections; empty: the client does not reconnect
}

// Input is what the person typed. The client chooses the ID, and Done contains it too. A client with a name uses an
// ID again only to repeat an input on another connection. If that input was answered meanwhile, the hub sends Done at
// once.
type Input struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Last bool   `json:"last,omitempty"` // the client sends nothing more until the answer is complete, so the bot can't ask it questions
	// Piped says that the text came from standard input that is not a terminal, so nobody typed it.
	Piped bool   `json:"piped,omitempty"`
	Files []File `json:"files,omitempty"` // what the person attached; at most MaxFiles bytes together
}

// File is an attached file. The client reads it, with the permissions of the person who runs it.
type File struct {
	Name string `json:"name"` // without a path
	Data []byte `json:"data"`
}

// Stop stops the answer that is being written.
type Stop struct{}

// Welcome says that the client is attached.
type Welcome struct {
	Version int    `json:"version"`
	Model   string `json:"model,omitempty"`   // name of the model; empty: unknown
	Config  string `json:"config,omitempty"`  // path of the configuration file; empty: unknown
	History []Line `json:"history,omitempty"` // the last messages, oldest first
	// Commands are the names of the commands, without the slash.
	Commands []string `json:"commands,omitempty"`
	Files    bool     `json:"files,omitempty"` // the hub accepts files
	Once     bool     `json:"once,omitempty"`  // the hub accepts an input only once, even if a client with a name repeats it
}

// Line is an earlier message, as Markdown.
type Line struct {
	Mine bool   `json:"mine,omitempty"` // from the person at the terminal
	Text string `json:"text"`
	ID   string `json:"id,omitempty"` // id of the bot's message, the first one if there were several; empty: unknown
}

// Refused says why the client is not attached.
type Refused struct {
	Reason string `json:"reason"`
}

// Message is the newest state of a message of the bot. The ids of all messages of one answer are equal up to the last
// dot.
type Message struct {
	ID     string `json:"id"`
	Answer string `json:"answer,omitempty"` // id of the input, if this is the first message of its answer; otherwise empty
	Text   string `json:"text"`             // in the client's dialect, without cursor
	Source string `json:"source,omitempty"` // the model's Markdown, without the note
	Note   string `json:"note,omitempty"`   // the last line of Text, if telex wrote it and not the model
	Cursor string `json:"cursor,omitempty"` // shown after Text while the message grows
	Live   bool   `json:"live,omitempty"`   // the message will still change
}

// Deleted says that a message was deleted.
type Deleted struct {
	ID string `json:"id"`
}

// Typing says that the bot is working.
type Typing struct{}

// Done says that the answer to an input is complete.
type Done struct {
	Input  string `json:"input"`
	Failed bool   `json:"failed,omitempty"` // the answer is missing or incomplete
}

// Closed is the last frame of the hub.
type Closed struct {
	Reason string `json:"reason"`
}

// encodeFrame encodes a frame as a line.
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

// decodeFrame decodes a line. It ignores unknown fields. A frame of an unknown kind is an error, because ignoring it
// could lose content.
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
