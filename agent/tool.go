package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// ToolDef is something that a model may call. (The event about one call is Tool.)
type ToolDef struct {
	Name        string // of a-z, A-Z, 0-9, "_" and "-", at most 64 characters: what every provider takes
	Description string // for the model
	// Parameters is the JSON Schema of the arguments, an object.
	Parameters json.RawMessage
	// ReadOnly says that a call changes nothing: calls of such tools run side by side, and again where a turn
	// goes on behind a stop. The others run one after the other, each once a person has approved it, and never twice.
	ReadOnly bool
	// AutoApprove says that a call needs no person although it changes something. Only the operator decides that.
	AutoApprove bool
	// Revision stands for whatever else of the tool's description must not change unnoticed, such as what its server
	// says that it changes: a tool with another revision is another tool, for which no approval holds.
	Revision string
	// Timeout is how long a call may take, from its start or from the newest progress that it told, within the turn's
	// limit; 0: DefaultToolTimeout.
	Timeout time.Duration
	// Show says in a few words what a call is about, such as "Reading example.org". The arguments may be
	// incomplete. Empty: there is nothing better to say than before. Nil: the tool's name.
	Show func(arguments string) string
	// Propose says exactly what a call will do, for the person who approves it; nil: its name and arguments.
	Propose func(arguments string) string
	// Asks says that this call needs approval although the tool is read-only, given what the model reads and who wrote it.
	// Nil: it needs none.
	Asks func(call ToolCall, said Said) bool
	// Personal says that only the one who asked may approve a call, and no admin in their place.
	Personal bool
	// Outside says which of the tool's words are outside content.
	Outside Outside
	// Call runs one call. It returns soon after ctx ended. An error is told to the model, as its text; so
	// that must hold no secret. It may be called at the same time from many goroutines.
	Call func(ctx context.Context, in Input) (Output, error)

	client bool // it is one of Turn.ClientTools, and has no Call
}

// DefaultToolTimeout is how long a call of a tool may take that says nothing else.
const DefaultToolTimeout = 60 * time.Second

// Input is what a tool is called with.
type Input struct {
	Arguments string // JSON: a valid object, in which no name stands twice
	// Person and Conversation name who asked and where, for tools that keep something; "" when nobody says.
	Person, Conversation string
	// Progress tells people how far the call is, in a few words; none leave what stands there. It gives the call
	// more time. It may be called until Call returns.
	Progress func(text string)
}

// Output is what a call of a tool came to.
type Output struct {
	Text   string  // for the model
	Images []Image // for the model, where it takes images, and for people
	Files  []File  // for people, after the text
}

// File is what a tool made for people, or what a person attached for the model.
type File struct {
	Name      string // with an extension, no path
	MediaType string
	Content   []byte
}

// Toolbox is where an agent gets its tools from, before each request: the set may change.
type Toolbox interface {
	// Tools returns the tools there are now. It must not block.
	Tools() []ToolDef
}

// Awaiter is a Toolbox that does not know its tools from the start.
type Awaiter interface {
	// Await returns once it knows them, or knows that some can't be had for now; or when ctx ends.
	Await(ctx context.Context)
}

// Proposal is a call that waits for a person.
type Proposal struct {
	Call ToolCall
	Tool string // its name
	// Text says exactly what will happen, in at most 2000 bytes of plain text: no markup, though it may look
	// like some, and nothing invisible. Where it is cut, it says how much is missing.
	Text string
	// Whole is the same text, in at most 64 KiB.
	Whole string
	// Unreadable says that Whole is cut all the same: nobody may approve what nobody can read.
	Unreadable bool
	// Version changes with what the tool says of itself, to models and so to people: what was approved of one version
	// was not of another. It is empty, and so are Text and Whole, where people were asked about the call by an earlier process and
	// its tool is not there: that question stands.
	Version string
	// Personal says that only the one who asked may approve it, and no admin in their place.
	Personal bool
	// Standing says that approving such calls once and for all makes sense: the tool changes things. A call
	// that only reads is asked about for what is in it, so each one anew.
	Standing bool
}

// Verdict is what a person decided about a Proposal.
type Verdict uint8

// The verdicts.
const (
	Denied Verdict = iota
	Approved
	TimedOut // nobody decided in time, which denies it
)

// Journal keeps what a turn has done, so that it can go on after a crash. Its methods return once that is
// durable; an error of Step or Begin keeps the calls from being run and ends the turn. They are called one
// at a time, by the goroutine that called Run.
type Journal interface {
	// Step stores what the turn's history grows by before the calls of a step run: the model's message
	// with its calls, and what people said before it; and what the turn used so far.
	Step(ctx context.Context, messages []Message, spent []Spent) error
	// Spent stores what the turn used so far, in place of what was stored before.
	Spent(ctx context.Context, spent []Spent) error
	// Begin says that calls run now, and whether they change something. A process that finds one of them without an
	// answer does not run it again: it may have taken effect, and it may be what ended the process before.
	Begin(ctx context.Context, changes bool, calls ...ToolCall) error
	// Stopped says that a call which changes nothing was ended before it had a result, with its turn: the next
	// process runs it again.
	Stopped(ctx context.Context, call ToolCall) error
	// End stores the answer to a call, and what the call made for people: at most MaxFiles files and
	// MaxFileBytes in a whole turn. Images are in the answer, and not among these. The outcome of a call that
	// Begin heard of and neither End nor Stopped is unknown after a crash, which the model is told. Calls of
	// which the journal never heard are run then.
	End(ctx context.Context, answer Message, files []File) error
}

// ErrNobodyToAsk is Approve's where there is no person to decide. The model is told so.
var ErrNobodyToAsk = errors.New("nobody can be asked here")

// ErrUnreadable is Approve's about a proposal that is too long for a person to read. The model is told so.
var ErrUnreadable = errors.New("the call is too long to be read")

// Approver lets a person decide about a proposal.
type Approver interface {
	// Approve blocks until somebody has decided, nobody did in time, or ctx ended. The turn's clock stops
	// meanwhile. An error other than these keeps the call from being run, too.
	Approve(ctx context.Context, p Proposal) (Verdict, error)
}
