package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// ToolDef is a tool that a model may call. (The event about one call is Tool.)
type ToolDef struct {
	Name        string // at most 64 characters of a-z, A-Z, 0-9, "_" and "-": every provider accepts these
	Description string // for the model
	// Parameters is the JSON Schema of the arguments, an object.
	Parameters json.RawMessage
	// ReadOnly says that a call changes nothing. Calls of such tools run in parallel. The calls of other tools run one
	// after the other, each after a person has approved it.
	ReadOnly bool
	// AutoApprove says that a call needs no approval although it changes something. Only the configuration sets it.
	AutoApprove bool
	// Revision identifies other properties of the tool that must not change unnoticed, such as its server's hints about
	// what it changes. If it changes, earlier approvals no longer hold.
	Revision string
	// Timeout is how long a call may take since its start or its newest progress, within the turn's limit; 0:
	// DefaultToolTimeout.
	Timeout time.Duration
	// Show says in a few words what a call is about, such as "Reading example.org". The arguments may be
	// incomplete. An empty result keeps the earlier description. Nil: the tool's name.
	Show func(arguments string) string
	// Propose says exactly what a call will do, for the person who approves it; nil: its name and arguments.
	Propose func(arguments string) string
	// Asks says whether this call needs approval although the tool is read-only, given what the model had read. Nil: it
	// needs none.
	Asks func(call ToolCall, c CallContext) bool
	// Personal says that only the asker may approve a call, and no admin in their place.
	Personal bool
	// Outside says which of the tool's texts are outside content.
	Outside Outside
	// Call runs one call. It returns soon after ctx ended. The model reads an error's text, so it must contain no
	// secret. Call must be safe for concurrent use.
	Call func(ctx context.Context, in Input) (Output, error)

	client bool // it is one of Turn.ClientTools, and has no Call
}

// DefaultToolTimeout is how long a call may take if its tool sets no Timeout.
const DefaultToolTimeout = 60 * time.Second

// Input is the input of one call of a tool.
type Input struct {
	Arguments string // a valid JSON object without duplicate names
	// Person and Conversation identify the asker and the conversation, for tools that store something; "": unknown.
	Person, Conversation string
	// Progress shows people in a few words how far the call is, and restarts its timeout. An empty text only restarts
	// the timeout. It may be called until Call returns.
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
	Name      string // with an extension, no path
	MediaType string
	Content   []byte
}

// Toolbox provides an agent's tools. It is asked before each request, since the set may change.
type Toolbox interface {
	// Tools returns the tools there are now. It must not block.
	Tools() []ToolDef
}

// Awaiter is a Toolbox that learns its tools some time after the start.
type Awaiter interface {
	// Await returns when the toolbox knows its tools, or knows which are unavailable, or when ctx ends.
	Await(ctx context.Context)
}

// Proposal is a call that waits for a person's decision.
type Proposal struct {
	Call ToolCall
	Tool string // its name
	// Text says exactly what will happen, in at most 2000 bytes of plain text. It has no markup and no invisible
	// characters. If it is cut, it says how much is missing.
	Text string
	// Whole is the same text, in at most 64 KiB.
	Whole string
	// Unreadable says that even Whole is cut. Then nobody may approve the call.
	Unreadable bool
	// Version changes with the tool's description. An approval holds for one version only. Version, Text and Whole are
	// empty if an earlier process asked about the call and its tool is missing now: the earlier question still counts.
	Version string
	// Personal says that only the asker may approve the call, and no admin in their place.
	Personal bool
	// Standing says whether a person may approve all such calls at once, which makes sense for tools that change
	// something. A read-only call needs approval because of its arguments, so each one is asked about.
	Standing bool
}

// Verdict is what a person decided about a Proposal.
type Verdict uint8

// The verdicts.
const (
	Denied Verdict = iota
	Approved
	TimedOut // nobody decided in time; the call is not run
)

// Journal stores the progress of a turn, so that it can continue after a crash. Its methods return when their data
// is durable. An error of Step or Begin prevents the calls and ends the turn. The methods are called one at a time, by the
// goroutine that called Run.
//
// After a crash, the next process runs each call for which there is no Begin. A call with Begin, but without End and
// Stopped, has an unknown outcome, and the model is told so.
type Journal interface {
	// Step stores the messages that a step adds to the history before its calls run: what people wrote meanwhile, and
	// the model's message with the calls. It also stores what the turn used so far.
	Step(ctx context.Context, messages []Message, usage []ModelUsage) error
	// StoreUsage stores what the turn used so far, in place of the value stored before.
	StoreUsage(ctx context.Context, usage []ModelUsage) error
	// Begin stores that calls run now, and whether they change something. A later process does not run such a call
	// again: it may have taken effect, and it may have crashed this process.
	Begin(ctx context.Context, changes bool, calls ...ToolCall) error
	// Stopped stores that the turn's end stopped a read-only call. The next process runs it again.
	Stopped(ctx context.Context, call ToolCall) error
	// End stores the answer to a call, and the files that the call made for people: at most MaxFiles and MaxFileBytes
	// per turn. Images are in the answer only.
	End(ctx context.Context, answer Message, files []File) error
}

// ErrNobodyToAsk is returned by Approve if no person can decide. The model is told so.
var ErrNobodyToAsk = errors.New("nobody can be asked here")

// ErrUnreadable is returned by Approve if a proposal is too long for a person to read. The model is told so.
var ErrUnreadable = errors.New("the call is too long to be read")

// Approver lets a person decide about a proposal.
type Approver interface {
	// Approve blocks until somebody has decided, the time for it is over, or ctx ends. The turn's clock is paused
	// meanwhile. After any error the call is not run.
	Approve(ctx context.Context, p Proposal) (Verdict, error)
}
