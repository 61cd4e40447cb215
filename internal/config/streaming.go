package config

import (
	"time"

	"gopkg.in/yaml.v3"
)

// These are the values of streaming.transport. The value of streaming.transport says in which way the platform shows a
// growing reply.
const (
	TransportEdit   = "edit"   // the bot sends a message and edits it
	TransportDraft  = "draft"  // Telegram's drafts; only in private chats
	TransportNative = "native" // Slack's streams; only in threads
	TransportOff    = "off"    // people see the reply only when it is complete
)

// These are the values of streaming.tool_progress. The value of streaming.tool_progress says how a growing reply shows
// the tools that are running.
const (
	ToolProgressOff    = "off"
	ToolProgressInline = "inline" // the growing reply shows the running tools in lines below its text
)

// These are the values of streaming.stop_button. The value of streaming.stop_button says when a growing reply has a
// stop button.
const (
	StopButtonAuto = "auto" // only in chats where people can't type commands, and below drafts
	StopButtonOn   = "on"
	StopButtonOff  = "off"
)

// These are the values of streaming.link_previews. The value of streaming.link_previews says for which URLs the
// platform may show a preview below a message.
const (
	LinkPreviewsOff   = "off"
	LinkPreviewsAsked = "asked" // only for URLs that the asker typed
)

// TerminalEndpoint is the key in the section streaming for conversations in the terminal.
const TerminalEndpoint = "cli"

// StreamingRules is the section streaming as the file contains it. [Config.Streaming] returns the effective settings.
type StreamingRules struct {
	Enabled      bool           `yaml:"enabled"`
	CLI          *StreamingRule `yaml:"cli"`
	EditInterval *float64       `yaml:"edit_interval" min:"0.1" max:"60" unit:"seconds"` // nil: the platform's default
	MinTokens    int            `yaml:"min_tokens" min:"0" max:"1000"`
	Cursor       string         `yaml:"cursor"`
	Transport    string         `yaml:"transport" enum:"edit|draft|native|off"`
	ToolProgress string         `yaml:"tool_progress" enum:"off|inline"`
	MaxParts     int            `yaml:"max_parts" min:"1" max:"100"`
	StopButton   string         `yaml:"stop_button" enum:"auto|on|off"`
	LinkPreviews string         `yaml:"link_previews" enum:"off|asked"`
	// Endpoints contains settings for individual endpoints. Each of these endpoints has a key of its own in the section streaming,
	// with the endpoint's name.
	Endpoints map[string]StreamingRule `yaml:",inline"`
}

// StreamingRule overrides settings for one endpoint. If a field of the rule is nil, the setting for all endpoints applies.
type StreamingRule struct {
	Enabled      *bool    `yaml:"enabled"`
	EditInterval *float64 `yaml:"edit_interval" min:"0.1" max:"60" unit:"seconds"`
	MinTokens    *int     `yaml:"min_tokens" min:"0" max:"1000"`
	Cursor       *string  `yaml:"cursor"`
	Transport    *string  `yaml:"transport" enum:"edit|draft|native|off"`
	ToolProgress *string  `yaml:"tool_progress" enum:"off|inline"`
	MaxParts     *int     `yaml:"max_parts" min:"1" max:"100"`
	StopButton   *string  `yaml:"stop_button" enum:"auto|on|off"`
	LinkPreviews *string  `yaml:"link_previews" enum:"off|asked"`
}

// decode decodes a rule, which is a boolean or a mapping.
func (r *StreamingRule) decode(d *decoder, path string, n *yaml.Node) {
	switch {
	case n.Kind == yaml.MappingNode:
		d.structure(path, n, valueOf(r))
	case n.Kind == yaml.ScalarNode && n.ShortTag() != nullTag:
		var on bool
		if d.value(path, n, valueOf(&on), tags{}) {
			r.Enabled = &on
		}
	default:
		d.fail(n, "", "%s must be true, false or a mapping, not %s", displayPath(path), kindOf(n))
	}
}

// StreamingSettings are the effective settings for the replies of one endpoint.
type StreamingSettings struct {
	Enabled      bool          // false if streaming is disabled, or if the transport is TransportOff
	EditInterval time.Duration // minimum time between the starts of two edits
	MinTokens    int           // number of tokens, estimated, that a reply must have before people see it
	Cursor       string        // may be empty
	Transport    string
	ToolProgress string
	MaxParts     int
	StopButton   string
	LinkPreviews string
}

// Streaming returns the settings of an endpoint. The parameter kindDefaultInterval is the platform's default, which is used if
// no edit interval is configured. Three settings can decide whether the endpoint streams: streaming.<endpoint>, the environment
// variable TELEX_STREAMING_ENABLED and streaming.enabled. Of these three settings, the first one that is set decides. If the
// transport is off, the endpoint never streams.
func (c *Config) Streaming(endpoint string, kindDefaultInterval time.Duration) StreamingSettings {
	s, rule := c.StreamingSection, c.StreamingSection.Endpoints[endpoint]
	if endpoint == TerminalEndpoint && s.CLI != nil {
		rule = *s.CLI
	}
	interval := kindDefaultInterval
	if seconds := firstSet(rule.EditInterval, s.EditInterval); seconds != nil {
		interval = time.Duration(*seconds * float64(time.Second))
	}
	out := StreamingSettings{
		Enabled:      *firstSet(rule.Enabled, c.envStreaming, &s.Enabled),
		EditInterval: interval,
		MinTokens:    *firstSet(rule.MinTokens, &s.MinTokens),
		Cursor:       *firstSet(rule.Cursor, &s.Cursor),
		Transport:    *firstSet(rule.Transport, &s.Transport),
		ToolProgress: *firstSet(rule.ToolProgress, &s.ToolProgress),
		MaxParts:     *firstSet(rule.MaxParts, &s.MaxParts),
		StopButton:   *firstSet(rule.StopButton, &s.StopButton),
		LinkPreviews: *firstSet(rule.LinkPreviews, &s.LinkPreviews),
	}
	out.Enabled = out.Enabled && out.Transport != TransportOff
	return out
}

// firstSet returns the first pointer that is not nil, or nil.
func firstSet[T any](choices ...*T) *T {
	for _, c := range choices {
		if c != nil {
			return c
		}
	}
	return nil
}
