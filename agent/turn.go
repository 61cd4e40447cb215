package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
)

// Role says who wrote a Message.
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
	Images     []Image    `json:"images,omitempty"` // images of a user's or a tool's message; they follow the text
	Files      []File     `json:"files,omitempty"`  // files of a user's message; they follow the images
	// Reasoning is the model's reasoning before its tool calls. Some providers require that requests contain this reasoning
	// together with the calls.
	Reasoning string `json:"reasoning,omitempty"`
	// Sources are the origins of the pieces of a user's or a tool's message, in order. If Sources is empty, the message is
	// outside content.
	Sources []Source `json:"sources,omitempty"`
}

// Image is a picture for a model. The caller ensures that models accept its size and format.
type Image struct {
	MediaType string `json:"media_type"` // such as image/jpeg
	Data      []byte `json:"data"`
	// URL is an address from which the model's provider loads the image itself, instead of Data. The asker typed the URL.
	URL string `json:"url,omitempty"`
}

// ToolCall is a complete call that a model asked for.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON as the model wrote it
	// Extra is provider data that must be sent back unchanged with the call, such as Gemini's signatures. Extra is a JSON
	// object with one key for each package of a model API. Each package reads only the value of its own key.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Turn is one message of a person, or several merged ones, to which the agent gives one reply.
type Turn struct {
	ID     string // identifies the turn in logs
	System string // system prompt; empty: the agent's own
	// Context is added at the end of the system prompt, because a change at the end invalidates the smallest part of a
	// provider's prompt cache. Context may be empty.
	Context string
	Model   string // name of the model to ask first, one of Agent.Models; empty or unknown: the first one
	// Summary is the summary of the conversation before Messages, from an earlier Result's Compaction; empty: none.
	Summary  string
	Messages []Message // history, oldest first, the new user message last; not changed
	// More returns what people wrote since its last call, as user messages. The agent calls More right before every request to the
	// model, including repeated ones, and adds the messages at the end of the request. In Result.Append, the messages from More
	// precede the model's next message. More should not block. More may be nil.
	More   func(context.Context) []Message
	Stream bool // false: the answer's text is emitted in one piece when it is complete
	// Live says that each event goes at once to a program, which can't discard text that it has received. If Live is set, the
	// model's stream is read piece by piece. If Live is set and an answer breaks off after a part of it was emitted, the turn
	// fails, because a second answer could not replace that part.
	Live bool
	// ClientTools are tools that the caller runs. A client's tool replaces the agent's own tool of the same name. The first answer
	// that calls a client's tool ends the turn with StopClientCalls. The calls of client tools are emitted as Call events, and the
	// last message of Result.Append contains them. Calls of the agent's own tools in the same answer are dropped, because the
	// caller may keep a history without them; the model may repeat them.
	ClientTools []ToolSpec
	Params      Params

	// Person and Conversation identify the asker and the conversation, for tools that store something.
	Person, Conversation string
	Shared               bool // other people read the answer, too
	// Tools are the names of the tools that may be called; nil: all. A name that ends in "*" matches all names with that
	// prefix.
	Tools []string
	// Steps are the messages and tool results that an earlier process stored in the Journal of this turn, in order. The turn
	// continues after these steps. Run emits the texts of the steps again, and Result.Append contains the steps.
	Steps []Message
	// StartedCalls are the ids of those calls in Steps for which the Journal contains Begin, but neither End nor Stopped.
	StartedCalls []string
	// ProposedCalls are the ids of those calls in Steps about which people were asked. A proposed call runs only if a person
	// approves it, even if its tool needs no approval any more.
	ProposedCalls []string
	// Files are the files that the calls in Steps made for people, by the ids of the calls, as stored by the Journal.
	Files map[string][]File
	// EarlierUsage is the usage of earlier processes for this turn: the usage in the Journal, and an estimate for an answer that
	// a crash interrupted. EarlierUsage is part of the usage that Run returns.
	EarlierUsage []ModelUsage
	Journal      Journal  // nil: nothing is stored, and the turn can't continue after a crash
	Approver     Approver // nil: calls that need approval are denied
}

// systemPrompt returns the first of these system prompts that is not empty: the pipeline node's, the turn's, the agent's.
// systemPrompt adds the turn's context at the end.
func (t Turn) systemPrompt(node, agents string) string {
	system := cmp.Or(node, t.System, agents)
	if t.Context == "" {
		return system
	}
	return strings.TrimSpace(strings.TrimSpace(system) + "\n\n" + t.Context)
}

// Params are a caller's parameters for the answers of one turn; in a pipeline, they apply to the last node only. If a
// parameter is zero, the configuration decides. A model API ignores parameters that it does not support.
type Params struct {
	Temperature, TopP, FrequencyPenalty, PresencePenalty *float64
	MaxOutput                                            int // in tokens; the model's configured limit applies, too
	Seed                                                 *int64
	Stop                                                 []string
	// Format is a response_format of the Chat Completions API (https://platform.openai.com/docs/api-reference/chat/create).
	Format json.RawMessage
	// MustCall demands that the model calls one of Turn.ClientTools: any of them, or the one named MustCallName. With
	// MustCall, the model is offered no other tools.
	MustCall          bool
	MustCallName      string
	ParallelToolCalls *bool
	Effort            string // effort of the reasoning, such as low
}

// ModelUsage is the usage of one model in a turn.
type ModelUsage struct {
	Model                     string
	Usage                     Usage
	Calls                     int
	Estimate, EstimatedPrompt int // as in Result
	EstimatedCompletion       int // as in Result
}

// Compaction says that a summary replaces the beginning of a conversation, namely Turn.Summary and the first messages of
// Turn.Messages. Messages is the number of messages in Turn.Messages that the summary replaces. The next turn needs only
// Summary and the later messages.
type Compaction struct {
	Summary  string
	Messages int
}

// StopReason says why a turn ended.
type StopReason string

// The reasons why a turn ended.
const (
	StopDone StopReason = "done"
	// StopClientCalls says that the turn's last answer calls tools of Turn.ClientTools.
	StopClientCalls StopReason = "client_calls"
	StopLength      StopReason = "length"      // the model hit its output limit
	StopFiltered    StopReason = "filtered"    // the provider's content filter stopped the answer
	StopRefused     StopReason = "refused"     // the model refused to answer
	StopEmpty       StopReason = "empty"       // the answer had no text
	StopThinking    StopReason = "thinking"    // the answer had only reasoning
	StopCancelled   StopReason = "cancelled"   // ctx ended
	StopTimeLimit   StopReason = "turn_limit"  // Limits.Turn was reached
	StopFirstToken  StopReason = "first_token" // Limits.FirstToken was reached
	StopSilence     StopReason = "silence"     // Limits.Silence was reached
	StopCalls       StopReason = "call_limit"  // Limits.ModelCalls was reached
	StopToolCalls   StopReason = "tool_limit"  // Limits.ToolCalls was reached
	StopError       StopReason = "error"       // all models failed
	StopNoTool      StopReason = "no_tool"     // the model called a tool although it was offered none
	StopNoRoom      StopReason = "no_room"     // the configuration leaves no room for a question in the model's window
	StopTooLong     StopReason = "too_long"    // the question alone does not fit the model's window
)

// Usage is the number of tokens, as counted by the provider, of all model calls of a turn together.
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

// Result is the outcome of a turn. Result is complete even if the turn failed.
type Result struct {
	Text     string // the complete reply; a fixed line if the model wrote nothing
	Partial  bool   // the turn ended before the model had finished; Text is the text so far
	Stop     StopReason
	Refusal  string // the model's text if it refused to answer
	Model    string // name of the model that answered
	Usage    Usage  // zero if the provider reported no usage
	Estimate int    // estimated completion tokens of all answers
	// EstimatedPrompt is the estimated number of prompt tokens of those calls for which the provider reported no usage. Usage
	// does not include these tokens.
	EstimatedPrompt int
	// EstimatedCompletion is the estimated number of tokens that telex received in answers for which the provider reported no
	// usage.
	EstimatedCompletion int
	ModelCalls          int
	ToolCalls           int // number of tool calls, including those in Turn.Steps
	// UsageByModel is the usage of each model, in the order of their first calls.
	UsageByModel []ModelUsage
	// Files are the files and images that the tools made for people, in the order of the calls. Files includes the files of the
	// calls in Turn.Steps. The number and size of the files are limited by MaxFiles and MaxFileBytes.
	Files []File
	// Append are the messages that the turn adds to the history, in order: the model's, the tools', and those from
	// Turn.More.
	Append []Message
	// Compaction is set if a summary replaced older messages. Compaction is valid even if the turn failed.
	Compaction *Compaction
	Context    int // tokens of the last request: as the provider counted, else by estimate
	Window     int // tokens that the model can read and write; 0: not known
	Elapsed    time.Duration
}
