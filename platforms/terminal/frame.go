package terminal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version is the version of the protocol. A hub refuses a client that uses another version of the protocol. The client
// and the daemon are the same program. If the versions of client and daemon differ, the daemon was not restarted after
// an update, and the hub's refusal tells the person to restart the daemon.
//
// Hub and client ignore unknown fields, so that version 1 can get further fields later. An older program of version 1
// does not send the following fields: Hello.Client and Welcome.Once for reconnecting clients, Line.ID,
// Welcome.Commands, Welcome.Config, Input.Files and Welcome.Files.
const Version = 1

// maxFrame is the length in bytes of the longest line that hub and client accept. A line of maxFrame bytes can contain
// the longest message both as text and as Markdown source. maxFrame also includes the files of an input, which the
// base64 encoding makes a third longer.
const maxFrame = 4<<20 + MaxFiles*4/3

// The errors in this block report an invalid frame.
var (
	errFrameTooLong = errors.New("frame is too long")
	errFrame        = errors.New("frame is not one of the protocol")
)

// Frame is one line of the protocol. Exactly one field of a Frame is set. A client first sends Hello. The hub answers
// with Welcome, or answers with Refused and closes the connection.
type Frame struct {
	Hello *Hello `json:"hello,omitempty"` // Hello, Input and Stop are the frames that clients send
	Input *Input `json:"input,omitempty"`
	Stop  *Stop  `json:"stop,omitempty"`

	Welcome *Welcome `json:"welcome,omitempty"` // Welcome and all following fields are frames that the hub sends
	Refused *Refused `json:"refused,omitempty"`
	Message *Message `json:"message,omitempty"`
	Deleted *Deleted `json:"deleted,omitempty"`
	Typing  *Typing  `json:"typing,omitempty"`
	Done    *Done    `json:"done,omitempty"`
	Closed  *Closed  `json:"closed,omitempty"`
}

// Hello attaches a client to a session. Hello does not contain the terminal's width, because the client itself wraps
// lines.
type Hello struct {
	Version int     `json:"version"`
	Session string  `json:"session"`
	Dialect Dialect `json:"dialect"`          // the dialect that the client wants for its messages
	Client  string  `json:"client,omitempty"` // random; the same in all connections of a client; empty: no reconnecting
}

// Input is a text that the person typed, with the attached files. The client chooses the ID, and the hub's Done
// contains the same ID. A client with a name uses the ID of an input again only to repeat this input on another
// connection. If the gateway has already answered a repeated input, the hub sends Done immediately.
type Input struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Last bool   `json:"last,omitempty"` // the client sends nothing until the answer is complete, so the bot can't ask questions
	// Piped says that the client read the text from its standard input, which was not a terminal. No person typed a piped
	// text, so the text lacks the asker's authority.
	Piped bool   `json:"piped,omitempty"`
	Files []File `json:"files,omitempty"` // files that the person attached; together at most MaxFiles bytes
}

// File is an attached file. The client, not the daemon, reads the file, so the permissions of the person at the
// terminal apply.
type File struct {
	Name string `json:"name"` // without a path
	Data []byte `json:"data"`
}

// Stop stops the answer that is being written.
type Stop struct{}

// Welcome tells a client that the hub has attached the client to the session.
type Welcome struct {
	Version int    `json:"version"`
	Model   string `json:"model,omitempty"`   // name of the model; empty: unknown
	Config  string `json:"config,omitempty"`  // path of the configuration file; empty: unknown
	History []Line `json:"history,omitempty"` // the last messages, oldest first
	// Commands are the names of the chat commands, without the slash.
	Commands []string `json:"commands,omitempty"`
	Files    bool     `json:"files,omitempty"` // the hub accepts files
	Once     bool     `json:"once,omitempty"`  // telex accepts an input only once, even if a named client repeats it
}

// Line is an earlier message of the session, as Markdown.
type Line struct {
	Mine bool   `json:"mine,omitempty"` // the person at the terminal wrote the message
	Text string `json:"text"`
	ID   string `json:"id,omitempty"` // id of the bot's message, or of its first message if the answer has several; empty: unknown
}

// Refused tells a client why the hub did not attach the client to the session.
type Refused struct {
	Reason string `json:"reason"`
}

// Message is the newest state of a message of the bot. The ids of all messages of one answer are equal up to the last
// dot.
type Message struct {
	ID     string `json:"id"`
	Answer string `json:"answer,omitempty"` // for the first message of an answer: id of the answered input; otherwise empty
	Text   string `json:"text"`             // text of the message in the client's dialect, without cursor
	Source string `json:"source,omitempty"` // Markdown that the model wrote, without the note
	Note   string `json:"note,omitempty"`   // the last line of Text, if telex wrote this line instead of the model
	Cursor string `json:"cursor,omitempty"` // cursor that the client shows after Text while the message grows
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

// Closed is the last frame that the hub sends before it closes the connection.
type Closed struct {
	Reason string `json:"reason"`
}

// encodeFrame encodes a frame as one line of JSON.
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

// reader reads frames from a connection.
type reader struct{ lines *bufio.Scanner }

func newReader(r io.Reader) reader {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxFrame)
	return reader{lines}
}

// The method next blocks until the next frame arrives, and returns this frame. At the end of the connection, the method
// returns io.EOF.
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

// decodeFrame decodes one line of the protocol to a frame. decodeFrame ignores unknown fields, but returns an error for
// a frame of an unknown kind, because ignoring such a frame could lose content.
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
