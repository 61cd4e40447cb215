package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
)

// Role is who wrote a Message.
type Role string

// The roles of the Chat Completions API.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one entry of a conversation as a model sees it.
type Message struct {
	Role       Role       `json:"role"`
	Text       string     `json:"text,omitempty"`
	Name       string     `json:"name,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Images     []Image    `json:"images,omitempty"` // a user's or a tool's, behind the text
	Files      []File     `json:"files,omitempty"`  // a user's, for models that read them, behind the images
	// Reasoning is a model's thinking before its tool calls, for providers that want it back with them.
	Reasoning string `json:"reasoning,omitempty"`
	// Sources are the pieces of a user's or a tool's message by their origin, in order. None: outside content.
	Sources []Source `json:"sources,omitempty"`
}

// Image is a picture as a model takes it: its size and format are the caller's to see to.
type Image struct {
	MediaType string `json:"media_type"` // such as image/jpeg
	Data      []byte `json:"data"`
}

// ToolCall is a complete call that a model asked for.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON as the model wrote it
	// Extra is what else the provider sent with the call and wants back as it was, such as Gemini's
	// signatures: a JSON object that only the model's package reads, and in which each has a name of its own.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Turn is one user message, or several merged, that wants one reply.
type Turn struct {
	ID     string // names the turn in logs
	System string // system prompt; empty: the agent's own
	// Context stands at the end of the system prompt, where it costs a provider's cache the least; empty: nothing.
	Context string
	Model   string // name of one of Agent.Models; empty or unknown: the first
	// Summary is what was said before Messages, from an earlier Result's Compaction; empty:
	// nothing.
	Summary  string
	Messages []Message // history, oldest first, the new user message last; not changed
	// More is asked right before every request to the model, a repeated one too, for what people
	// said meanwhile: user messages, each told once. They end the request's messages and stand
	// in Result.Append before what the model then says. It should not block; nil: nothing.
	More   func(context.Context) []Message
	Stream bool // false: the model is asked without streaming and Text comes at once
	// Live says that each event goes at once to a program, which can take nothing back. The model's stream is then read piece
	// by piece, and an answer that broke after some of it was told is not asked for again: the turn fails.
	Live bool
	// ClientTools are tools that the caller runs. They replace the agent's own tools of the same names. The first answer that calls
	// one ends the turn with StopClientCalls: the calls are told as Call and end Result.Append. Calls of the agent's own tools in
	// the same answer are not run and not in the history, since the caller may keep a history of its own; the model may repeat them.
	ClientTools []ToolSpec
	Params      Params

	// Person and Conversation name who asks and where, for tools that keep something.
	Person, Conversation string
	Shared               bool // other people read the answer too
	// Tools are the names of the tools that may be called; nil: all. A name that ends in "*" stands for
	// all that begin so.
	Tools []string
	// Steps is what an earlier process's run of this turn gave its Journal, in order, with the answers that
	// came: the turn goes on behind it. What they say is told again, and they are in Result.Append.
	Steps []Message
	// Begun are the ids of those calls in Steps that had begun to run and were neither answered nor stopped.
	Begun []string
	// Asked are the ids of those calls in Steps about which people were asked. They are not run without that being
	// decided, whatever their tools say of themselves by now.
	Asked []string
	// Files are what the calls in Steps made for people, by the ids of the calls, as the Journal got them.
	Files map[string][]File
	// Spent is what earlier processes used for this turn: the Journal's, and an estimate for the answer that was being
	// written when one died. It counts as this run's.
	Spent    []Spent
	Journal  Journal  // nil: nothing is kept, and nothing is known after a crash
	Approver Approver // nil: whatever needs approval is denied
}

// systemPrompt returns the system prompt of a pipeline's node, else the turn's own, else the agent's, with the turn's context
// behind it.
func (t Turn) systemPrompt(node, agents string) string {
	system := cmp.Or(node, t.System, agents)
	if t.Context == "" {
		return system
	}
	return strings.TrimSpace(strings.TrimSpace(system) + "\n\n" + t.Context)
}

// Params are a caller's wishes about the answers of one turn, of a pipeline's last node alone. Zero values: the configuration
// decides. An API that does not have one of them does without it.
type Params struct {
	Temperature, TopP, FrequencyPenalty, PresencePenalty *float64
	MaxOutput                                            int // tokens; the model's configured limit holds too
	Seed                                                 *int64
	Stop                                                 []string
	// Format is a response_format of the Chat Completions API (https://platform.openai.com/docs/api-reference/chat/create).
	Format json.RawMessage
	// MustCall demands a call of one of Turn.ClientTools: then only these are offered. A name demands that one.
	MustCall          bool
	MustCallName      string
	ParallelToolCalls *bool
	Effort            string // of the reasoning, such as low
}

// Spent is what one model used in a turn.
type Spent struct {
	Model                     string
	Usage                     Usage
	Calls                     int
	Estimate, EstimatedPrompt int // as in Result
	EstimatedCompletion       int // as in Result
}

// Compaction says that a conversation got shorter: Summary stands for Turn.Summary and the
// first Messages of Turn.Messages. The next turn begins with it and with the messages after
// those.
type Compaction struct {
	Summary  string
	Messages int
}

// StopReason says why a turn ended.
type StopReason string

// The reasons.
const (
	StopDone StopReason = "done"
	// StopClientCalls is the end of a turn whose last answer calls Turn.ClientTools.
	StopClientCalls StopReason = "client_calls"
	StopLength      StopReason = "length"      // the model hit its output limit
	StopFiltered    StopReason = "filtered"    // the provider's content filter
	StopRefused     StopReason = "refused"     // the model refused
	StopEmpty       StopReason = "empty"       // nothing came
	StopThinking    StopReason = "thinking"    // only reasoning came
	StopCancelled   StopReason = "cancelled"   // ctx ended
	StopTimeLimit   StopReason = "turn_limit"  // Limits.Turn
	StopFirstToken  StopReason = "first_token" // Limits.FirstToken
	StopSilence     StopReason = "silence"     // Limits.Silence
	StopCalls       StopReason = "call_limit"  // Limits.ModelCalls
	StopToolCalls   StopReason = "tool_limit"  // Limits.ToolCalls
	StopError       StopReason = "error"       // the model could not be used
	StopNoTool      StopReason = "no_tool"     // the model called a tool, and there is none
	StopNoRoom      StopReason = "no_room"     // the configuration leaves no room for a question in the model's window
	StopTooLong     StopReason = "too_long"    // the question alone does not fit the model's window
)

// Usage is tokens as the provider counted them, added up over all calls of a turn.
type Usage struct {
	Prompt, Cached, Completion, Reasoning int
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Prompt: u.Prompt + v.Prompt, Cached: u.Cached + v.Cached,
		Completion: u.Completion + v.Completion, Reasoning: u.Reasoning + v.Reasoning,
	}
}

// Result is the outcome of a turn, complete on every exit.
type Result struct {
	Text     string // the reply as it must stand; a fixed line when the model gave nothing
	Partial  bool   // the turn ended before the model did; Text is what had come
	Stop     StopReason
	Refusal  string // what the model said when it refused
	Model    string // name of the model that answered
	Usage    Usage  // zero when the provider sent none
	Estimate int    // completion tokens by estimate, whether or not usage came
	// EstimatedPrompt is the prompt tokens by estimate of the calls that ended before they told
	// their usage, which Usage lacks.
	EstimatedPrompt int
	// EstimatedCompletion is what had come of the answers of these calls, in tokens by estimate.
	EstimatedCompletion int
	ModelCalls          int
	ToolCalls           int // those in Turn.Steps too
	// Spent is what each model used, in the order of their first calls: Usage, EstimatedPrompt and Estimate
	// by model.
	Spent []Spent
	// Files are what the tools made for people, in the order of their calls, those in Turn.Steps too; images
	// are among them. They are at most MaxFiles, and MaxFileBytes in all.
	Files []File
	// Append is what the history grows by, in order, without the user's messages in Turn.Messages
	// but with those from Turn.More.
	Append []Message
	// Compaction is set when a summary now stands for older messages. It holds whatever became
	// of the answer.
	Compaction *Compaction
	Context    int // tokens of the last request: as the provider counted, else by estimate
	Window     int // tokens that the model can read and write; 0: not known
	Elapsed    time.Duration
}
