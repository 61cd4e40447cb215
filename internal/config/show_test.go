package config

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func show(t *testing.T, c *Config) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Show(&b); err != nil {
		t.Fatalf("Show: %v", err)
	}
	return b.String()
}

func TestShow(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
models:
  - name: main
    model: m
    api_key: ${A}
    temperature: 1
    headers: {Authorization: "Bearer ${B}", X-Title: telex, X-Odd: "${MY_TOKEN}"}
agent:
  system_prompt: "A is ${A}, B is ${B}, C is ${C}, a literal $${C}, the token 2:literal-token."
platforms:
  telegram: {token: "2:literal-token"}
streaming: {enabled: false, telegram: {edit_interval: 1}}
texts: {hello: "true"}
`, map[string]string{"A": "alpha-secret", "B": "beta-secret", "C": "public", "MY_TOKEN": "odd-secret", envStreaming: "yes"})
	text := show(t, c)
	for _, secret := range []string{"alpha-secret", "beta-secret", "odd-secret", "literal-token"} {
		if strings.Contains(text, secret) {
			t.Errorf("Show prints %s:\n%s", secret, text)
		}
	}
	for _, want := range []string{
		"    api_key: '[redacted]'\n",
		"      Authorization: '[redacted]'\n", "      X-Title: telex\n", "      X-Odd: '[redacted]'\n",
		"  system_prompt: A is [redacted], B is [redacted], C is public, a literal $${C}, the token [redacted].\n",
		"    temperature: 1.0\n",
		"  enabled: true # from TELEX_STREAMING_ENABLED\n", "  telegram:\n    edit_interval: 1.0\n",
		"  telegram:\n    kind: telegram\n    token: '[redacted]'\n    api_base: https://api.telegram.org\n    mode: polling\n",
		"  hello: \"true\"\n", "  retention: 90d\n", "shutdown_grace: 30s\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("Show doesn't print %q:\n%s", want, text)
		}
	}
}

// The output of Show must be a valid configuration, except for the masked secrets. If Parse reads the output of Show, another
// call of Show must print the same text again.
func TestShowReadsBack(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"least": base,
		"much": base + `agent: {system_prompt: "two\nlines $${X} # no comment: \"x\""}
access: {allow: ["telegram:chat:-1", telegram:*], admins: ["telegram:user:1"]}
streaming: {enabled: true, cursor: "", telegram: {cursor: "true", min_tokens: 0}}
texts: {a: "1", b: "null", c: " x "}
log: {format: json}
`,
	} {
		first := show(t, mustParse(t, text, nil))
		unmasked := strings.ReplaceAll(first, "token: '[redacted]'", "token: '1:a'") // a masked secret is not a valid token
		if second := show(t, mustParse(t, unmasked, nil)); second != first {
			t.Errorf("%s: read back, Show prints\n%s\nwant\n%s", name, second, first)
		}
	}
}

var errPipe = errors.New("broken pipe")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errPipe }

func TestShowReportsWriteError(t *testing.T) {
	t.Parallel()
	if err := mustParse(t, base, nil).Show(brokenWriter{}); err == nil || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("Show = %v, want the writer's error", err)
	}
}

func TestFormatDuration(t *testing.T) {
	t.Parallel()
	for x, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", time.Minute: "1m", 90 * time.Second: "1m30s", time.Hour: "1h", 10 * time.Minute: "10m",
		36 * time.Hour: "36h", 24 * time.Hour: "1d", 90 * 24 * time.Hour: "90d", 1500 * time.Millisecond: "1.5s",
		time.Hour + time.Second: "1h0m1s",
	} {
		got := formatDuration(x)
		if got != want {
			t.Errorf("formatDuration(%d) = %q, want %q", x, got, want)
		}
		if back, err := ParseDuration(got); err != nil || back != x {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", got, back, err, x)
		}
	}
}
