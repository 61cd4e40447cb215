package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// ToolDef is a tool that a model may call. (The event about one call is Tool.)
type ToolDef struct {
	Name        string // at most 64 characters of a-z, A-Z, 0-9, "_" and "-", because every provider accepts such names
	Description string // for the model
	// Parameters is the JSON Schema of the arguments. The arguments are always one JSON object.
	Parameters json.RawMessage
	// ReadOnly says that a call changes nothing. Calls of read-only tools run in parallel. The calls of other tools run one
	// after the other, each after a person has approved it.
	ReadOnly bool
	// AutoApprove says that a call needs no approval although it changes something. Only the configuration sets AutoApprove.
	AutoApprove bool
	// Revision identifies other properties of the tool, such as its server's hints about what the tool changes. If Revision
	// changes, earlier approvals of the tool become invalid.
	Revision string
	// Timeout is how long a call may take. Each progress report of the call restarts Timeout, within the limit of the turn. 0
	// means DefaultToolTimeout.
	Timeout time.Duration
	// Show says in a few words what a call does, such as "Reading example.org". The arguments may be incomplete. If Show returns
	// an empty text, people still see the earlier description. If Show is nil, people see the tool's name.
	Show func(arguments string) string
	// Propose describes exactly what a call will do, for the person who must approve it. If Propose is nil, the person sees
	// the tool's name and the arguments.
	Propose func(arguments string) string
	// Asks reports whether a call needs approval although the tool is read-only. c is what the model had read before the
	// call. If Asks is nil, calls of a read-only tool need no approval.
	Asks func(call ToolCall, c CallContext) bool
	// Personal says that only the asker may approve a call, and no admin in the asker's place.
	Personal bool
	// Outside says which of the tool's texts are outside content.
	Outside Outside
	// Call runs one call. Call must return soon after ctx has ended, and be safe for concurrent use. The model reads the text
	// of the error, so the text must contain no secret.
	Call func(ctx context.Context, in Input) (Output, error)

	client bool // the tool is one of Turn.ClientTools, and has no Call
}

// DefaultToolTimeout is how long a call may take if its tool sets no Timeout.
const DefaultToolTimeout = 60 * time.Second

// Input is the input of one call of a tool.
type Input struct {
	Arguments string // a valid JSON object without duplicate names
	// Person and Conversation identify the asker and the conversation, for tools that store something; "": unknown.
	Person, Conversation string
	// Progress shows people in a few words how far the call has come, and restarts the timeout of the call. An empty text only
	// restarts the timeout. Call must not use Progress any more once Call has returned.
	Progress func(text string)
}

// Output is the result of a call of a tool.
type Output struct {
	Text   string  // for the model
	Images []Image // for people, and for a model that accepts images
	Files  []File  // for people, after the text
}

// File is a file that a tool made for people, or that a person attached for the model.
type File struct {
	Name      string // file name with an extension, without a path
	MediaType string
	Content   []byte
}

// Toolbox provides an agent's tools. The agent calls Tools before each request, because the tools may change.
type Toolbox interface {
	// Tools returns the tools that are available now. Tools must not block.
	Tools() []ToolDef
}

// Awaiter is a Toolbox that learns its tools some time after the start of the process, for example from MCP servers.
type Awaiter interface {
	// Await returns when the toolbox knows which tools are available, or when ctx ends.
	Await(ctx context.Context)
}

// Proposal is a call that waits for a person's decision.
type Proposal struct {
	Call ToolCall
	Tool string // name of the tool
	// Text says exactly what will happen, in at most 2000 bytes of plain text. Text has no markup and no invisible characters.
	// If Text had to be cut, its end says how much is missing.
	Text string
	// Whole is the same description as Text, but has up to 64 KiB instead of 2000 bytes.
	Whole string
	// Unreadable says that even Whole had to be cut, so that nobody may approve the call.
	Unreadable bool
	// Version changes when the tool's description changes. An approval is valid for one version only. If an earlier process
	// asked about the call and the tool is missing now, Version, Text and Whole are empty; the question of the earlier
	// process is still valid.
	Version string
	// Personal says that only the asker may approve the call, and no admin in the asker's place.
	Personal bool
	// Standing says whether a person may approve this call and all later calls of the tool at once. Standing is set for tools
	// that change something. If a call of a read-only tool needs approval, the reason is the call's arguments or the
	// conversation, so people are asked again for each such call.
	Standing bool
}

// Verdict is the decision of a person about a Proposal.
type Verdict uint8

// The possible decisions about a Proposal.
const (
	Denied Verdict = iota
	Approved
	TimedOut // nobody decided in time; the call is not run
)

// Journal stores the progress of a turn, so that it can continue after a crash. Each method returns when its data is durable.
// If Step or Begin returns an error, the calls do not run and the turn ends. The methods of a Journal are called one at a time,
// by the goroutine that called Run.
//
// After a crash, the next process runs each call for which Begin was not stored. If Begin was stored for a call, but neither
// End nor Stopped, the model reads that the outcome of the call is unknown.
type Journal interface {
	// Step is called before the calls of a step run. Step stores the messages that the step adds to the history: what people wrote
	// since the previous request, and the model's message with the calls. Step also stores the usage of the turn so far.
	Step(ctx context.Context, messages []Message, usage []ModelUsage) error
	// StoreUsage stores the usage of the turn so far, in place of the usage that was stored before.
	StoreUsage(ctx context.Context, usage []ModelUsage) error
	// Begin stores that calls begin to run, and whether they change something. A later process does not repeat a call for
	// which Begin was stored, because the call may have taken effect, or may have crashed this process.
	Begin(ctx context.Context, changes bool, calls ...ToolCall) error
	// Stopped stores that the end of the turn stopped a read-only call. The next process runs the stopped call again.
	Stopped(ctx context.Context, call ToolCall) error
	// End stores the result of a call, and the files that the call made for people: at most MaxFiles and MaxFileBytes per
	// turn. The images of the call are part of answer, not of files.
	End(ctx context.Context, answer Message, files []File) error
}

// ErrNobodyToAsk is returned by Approve if no person can decide. If Approve returns ErrNobodyToAsk, the model reads that
// nobody could be asked.
var ErrNobodyToAsk = errors.New("nobody can be asked here")

// ErrUnreadable is returned by Approve if a proposal is too long for a person to read. If Approve returns ErrUnreadable, the
// model reads that the call is too long.
var ErrUnreadable = errors.New("the call is too long to be read")

// Approver lets a person decide about a proposal.
type Approver interface {
	// Approve blocks until a person has decided, the time for the decision is over, or ctx ends. The turn's clock is paused
	// until Approve returns. If Approve returns an error, the call does not run.
	Approve(ctx context.Context, p Proposal) (Verdict, error)
}
