package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestStreamingPrecedence tests all combinations of the settings that decide whether an endpoint streams: the endpoint's own
// setting, then the environment, then streaming.enabled. If none of these settings is set, the endpoint does not stream.
func TestStreamingPrecedence(t *testing.T) {
	t.Parallel()
	type choice struct {
		text  string // text of the setting in the file or the environment; empty: not set
		says  bool   // whether the text decides if the endpoint streams
		value bool
	}
	endpoint := []choice{
		{"", false, false},
		{"telegram: true", true, true},
		{"telegram: false", true, false},
		{"telegram: {enabled: true}", true, true},
		{"telegram: {enabled: false}", true, false},
		{"telegram: {edit_interval: 1.0}", false, false},
		{"telegram: {}", false, false},
	}
	environment := []choice{
		{"", false, false},
		{"true", true, true},
		{"1", true, true},
		{"yes", true, true},
		{"TRUE", true, true},
		{"Yes", true, true},
		{"false", true, false},
		{"0", true, false},
		{"no", true, false},
		{"False", true, false},
		{"NO", true, false},
	}
	section := []choice{{"", false, false}, {"enabled: true", true, true}, {"enabled: false", true, false}}
	transport := []string{"", "transport: edit", "transport: off"}
	for _, e := range endpoint {
		for _, v := range environment {
			for _, s := range section {
				for _, tr := range transport {
					want := false
					for _, c := range []choice{e, v, s} {
						if c.says {
							want = c.value
							break
						}
					}
					want = want && tr != "transport: off"
					text := base + "streaming: {" + commas(e.text, s.text, tr) + "}\n"
					vars := map[string]string{envStreaming: v.text}
					got := mustParse(t, text, vars).Streaming("telegram", time.Second).Enabled
					if got != want {
						t.Errorf("endpoint %q, environment %q, section %q, %q: streams = %v, want %v", e.text, v.text, s.text, tr, got, want)
					}
				}
			}
		}
	}
}

func commas(parts ...string) string {
	var set []string
	for _, p := range parts {
		if p != "" {
			set = append(set, p)
		}
	}
	return strings.Join(set, ", ")
}

func TestStreamingEnvironmentErrors(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"on", "off", "2", "maybe", "y"} {
		_, err := Parse("config.yaml", []byte(base), testEnv(map[string]string{envStreaming: word}))
		const want = "TELEX_STREAMING_ENABLED: invalid value; set true, 1, yes or false, 0, no"
		if fmt.Sprint(err) != want {
			t.Errorf("%q: got %v, want %s", word, err, want)
		}
	}
}

func TestStreamingSettings(t *testing.T) {
	t.Parallel()
	const own = 1500 * time.Millisecond
	builtIn := StreamingSettings{
		EditInterval: own, MinTokens: 20, Cursor: " ▌", Transport: TransportEdit,
		ToolProgress: "inline", MaxParts: 8, StopButton: "auto", LinkPreviews: "off",
	}
	with := func(change func(*StreamingSettings)) StreamingSettings {
		s := builtIn
		change(&s)
		return s
	}
	tests := []struct {
		name, section string
		want          StreamingSettings
	}{
		{"nothing set", "{}", builtIn},
		{"section", "{enabled: true, edit_interval: 2.5, min_tokens: 1, cursor: \"\"}", with(func(s *StreamingSettings) {
			s.Enabled, s.EditInterval, s.MinTokens, s.Cursor = true, 2500*time.Millisecond, 1, ""
		})},
		{
			"endpoint over section", "{enabled: true, edit_interval: 2, cursor: a, telegram: {edit_interval: 0.1, min_tokens: 0, cursor: b}}",
			with(func(s *StreamingSettings) {
				s.Enabled, s.EditInterval, s.MinTokens, s.Cursor = true, 100*time.Millisecond, 0, "b"
			}),
		},
		{"another endpoint", "{enabled: true, other: {enabled: false, edit_interval: 9}}", with(func(s *StreamingSettings) {
			s.Enabled = true
		})},
		{"transport off for the endpoint", "{enabled: true, telegram: {enabled: true, transport: off}}", with(func(s *StreamingSettings) {
			s.Transport = TransportOff
		})},
		{"transport on again for the endpoint", "{enabled: true, transport: off, telegram: {transport: edit}}", with(func(s *StreamingSettings) {
			s.Enabled = true
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := mustParse(t, base+"  other: {kind: telegram, token: \"2:b\"}\nstreaming: "+tt.section+"\n", nil)
			if got := c.Streaming("telegram", own); got != tt.want {
				t.Errorf("Streaming = %+v, want %+v", got, tt.want)
			}
		})
	}
}

// In the section streaming, the key cli, for the terminal, must accept the same settings as an endpoint's key.
func TestStreamingOfTheTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		on     bool
		cursor string
	}{
		{"enabled: true", true, " ▌"},
		{"enabled: true, cli: false", false, " ▌"},
		{"cli: true", true, " ▌"},
		{"enabled: true, cli: {cursor: _}", true, "_"},
		{"cli: {enabled: true, transport: off}", false, " ▌"},
	} {
		got := mustParse(t, base+"streaming: {"+tt.text+"}\n", nil).Streaming(TerminalEndpoint, time.Second)
		if got.Enabled != tt.on || got.Cursor != tt.cursor {
			t.Errorf("%s: streams = %t with the cursor %q, want %t, %q", tt.text, got.Enabled, got.Cursor, tt.on, tt.cursor)
		}
	}
}
