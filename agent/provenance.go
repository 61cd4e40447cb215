package agent

import "slices"

// Origin says where a piece of a message comes from. Only text that the asker typed has the asker's authority. All other text
// is outside content, such as a web page. An instruction in outside content does not authorize a change, a fetch or the
// storing of a fact.
type Origin string

// These constants are the possible origins of a text. An empty or unknown value means outside content of an unknown kind.
const (
	OriginTyped   Origin = "typed"   // a person typed it: Source.Person says who
	OriginProgram Origin = "program" // telex itself wrote it, such as the answer of a built-in tool that reads no outside content
	OriginForward Origin = "forward" // a message that somebody forwarded
	OriginQuote   Origin = "quote"   // a message that the asker's message refers to
	OriginBot     Origin = "bot"     // another program wrote it in a person's name, such as an inline bot
	OriginPipe    Origin = "pipe"    // it was read from standard input that is not a terminal
	OriginReport  Origin = "report"  // a device or service reported that something happened
	OriginFile    Origin = "file"
	OriginPicture Origin = "picture"
	OriginSpeech  Origin = "speech" // a transcript of speech
)

// Source is one piece of a message: where it comes from, and who typed it.
type Source struct {
	Origin Origin `json:"origin"`
	Person string `json:"person,omitempty"` // who typed it, as in Turn.Person
	Text   string `json:"text,omitempty"`   // the typed text, a copy of that part of Message.Text; empty for other origins
}

// Typed returns a user's message that a person typed.
func Typed(person, text string) Message {
	return Message{Role: User, Text: text, Sources: []Source{{Origin: OriginTyped, Person: person, Text: text}}}
}

// Outside says which texts of a tool are outside content.
type Outside uint8

// The zero value, OutsideAll, is the strictest one. The tools of MCP servers have the value OutsideAll.
const (
	OutsideAll     Outside = iota // the tool's description and its results
	OutsideResults                // its results, such as a web page
	OutsideNothing
)

// CallContext is everything that the model had read before it made a call, with the origin of each text. Tools use the
// CallContext to decide whether the call needs a person's approval.
type CallContext struct {
	Person string // the person whose question the turn answers
	Shared bool   // other people read the answer, too
	// Messages are the history and the turn up to the call, oldest first. Messages contain the question as the person wrote
	// it, even if a pipeline replaced the question in the request.
	Messages   []Message
	Summarized bool      // a summary replaces some messages
	Tools      []ToolDef // the tools that were offered
}

// Typed returns what the asker typed, oldest first.
func (s CallContext) Typed() []string {
	var texts []string
	for _, m := range s.Messages {
		for _, src := range m.Sources {
			if m.Role == User && s.typedByAsker(src) {
				texts = append(texts, src.Text)
			}
		}
	}
	return texts
}

func (s CallContext) typedByAsker(src Source) bool {
	return src.Origin == OriginTyped && src.Person == s.Person
}

// Outside reports whether the model had read outside content: anything but the asker's typed text, the model's answers and
// texts of telex itself. A summary counts as outside content, because it may repeat outside content. A message of unknown
// origin counts as outside content, too.
func (s CallContext) Outside() bool {
	return s.Summarized ||
		slices.ContainsFunc(s.Tools, func(d ToolDef) bool { return d.Outside == OutsideAll }) ||
		slices.ContainsFunc(s.Messages, s.hasOutsideContent)
}

// hasOutsideContent reports whether a message holds outside content.
func (s CallContext) hasOutsideContent(m Message) bool {
	outside := func(src Source) bool { return src.Origin != OriginProgram && (m.Role != User || !s.typedByAsker(src)) }
	return m.Role != Assistant && (len(m.Sources) == 0 || slices.ContainsFunc(m.Sources, outside))
}
