package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The records of this file survive the process. A store keeps them unchanged.

// Permanent refusals of a store. Retrying is useless.
var (
	ErrFenced  = errors.New("the turn is not current") // it ended, or its session was reset
	ErrUnknown = errors.New("not in the store")        // no such turn, or no such unfinished message
	// ErrManyRequests: MaxPairingRequests other people already wait at the endpoint.
	ErrManyRequests = errors.New("too many people wait to be let in")
)

// Pending is an accepted message that nothing has answered yet.
type Pending struct {
	Conversation Conversation
	Message      Inbound
	Accepted     time.Time
	Begun        int // how many times a turn with it was begun
}

// TurnState is how far a turn has come.
type TurnState string

// The states of a turn.
const (
	TurnRunning TurnState = "running" // the model is being asked
	TurnDecided TurnState = "decided" // the ending is known and must be delivered
	TurnDone    TurnState = "done"    // nothing is left to do
)

// Turn is the record of one reply and of what it answers.
type Turn struct {
	ID           string
	Conversation Conversation
	To           Target
	ReplyTo      MessageID
	State        TurnState
	Began        time.Time // when its oldest message was accepted
	Runs         int       // how often it was begun, by this process or an earlier one
	Void         bool      // its session was forgotten; it must not run again
	User         UserID    // who asked: the sender of the newest message
	Replaces     string    // the turn whose entries this one's replace: the question was asked again
	Messages     []Inbound // what it answers, oldest first
	Ending       []byte    // State decided: how the reply must end, as the gateway wrote it
	Parts        []Part
	Steps        []Step // what it has done so far, in order
}

// Step is an entry of a turn's journal: what a process must know that continues the turn after a crash.
type Step struct {
	Kind StepKind
	Call string // the tool call that it is about; empty for StepSaid and StepUsage
	Body []byte // as the gateway wrote it; may be empty
}

// OnlyUsage reports whether steps say what a turn used and nothing else.
func OnlyUsage(steps []Step) bool {
	return len(steps) > 0 && !slices.ContainsFunc(steps, func(s Step) bool { return s.Kind != StepUsage })
}

// NewStep returns a step with a body in JSON.
func NewStep(kind StepKind, call string, body any) (Step, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return Step{}, fmt.Errorf("encode a step of the turn: %w", err)
	}
	return Step{Kind: kind, Call: call, Body: b}, nil
}

// StepKind says what a step tells.
type StepKind string

// The kinds of step.
const (
	StepSaid     StepKind = "said"     // a message by which the turn's history grew
	StepBegun    StepKind = "begun"    // a call that changes something runs from now on
	StepReads    StepKind = "reads"    // a call that changes nothing runs from now on
	StepStopped  StepKind = "stopped"  // such a call was ended before it had a result
	StepAnswered StepKind = "answered" // what came of a call
	StepAsked    StepKind = "asked"    // a call waits for a person
	StepUsage    StepKind = "spent"    // what the turn used so far; it replaces the one before
	StepDecided  StepKind = "decided"  // a person, or nobody in time, decided about it
)

// Fact is something that a person asked to be remembered.
type Fact struct {
	ID   string // short, unique among the person's, never used again
	Text string // one line
	At   time.Time
}

// Remembered is what came of a text that a person wants to be remembered. If it is neither Known nor Full, it is a new Fact.
type Remembered struct {
	Fact       // the new one, or the one that is Known
	Known bool // the person has a fact with this text already; upper and lower case don't matter
	Full  bool // the text is new, but the person already has the maximum number of facts
}

// Remember decides what comes of a text, given the person's facts and how many they may have. If it is new, the caller stores it.
func Remember(known []Fact, text string, most int) Remembered {
	if i := slices.IndexFunc(known, func(f Fact) bool { return strings.EqualFold(f.Text, text) }); i >= 0 {
		return Remembered{Fact: known[i], Known: true}
	}
	return Remembered{Full: len(known) >= most}
}

// IsNew reports whether the text is stored now.
func (r Remembered) IsNew() bool { return !r.Known && !r.Full }

// Decision is the result of a turn. It is stored in one transaction, before the last edits.
type Decision struct {
	Ending []byte // as the gateway reads it after a restart
	Growth
}

// Growth is what a turn adds to its session, in one transaction. If the session was forgotten meanwhile, only the usage is
// added.
type Growth struct {
	History [][]byte // new entries, in order
	Usage   []Usage  // what the turn used, a row for each model
	// Undecided is the usage that was part of the turn's Decision. It counts only if the store has no decision of the turn.
	Undecided  []Usage
	Compaction *Compaction // nil: the summary stays as it is
}

// Exchange is a turn that is stored only once it has ended: nobody continues it after a crash.
type Exchange struct {
	Turn         string // its id
	Conversation Conversation
	User         UserID // who asked
	After        int64  // newest entry of the history that the turn read; 0: it read none
	Growth       Growth
	Response     *Response // nil: it can't be referred to later
}

// Response is an answer of the API server to which its client may refer.
type Response struct {
	ID       string
	Previous string // id of the response before it in the conversation; empty: none
	Body     []byte // as the client got it
	Messages []byte // what it added to the conversation, as the API server wrote it
	At       time.Time
}

// Compaction replaces all entries up to one by a summary.
type Compaction struct {
	Summary string // with what the summary before said
	Upto    int64  // ID of the newest entry that it covers
}

// Entry is one message of a history.
type Entry struct {
	ID   int64     // grows along the conversation
	Turn string    // the turn that added it; empty in what older versions stored
	User UserID    // who asked; empty in what older versions stored
	At   time.Time // when it was stored
	Body []byte    // as the gateway wrote it
}

// Session is what a conversation remembers besides its entries.
type Session struct {
	Model       string    // name of the chosen model; empty: none was chosen
	Summary     string    // of the entries up to SummaryUpto
	SummaryUpto int64     // ID of the newest entry that the summary covers; 0: there is no summary
	Compactions int       // how often a summary was made
	At          time.Time // when the newest summary was made
}

// Usage is what one model used for one turn, in tokens.
type Usage struct {
	Model                                 string
	Prompt, Cached, Completion, Reasoning int
	Calls                                 int
	Estimated                             bool // at least one call reported no usage; its tokens are an estimate
}

// Add adds what another model or turn used.
func (u *Usage) Add(v Usage) {
	u.Prompt += v.Prompt
	u.Cached += v.Cached
	u.Completion += v.Completion
	u.Reasoning += v.Reasoning
	u.Calls += v.Calls
	u.Estimated = u.Estimated || v.Estimated
}

// UsageOf says whose usage is meant. A zero field means any.
type UsageOf struct {
	Conversation Conversation
	Person       Person
	From, To     time.Time // when the turn was stored: From included, To not
}

// Used is a sum of usages.
type Used struct {
	Usage        // without a model
	Turns int    // that used something
	Last  string // the model that answered last, of those that used something
}

const (
	// PairingLife is how long the code of a pairing request is valid.
	PairingLife = time.Hour
	// MaxPairingRequests is the maximum number of valid pairing requests per endpoint, so that strangers can't fill the list and an
	// operator can read it.
	MaxPairingRequests = 3
)

// PairingRequest is a person who is not let in and was given a code.
type PairingRequest struct {
	Person
	Name string // for people to read; never an identity
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

// PartState is what is known of one message of a reply.
type PartState string

// The states of a part.
const (
	PartIntended PartState = "intended" // a create is in progress; the message may exist, its id is unknown
	PartAbsent   PartState = "absent"   // its create was refused; it certainly does not exist
	PartRefused  PartState = "refused"  // the platform refuses what it would show; nobody tries again
	PartStands   PartState = "stands"
	PartSealed   PartState = "sealed"  // it exists and is full
	PartStreams  PartState = "streams" // it exists and is a stream that was not stopped
	// PartResent: it exists, and its reply is being sent again in shorter messages. Source is the Markdown that it showed before
	// that, so that the Sources of all parts still are the whole text.
	PartResent PartState = "resent"
	PartGone   PartState = "gone"   // deleted
	PartFrozen PartState = "frozen" // it was replaced and waits to be deleted
)

// Part is the record of one message of a reply. Text and Spans are the last payload tried,
// without its cursor: after a crash the message shows this or the payload before.
type Part struct {
	Index  int
	State  PartState
	Ref    MessageRef
	Key    string // idempotency key of its create
	Text   string
	Plain  string // without any markup; empty when that is Text
	Spans  []Span
	Cursor bool
	Source string    // Markdown that this part shows; empty once the ending is decided
	File   bool      // it is a file, with Text as its caption
	Cut    int       // the longest part when it was laid out
	First  time.Time // when its create was first tried
	Tries  int       // State intended: how many processes may have made it by now
	Create *Create   // State intended: the create as it was tried, where the platform needs that to find its message
	Steps  int       // how many steps the turn's journal had when Source became what it is; the store counts them
}

// Block forbids calls of some kinds in a scope for a while.
type Block struct {
	Scope   Scope
	Ops     Op // 0: all
	Chat    ChatID
	Thread  ThreadID // ScopeThread
	Message MessageID
	Until   time.Time
}

// Move says that a chat has a new id.
type Move struct {
	Endpoint EndpointID
	From, To ChatID
}
