package config

import "time"

// Config is the complete, validated configuration: the defaults, overridden by the file and the environment. A Config
// must not be changed after Parse has returned it.
type Config struct {
	Models           []Model        `yaml:"models" required:"true"` // if a model fails, telex uses the next one
	Transcription    Transcription  `yaml:"transcription"`
	Agent            Agent          `yaml:"agent"`
	Tools            Tools          `yaml:"tools"`
	MCPServers       []MCPServer    `yaml:"mcp_servers"`
	StreamingSection StreamingRules `yaml:"streaming"` // as in the file; the method Streaming returns an endpoint's settings
	Conversations    Conversations  `yaml:"conversations"`
	Access           Access         `yaml:"access"`
	// Texts contains replacements for the fixed texts that people see, by name. The method CheckTexts reports unknown names.
	Texts     map[string]string `yaml:"texts"`
	Endpoints Endpoints         `yaml:"platforms"` // the endpoints in the order of the file
	Store     Store             `yaml:"store"`
	// ShutdownGrace is how long an orderly shutdown may take after the first signal.
	ShutdownGrace time.Duration `yaml:"shutdown_grace"`
	Admin         Admin         `yaml:"admin"`
	Log           Log           `yaml:"log"`

	// Warnings describes possible mistakes, each as "file:line:column: sentence". The daemon starts in spite of Warnings.
	Warnings []string `yaml:"-"`

	file         string
	positions    map[string]position // position of every key in the file
	sensitive    []Secret            // all secret values, which are masked wherever they occur in another text
	envStreaming *bool               // value of TELEX_STREAMING_ENABLED; nil: not set
}

// Admin configures the address for health checks, metrics and the status page.
type Admin struct {
	Listen   string `yaml:"listen"`              // host:port; empty: telex serves no admin address
	Token    Secret `yaml:"token" allow:"empty"` // empty: requests need no token; Listen must then be a loopback address
	ShowText bool   `yaml:"show_text"`           // the status page shows the texts of people and models
}

// Log configures the level and the format of the log.
type Log struct {
	Level  string `yaml:"level" enum:"debug|info|warn|error"`
	Format string `yaml:"format" enum:"auto|text|json|journal"`
}

// isSet reports whether the file contains the key at path.
func (c *Config) isSet(path string) bool {
	_, ok := c.positions[path]
	return ok
}

// File returns the name of the configuration file, as it was passed to Load or Parse.
func (c *Config) File() string { return c.file }

// defaults returns the default values of all settings.
func defaults() *Config {
	return &Config{
		Agent: Agent{
			SystemPrompt:  "You are a helpful assistant.\n",
			Limits:        Limits{Turn: 5 * time.Minute, FirstToken: 2 * time.Minute, Silence: time.Minute, ModelCalls: 16, ToolCalls: 32},
			Context:       true,
			ThinkTags:     []string{"think", "thinking", "reasoning"},
			ShowReasoning: "off",
			Pipeline:      []PipelineNode{},
		},
		Tools: Tools{
			Enabled: []string{"time"}, ApprovalTimeout: 5 * time.Minute, MaxParallel: 4,
			Fetch: Fetch{AllowDomains: []string{}},
		},
		MCPServers: []MCPServer{},
		StreamingSection: StreamingRules{
			MinTokens: 20, Cursor: " ▌", Transport: TransportEdit,
			ToolProgress: "inline", MaxParts: 8, StopButton: "auto", LinkPreviews: LinkPreviewsOff,
		},
		Conversations: Conversations{
			Busy: BusyInterrupt, MaxQueued: 20, FollowThreads: true, OnEdit: EditRestart, MaxAge: 15 * time.Minute, Retention: 90 * 24 * time.Hour,
			Overrides: []Override{},
		},
		Access: Access{
			Default: AccessDeny, Admins: []Pattern{}, Allow: []Pattern{},
			Limits: AccessLimits{TurnsPerMinute: 10},
		},
		Texts:         map[string]string{},
		Store:         Store{DSN: newDSN(SQLite)},
		ShutdownGrace: 30 * time.Second,
		Admin:         Admin{Listen: "127.0.0.1:8643"},
		Log:           Log{Level: "info", Format: "auto"},
	}
}
