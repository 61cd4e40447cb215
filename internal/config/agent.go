package config

import "time"

// ReasoningSummary is the value of show_reasoning with which people see summaries of the model's reasoning.
const ReasoningSummary = "summary"

// Agent is the section agent, which configures how a turn runs.
type Agent struct {
	SystemPrompt  string         `yaml:"system_prompt"`
	Limits        Limits         `yaml:"limits"`
	Context       bool           `yaml:"context"`    // telex tells the model the chat, the date and the asker's name
	ThinkTags     []string       `yaml:"think_tags"` // names of tags in the model's text; people never see their content
	ShowReasoning string         `yaml:"show_reasoning" enum:"off|summary"`
	Pipeline      []PipelineNode `yaml:"pipeline"` // the nodes run in this order; the text of the last node becomes the reply
}

// Limits contains the limits of one turn.
type Limits struct {
	Turn       time.Duration `yaml:"turn"`        // how long the whole turn may take
	FirstToken time.Duration `yaml:"first_token"` // how long a model may take until the first piece of its answer
	Silence    time.Duration `yaml:"silence"`     // how long a model may pause between two pieces of its answer
	ModelCalls int           `yaml:"model_calls" min:"1" max:"1000"`
	ToolCalls  int           `yaml:"tool_calls" min:"1" max:"1000"`
}

// PipelineNode is one step of a pipeline: a call of a model with a prompt of its own.
type PipelineNode struct {
	Name         string `yaml:"name" required:"true"`
	Model        string `yaml:"model"` // the name of a configured model; empty: the first model
	SystemPrompt string `yaml:"system_prompt"`
}

// Tools is the section tools, which configures the built-in tools that a model may call.
type Tools struct {
	Enabled         []string      `yaml:"enabled" enum:"time|fetch|memory|ha_states|ha_call_service"`
	ApprovalTimeout time.Duration `yaml:"approval_timeout"` // how long a tool call waits for approval; at most a day
	MaxParallel     int           `yaml:"max_parallel" min:"1" max:"64"`
	Fetch           Fetch         `yaml:"fetch"`
}

// Fetch configures the tool fetch, which reads web pages.
type Fetch struct {
	AllowDomains []string `yaml:"allow_domains"` // domains whose pages the model may read without approval
}

// MCPServer configures an MCP server, which is either a command that telex starts or a URL.
type MCPServer struct {
	Name        string            `yaml:"name" required:"true"`
	Command     string            `yaml:"command"`
	Args        []string          `yaml:"args"`
	Env         map[string]Secret `yaml:"env"`
	URL         string            `yaml:"url"`
	Headers     map[string]Secret `yaml:"headers"`
	ReadOnly    []string          `yaml:"read_only"`    // names of tools that change nothing
	AutoApprove []string          `yaml:"auto_approve"` // names of tools that change something and need no approval
	Deny        []string          `yaml:"deny"`         // names of tools that models can't see
	Trust       bool              `yaml:"trust"`        // telex believes the server when it says that a tool changes nothing
	Timeout     time.Duration     `yaml:"timeout"`      // how long a call may take after its start or last progress report
}

func (s *MCPServer) setDefaults() { s.Timeout = time.Minute }
