package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The store keeps the records in this file across restarts. The store does not change the content of the records.

// A store returns these errors if it refuses a call permanently: repeating the call is useless.
var (
	ErrFenced  = errors.New("the turn is not current") // the turn ended, or its session was reset
	ErrUnknown = errors.New("not in the store")        // no such turn, or no such unfinished message
	// ErrManyRequests: MaxPairingRequests other people at the endpoint are already waiting to be let in.
	ErrManyRequests = errors.New("too many people wait to be let in")
)

// Pending is an accepted message that no turn has answered yet.
type Pending struct {
	Conversation Conversation
	Message      Inbound
	Accepted     time.Time
	Begun        int // how often a turn with this message has begun
}

// TurnState says how far a turn has come.
type TurnState string

// The states of a turn.
const (
	TurnRunning TurnState = "running" // the model is being asked
	TurnDecided TurnState = "decided" // the ending is known and must be delivered
	TurnDone    TurnState = "done"    // nothing is left to do
)

// Turn is the record of one reply and of the messages that it answers.
type Turn struct {
	ID           string
	Conversation Conversation
	To           Target
	ReplyTo      MessageID
	State        TurnState
	Began        time.Time // when its oldest message was accepted
	Runs         int       // how often the turn has begun, in this process or an earlier one
	Void         bool      // the turn's session was deleted, so the turn must not run again
	User         UserID    // the asker: the sender of the newest message
	Replaces     string    // id of an earlier turn for the same question, whose entries this turn's entries replace
	Messages     []Inbound // the messages that the turn answers, oldest first
	Ending       []byte    // State decided: how the reply must end, as the gateway encoded it
	Parts        []Part
	Steps        []Step // the turn's journal: what the turn has done so far, in order
}

// Step is an entry of a turn's journal: something that a process must know if it continues the turn after a crash.
type Step struct {
	Kind StepKind
	Call string // id of the tool call that the step is about; empty for StepSaid and StepUsage
	Body []byte // as the gateway encoded it; may be empty
}

// OnlyUsage reports whether all steps are about usage.
func OnlyUsage(steps []Step) bool {
	return len(steps) > 0 && !slices.ContainsFunc(steps, func(s Step) bool { return s.Kind != StepUsage })
}

// NewStep returns a step whose body is encoded as JSON.
func NewStep(kind StepKind, call string, body any) (Step, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return Step{}, fmt.Errorf("encode a step of the turn: %w", err)
	}
	return Step{Kind: kind, Call: call, Body: b}, nil
}

// StepKind is the kind of a step.
type StepKind string

// The kinds of steps.
const (
	StepSaid     StepKind = "said"     // a message that the turn added to its history
	StepBegun    StepKind = "begun"    // a call that changes something has begun
	StepReads    StepKind = "reads"    // a call that changes nothing has begun
	StepStopped  StepKind = "stopped"  // a call was stopped before it had a result
	StepAnswered StepKind = "answered" // the result of a call
	StepAsked    StepKind = "asked"    // a call waits for a person's approval
	StepUsage    StepKind = "spent"    // the usage of the turn so far; it replaces the previous step of this kind
	StepDecided  StepKind = "decided"  // a call was approved, was refused, or timed out
)

// Fact is something that a person has asked the bot to remember.
type Fact struct {
	ID   string // short, unique for the person, and never used again
	Text string // one line
	At   time.Time
}

// Remembered is the result of a person's request to remember a text. If neither Known nor Full is set, Fact is new.
type Remembered struct {
	Fact       // the new fact, or the known one
	Known bool // the person already has a fact with this text, compared without regard to case
	Full  bool // the text is new, but the person already has the maximum number of facts
}

// Remember compares a text with the person's facts. most is the maximum number of facts. If the text is new, the
// caller stores it.
func Remember(known []Fact, text string, most int) Remembered {
	if i := slices.IndexFunc(known, func(f Fact) bool { return strings.EqualFold(f.Text, text) }); i >= 0 {
		return Remembered{Fact: known[i], Known: true}
	}
	return Remembered{Full: len(known) >= most}
}

// IsNew reports whether the caller stores the text.
func (r Remembered) IsNew() bool { return !r.Known && !r.Full }

// Decision is the result of a turn. The store writes a Decision in one transaction, before the reply is made final.
type Decision struct {
	Ending []byte // how the reply must end; the gateway reads it after a restart
	Growth
}

// Growth is what a turn adds to its session in one transaction. If the session was deleted meanwhile, the store adds
// only the usage.
type Growth struct {
	History [][]byte // new entries, in order
	Usage   []Usage  // what the turn used, with one element for each model
	// Undecided is usage that the store counts at the end of the turn only if it has no Decision of the turn. A stored
	// Decision already contains this usage, which would otherwise be counted twice.
	Undecided  []Usage
	Compaction *Compaction // nil: the summary does not change
}

// Exchange is a turn that is stored only when it has ended. If the process crashes before, nothing of the turn is
// kept.
type Exchange struct {
	Turn         string // id of the turn
	Conversation Conversation
	User         UserID // who asked
	After        int64  // ID of the newest history entry that the turn read; 0: it read none
	Growth       Growth
	Response     *Response // nil: clients can't refer to it later
}

// Response is an answer of the API server. The client may refer to the response in later requests.
type Response struct {
	ID       string
	Previous string // id of the previous response in the conversation; empty: this is the first one
	Body     []byte // the answer as the client received it
	Messages []byte // the messages that it added to the conversation, as the API server encoded them
	At       time.Time
}

// Compaction replaces all entries up to a certain one by a summary.
type Compaction struct {
	Summary string // includes what the previous summary said
	Upto    int64  // ID of the newest entry that it covers
}

// Entry is one message of a history.
type Entry struct {
	ID   int64     // increases within the conversation
	Turn string    // id of the turn that added it; empty if an older version stored it
	User UserID    // the asker; empty if an older version stored it
	At   time.Time // when it was stored
	Body []byte    // as the gateway encoded it
}

// Session is what is stored about a conversation besides its entries.
type Session struct {
	Model       string    // name of the chosen model; empty: none was chosen
	Summary     string    // summary of the entries up to SummaryUpto
	SummaryUpto int64     // ID of the newest entry that the summary covers; 0: there is no summary
	Compactions int       // how often a summary was made
	At          time.Time // when the newest summary was made
}

// Usage is what one model used for one turn, in tokens.
type Usage struct {
	Model                                 string
	Prompt, Cached, Completion, Reasoning int
	Calls                                 int
	Estimated                             bool // at least one call reported no usage, so its tokens are estimated
}

// Add adds the usage of another model or turn.
func (u *Usage) Add(v Usage) {
	u.Prompt += v.Prompt
	u.Cached += v.Cached
	u.Completion += v.Completion
	u.Reasoning += v.Reasoning
	u.Calls += v.Calls
	u.Estimated = u.Estimated || v.Estimated
}

// UsageOf selects usage. A field with its zero value does not restrict the selection.
type UsageOf struct {
	Conversation Conversation
	Person       Person
	From, To     time.Time // range of the storage time: From included, To excluded
}

// Used is a sum of usages.
type Used struct {
	Usage        // Model is empty
	Turns int    // number of turns with usage
	Last  string // the last model that answered with usage
}

const (
	// PairingLife is how long the code of a pairing request is valid.
	PairingLife = time.Hour
	// MaxPairingRequests is the maximum number of valid pairing requests per endpoint. The limit keeps the list short
	// enough for an operator to read, even if many strangers write to the bot.
	MaxPairingRequests = 3
)

// PairingRequest is the request of a person who is not let in and has received a code.
type PairingRequest struct {
	Person
	Name string // for display only; never used as an identity
	Code string
	At   time.Time
}

// Admission is a person who was let in by a code.
type Admission struct {
	Person
	Name string
	By   string // who approved the code: a Person's String, or "operator"
	At   time.Time
}

// PartState is what is known about one message of a reply.
type PartState string

// The states of a part.
const (
	PartIntended PartState = "intended" // its create is in progress; the message may exist, but its id is unknown
	PartAbsent   PartState = "absent"   // its create was refused; it certainly does not exist
	PartRefused  PartState = "refused"  // the platform refuses its content; telex does not try again
	PartStands   PartState = "stands"
	PartSealed   PartState = "sealed"  // it exists and is full
	PartStreams  PartState = "streams" // it exists and is a stream that was not stopped
	// PartResent: the message exists, and its reply is being sent again in shorter messages. Source is still the
	// Markdown that the message showed before, so the Sources of all parts together are the whole text.
	PartResent PartState = "resent"
	PartGone   PartState = "gone"   // deleted
	PartFrozen PartState = "frozen" // it was replaced and waits to be deleted
)

// Part is the record of one message of a reply. Text and Spans are the content of the last attempted call, without the
// cursor. After a crash, the message shows either this content or the previous content.
type Part struct {
	Index  int
	State  PartState
	Ref    MessageRef
	Key    string // idempotency key of its create
	Text   string
	Plain  string // the text without any markup; empty if it equals Text
	Spans  []Span
	Cursor bool
	Source string    // Markdown that this part shows; empty after the turn was decided
	File   bool      // the message is a file, with Text as its caption
	Cut    int       // maximum length of a part at the time when the text was split
	First  time.Time // when its create was first attempted
	Tries  int       // State intended: number of processes that may have made the message so far
	Create *Create   // State intended: the attempted create, if the platform needs it to find the message
	Steps  int       // number of steps in the turn's journal when Source got its current value; the store sets it
}

// Block forbids calls of some kinds in a scope until a certain time.
type Block struct {
	Scope   Scope
	Ops     Op // 0: all kinds of calls
	Chat    ChatID
	Thread  ThreadID // only with ScopeThread
	Message MessageID
	Until   time.Time
}

// Move records that the platform gave a chat a new id.
type Move struct {
	Endpoint EndpointID
	From, To ChatID
}
