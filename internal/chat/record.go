package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The store keeps the records in this file across restarts, and does not change their content.

// A store returns these errors if it refuses a call permanently, so that it makes no sense to repeat the call.
var (
	ErrFenced  = errors.New("the turn is not current") // the turn has ended, or the turn's session was reset
	ErrUnknown = errors.New("not in the store")        // the store has no such turn, or no such unfinished message
	// ErrManyRequests: MaxPairingRequests people are already waiting for access to the endpoint, so another person can't ask for
	// access.
	ErrManyRequests = errors.New("too many people wait for access")
)

// Pending is an accepted message that no turn has answered yet.
type Pending struct {
	Conversation Conversation
	Message      Inbound
	Accepted     time.Time
	Begun        int // how often a turn that answers this message has begun
}

// TurnState is the state of a turn.
type TurnState string

// These are the states of a turn.
const (
	TurnRunning TurnState = "running" // the turn has begun, but has no result yet
	TurnDecided TurnState = "decided" // the result is stored, but not yet delivered
	TurnDone    TurnState = "done"    // the turn has ended, and nothing is left to do
)

// Turn is the record of one reply and of the messages that it answers.
type Turn struct {
	ID           string
	Conversation Conversation
	To           Target
	ReplyTo      MessageID
	State        TurnState
	Began        time.Time // when the oldest message of the turn was accepted
	Runs         int       // how often the turn has begun to run, in this process or an earlier one
	Void         bool      // the turn's session was deleted, so the turn must not run again
	User         UserID    // the asker: the person who sent the newest message
	Replaces     string    // id of an earlier turn for the same question; this turn's history entries replace those of that turn
	Messages     []Inbound // the messages that the turn answers, oldest first
	Ending       []byte    // what the reply must show in the end, encoded by the gateway; set when State is decided
	Parts        []Part
	Steps        []Step // the turn's journal: what the turn has done so far, in order
}

// Step is an entry of a turn's journal: something that a process must know if it continues the turn after a crash.
type Step struct {
	Kind StepKind
	Call string // id of the tool call to which the step belongs; empty for StepSaid and StepUsage
	Body []byte // content of the step, encoded by the gateway; may be empty
}

// OnlyUsage reports whether the list contains steps, and all of them are of the kind StepUsage.
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

// These are the kinds of steps. In the comments of the constants, a call is a tool call.
const (
	StepSaid     StepKind = "said"     // a message that the turn added to its history
	StepBegun    StepKind = "begun"    // a call that changes something has begun
	StepReads    StepKind = "reads"    // a call that changes nothing has begun
	StepStopped  StepKind = "stopped"  // a call was stopped before it had a result
	StepAnswered StepKind = "answered" // the result of a call
	StepAsked    StepKind = "asked"    // a call waits for a person's approval
	StepUsage    StepKind = "spent"    // the token usage of the turn so far; replaces the previous step of this kind
	StepDecided  StepKind = "decided"  // a call was approved, was refused, or timed out
)

// Fact is something that a person has asked the bot to remember.
type Fact struct {
	ID   string // short, unique among the person's facts, and never used again
	Text string // one line
	At   time.Time
}

// Remembered is the result of a person's request to remember a text. If neither Known nor Full is set, the Fact is new.
type Remembered struct {
	Fact       // the new fact, or the known one
	Known bool // the person already has a fact with this text, apart from upper and lower case
	Full  bool // the text is new, but the person already has the maximum number of facts
}

// Remember compares a text with the facts of a person. The parameter most is the maximum number of facts. If the result's
// method IsNew returns true, the caller must store the text.
func Remember(known []Fact, text string, most int) Remembered {
	if i := slices.IndexFunc(known, func(f Fact) bool { return strings.EqualFold(f.Text, text) }); i >= 0 {
		return Remembered{Fact: known[i], Known: true}
	}
	return Remembered{Full: len(known) >= most}
}

// IsNew reports whether the caller must store the text as a new fact.
func (r Remembered) IsNew() bool { return !r.Known && !r.Full }

// Decision is the stored result of a turn. The gateway stores a Decision in one transaction, before it shows the final text of
// the reply.
type Decision struct {
	Ending []byte // what the reply must show in the end; encoded by the gateway, which reads it after a restart
	Growth
}

// Growth is what a turn adds to its session in one transaction. If the session was deleted meanwhile, the store adds
// only the usage.
type Growth struct {
	History [][]byte // new entries of the history, in order
	Usage   []Usage  // the token usage of the turn, one element for each model
	// Undecided is usage that the store counts at the end of the turn, but only if no Decision of the turn is stored. If a
	// Decision is stored, it already contains this usage, so the store would count the usage twice.
	Undecided  []Usage
	Compaction *Compaction // nil: the summary does not change
}

// Exchange is a turn that is stored only when it has ended. If the process crashes earlier, nothing of the turn is
// stored.
type Exchange struct {
	Turn         string // id of the ended turn
	Conversation Conversation
	User         UserID // who asked
	After        int64  // ID of the newest history entry that the turn read; 0: it read no entry
	Growth       Growth
	Response     *Response // nil: clients can't refer to the response later
}

// Response is an answer of the API server. The client may refer to the response in later requests.
type Response struct {
	ID       string
	Previous string // id of the previous response in the conversation; empty: this response is the first one
	Body     []byte // the response as the client received it
	Messages []byte // the messages that the turn added to the conversation, encoded by the API server
	At       time.Time
}

// Compaction replaces all history entries up to a certain one by a summary.
type Compaction struct {
	Summary string // also contains the content of the previous summary
	Upto    int64  // ID of the newest entry that the summary covers
}

// Entry is one message of a history.
type Entry struct {
	ID   int64     // increases within the conversation
	Turn string    // id of the turn that added the entry; empty if an older version stored the entry
	User UserID    // the asker; empty if an older version stored the entry
	At   time.Time // when the entry was stored
	Body []byte    // the message, encoded by the gateway
}

// Session is what is stored about a conversation besides its entries.
type Session struct {
	Model       string    // name of the chosen model; empty: none was chosen
	Summary     string    // summary of the history entries up to SummaryUpto
	SummaryUpto int64     // ID of the newest entry that the summary covers; 0: there is no summary
	Compactions int       // how many summaries have been made so far
	At          time.Time // when the newest summary was made
}

// Usage is the number of tokens that one model used in one turn.
type Usage struct {
	Model                                 string
	Prompt, Cached, Completion, Reasoning int
	Calls                                 int
	Estimated                             bool // for at least one call, the provider reported no usage, so telex estimated it
}

// Add adds the numbers of v to u.
func (u *Usage) Add(v Usage) {
	u.Prompt += v.Prompt
	u.Cached += v.Cached
	u.Completion += v.Completion
	u.Reasoning += v.Reasoning
	u.Calls += v.Calls
	u.Estimated = u.Estimated || v.Estimated
}

// UsageOf is a query for stored token usage. A field of UsageOf that has its zero value does not restrict the result.
type UsageOf struct {
	Conversation Conversation
	Person       Person
	From, To     time.Time // selects usage that was stored not before From, and before To
}

// Used is the sum of several Usages.
type Used struct {
	Usage        // Model is empty
	Turns int    // number of turns with usage
	Last  string // name of the model of the newest usage
}

const (
	// PairingLife is how long the code of a pairing request is valid.
	PairingLife = time.Hour
	// MaxPairingRequests is the maximum number of valid pairing requests per endpoint. MaxPairingRequests keeps the list short
	// enough for an operator to read, even if many strangers write to the bot.
	MaxPairingRequests = 3
)

// PairingRequest is the request of a person who has no access yet and has received a code.
type PairingRequest struct {
	Person
	Name string // only shown to people; does not identify the person
	Code string
	At   time.Time
}

// Admission is a person who got access by a pairing code.
type Admission struct {
	Person
	Name string
	By   string // who approved the code: a Person's String, or "operator"
	At   time.Time
}

// PartState says what is known about one message of a reply.
type PartState string

// These are the states of a part.
const (
	PartIntended PartState = "intended" // the message is being sent; it may exist, but its id is unknown
	PartAbsent   PartState = "absent"   // the message does not exist: the platform refused it, or a search found none
	PartRefused  PartState = "refused"  // the platform refuses the message's content; telex does not try again
	PartStands   PartState = "stands"
	PartSealed   PartState = "sealed"  // the message exists and is complete; the text continues in the next part
	PartStreams  PartState = "streams" // the message exists as a native stream that has not been stopped
	// PartResent: the message exists, but the reply is being sent again in shorter messages. The field Source still contains the
	// Markdown that the message showed before, so that the Sources of all parts are together the whole text.
	PartResent PartState = "resent"
	PartGone   PartState = "gone"   // it was deleted
	PartFrozen PartState = "frozen" // another message has replaced this one, and telex must still delete this one
)

// Part is the record of one message of a reply. Text and Spans are the content that the last attempted call sent, without the
// cursor. After a crash, the message shows either this content or the content before it.
type Part struct {
	Index  int
	State  PartState
	Ref    MessageRef
	Key    string // idempotency key with which the message is sent
	Text   string
	Plain  string // the text without any markup; empty if it equals Text
	Spans  []Span
	Cursor bool
	Source string    // Markdown that this part shows; empty once the turn's result is stored
	File   bool      // the message is a file, with Text as its caption
	Cut    int       // maximum length of a part when the text was split
	First  time.Time // when telex first tried to send the message
	Tries  int       // State intended: number of processes that have tried to send the message
	Create *Create   // State intended: what was sent, if the platform needs this to find the message
	Steps  int       // number of steps in the turn's journal when Source got its current value; set by the store
}

// Block forbids calls of some kinds in a scope until a certain time, because a rate limit was reached.
type Block struct {
	Scope   Scope
	Ops     Op // 0: all kinds of calls
	Chat    ChatID
	Thread  ThreadID // set only if Scope is ScopeThread
	Message MessageID
	Until   time.Time
}

// Move records that the platform gave a chat a new id.
type Move struct {
	Endpoint EndpointID
	From, To ChatID
}
