package config

import "time"

// ReasoningSummary is the value of show_reasoning that shows people summaries of the model's reasoning.
const ReasoningSummary = "summary"

// Agent configures how a turn runs.
type Agent struct {
	SystemPrompt  string         `yaml:"system_prompt"`
	Limits        Limits         `yaml:"limits"`
	Context       bool           `yaml:"context"`    // the model gets the chat, the date and the asker's name
	ThinkTags     []string       `yaml:"think_tags"` // names of tags whose content is never shown
	ShowReasoning string         `yaml:"show_reasoning" enum:"off|summary"`
	Pipeline      []PipelineNode `yaml:"pipeline"` // the last node's text is the reply
}

// Limits contains the limits of one turn.
type Limits struct {
	Turn       time.Duration `yaml:"turn"`        // maximum time of the whole turn
	FirstToken time.Duration `yaml:"first_token"` // maximum time from a request to the first piece of its answer
	Silence    time.Duration `yaml:"silence"`     // maximum time between two pieces of an answer
	ModelCalls int           `yaml:"model_calls" min:"1" max:"1000"`
	ToolCalls  int           `yaml:"tool_calls" min:"1" max:"1000"`
}

// PipelineNode is one step of a turn.
type PipelineNode struct {
	Name         string `yaml:"name" required:"true"`
	Model        string `yaml:"model"` // a name from models; empty: the first one
	SystemPrompt string `yaml:"system_prompt"`
}

// Tools configures which built-in tools a model may call.
type Tools struct {
	Enabled         []string      `yaml:"enabled" enum:"time|fetch|memory|ha_states|ha_call_service"`
	ApprovalTimeout time.Duration `yaml:"approval_timeout"` // how long a question for approval stays open, at most a day
	MaxParallel     int           `yaml:"max_parallel" min:"1" max:"64"`
	Fetch           Fetch         `yaml:"fetch"`
}

// Fetch limits the tool that reads web pages.
type Fetch struct {
	AllowDomains []string `yaml:"allow_domains"` // domains from which pages are read without approval
}

// MCPServer is an MCP server: a command to start, or a URL.
type MCPServer struct {
	Name        string            `yaml:"name" required:"true"`
	Command     string            `yaml:"command"`
	Args        []string          `yaml:"args"`
	Env         map[string]Secret `yaml:"env"`
	URL         string            `yaml:"url"`
	Headers     map[string]Secret `yaml:"headers"`
	ReadOnly    []string          `yaml:"read_only"`    // tools that change nothing
	AutoApprove []string          `yaml:"auto_approve"` // tools that change something and need no approval
	Deny        []string          `yaml:"deny"`         // tools that are never offered
	Trust       bool              `yaml:"trust"`        // trust the server's information about which tools change nothing
	Timeout     time.Duration     `yaml:"timeout"`      // maximum time of a call, counted from its start or its last progress notification
}

func (s *MCPServer) setDefaults() { s.Timeout = time.Minute }
