package agent

import "slices"

// Origin says where a piece of a message comes from. It decides authority: only what the asker typed counts as the asker's
// own words. Everything else is outside content, which alone can change nothing, store nothing and fetch nothing.
type Origin string

// The origins. Any other value, and no value, means outside content of an unknown kind.
const (
	OriginTyped   Origin = "typed"   // a person typed it: Source.Person says who
	OriginProgram Origin = "program" // telex itself wrote it, such as the answer of a built-in tool that reads nothing from outside
	OriginForward Origin = "forward" // a message that somebody passed on
	OriginQuote   Origin = "quote"   // a message that the asker's message refers to
	OriginBot     Origin = "bot"     // another program wrote it in a person's name, such as an inline bot
	OriginPipe    Origin = "pipe"    // it was read from standard input that is no terminal
	OriginReport  Origin = "report"  // a device or service reported that something happened
	OriginFile    Origin = "file"
	OriginPicture Origin = "picture"
	OriginSpeech  Origin = "speech" // a transcript
)

// Source is one piece of a message: where it comes from, and who typed it.
type Source struct {
	Origin Origin `json:"origin"`
	Person string `json:"person,omitempty"` // who typed it, as in Turn.Person
	Text   string `json:"text,omitempty"`   // what was typed, a copy of that part of Message.Text; empty for other origins
}

// Typed returns a user's message that a person typed.
func Typed(person, text string) Message {
	return Message{Role: User, Text: text, Sources: []Source{{Origin: OriginTyped, Person: person, Text: text}}}
}

// Outside says which words of a tool are outside content.
type Outside uint8

// The zero value is the safe one: it holds for the tools of servers.
const (
	OutsideAll     Outside = iota // what the tool says of itself, and what it returns
	OutsideResults                // what it returns, such as a page
	OutsideNothing
)

// Said is everything that the model reads when it makes a call, with its provenance. Guards ask it who wrote what.
type Said struct {
	Person string // who asks
	Shared bool   // other people read the answer too
	// Messages are the history and the turn up to the call, oldest first. What a pipeline put in the place of the
	// question is not among them.
	Messages   []Message
	Summarized bool      // a summary stands before the messages, or in the place of some
	Tools      []ToolDef // that are offered
}

// Typed returns what the asker typed, oldest first.
func (s Said) Typed() []string {
	var texts []string
	for _, m := range s.Messages {
		for _, src := range m.Sources {
			if m.Role == User && s.own(src) {
				texts = append(texts, src.Text)
			}
		}
	}
	return texts
}

func (s Said) own(src Source) bool { return src.Origin == OriginTyped && src.Person == s.Person }

// Outside reports whether the model reads outside content: anything but the asker's typed text, the model's answers and
// words of telex itself. A summary counts as such, since it tells what anybody said; so does a message of unknown origin.
func (s Said) Outside() bool {
	return s.Summarized ||
		slices.ContainsFunc(s.Tools, func(d ToolDef) bool { return d.Outside == OutsideAll }) ||
		slices.ContainsFunc(s.Messages, s.hasOutsideContent)
}

// hasOutsideContent reports whether a message holds outside content.
func (s Said) hasOutsideContent(m Message) bool {
	foreign := func(src Source) bool { return src.Origin != OriginProgram && (m.Role != User || !s.own(src)) }
	return m.Role != Assistant && (len(m.Sources) == 0 || slices.ContainsFunc(m.Sources, foreign))
}
