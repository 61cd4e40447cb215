package mcp

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"telex/agent"
)

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for _, tt := range []struct{ server, tool, want string }{
		{"files", "read_file", "files_read_file"},
		{"home-1", "get-sum", "home-1_get-sum"},
		{"it", strings.Repeat("x", 61), "it_" + strings.Repeat("x", 61)},
		{"it", "read.file", "it_read_file_f35f7ef4"},
		{"it", "größe", "it_gr__e_6d62d6d3"},
		{"it", long, "it_" + strings.Repeat("x", 52) + "_0ed0c725"},
	} {
		if got := nameFor(tt.server, tt.tool); got != tt.want || len(got) > agent.MaxToolName {
			t.Errorf("%s of %s: %s, want %s", tt.tool, tt.server, got, tt.want)
		}
	}
}

// nameFor never gives two tools the same name, and every provider accepts every name.
func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	server := rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,23}`)
	tool := rapid.OneOf(rapid.StringMatching(`[a-z_.-]{1,6}`), rapid.StringN(1, 100, 200))
	rapid.Check(t, func(t *rapid.T) {
		s1, t1 := server.Draw(t, "server"), tool.Draw(t, "tool")
		s2, t2 := server.Draw(t, "server"), tool.Draw(t, "tool")
		n1, n2 := nameFor(s1, t1), nameFor(s2, t2)
		if !valid.MatchString(n1) {
			t.Fatalf("%q of %q is called %q", t1, s1, n1)
		}
		if (n1 == n2) != (s1 == s2 && t1 == t2) {
			t.Fatalf("%q of %q and %q of %q are called %q and %q", t1, s1, t2, s2, n1, n2)
		}
	})
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		schema any
		want   string // the schema; empty: an error
	}{
		{"none", nil, `{"properties":{},"type":"object"}`},
		{"no type", map[string]any{}, `{"properties":{},"type":"object"}`},
		{
			"a whole one",
			map[string]any{
				"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
				"properties": map[string]any{"a": map[string]any{"type": "number"}}, "required": []any{"a"},
			},
			`{"properties":{"a":{"type":"number"}},"required":["a"],"type":"object"}`,
		},
		{"no object", "string", ""},
		{"of another type", map[string]any{"type": "array"}, ""},
		{"too large", map[string]any{"description": strings.Repeat("x", maxSchema)}, ""},
	} {
		def, err := Server{Name: "it"}.define(&sdk.Tool{Name: "t", InputSchema: tt.schema})
		if (err != nil) != (tt.want == "") || string(def.Parameters) != tt.want {
			t.Errorf("%s: %s, %v", tt.name, def.Parameters, err)
		}
	}
	def, err := Server{Name: "it"}.define(&sdk.Tool{
		Name: "t", Description: strings.Repeat("é", maxDescription), Annotations: &sdk.ToolAnnotations{Title: "A\ntool\x1b of\u2028mine"},
	})
	if err != nil || len(def.Description) > maxDescription || def.Show("") != "it: A tool of mine" {
		t.Errorf("%d bytes, shown as %q, %v", len(def.Description), def.Show(""), err)
	}
	if _, err := (Server{Name: "it"}).define(&sdk.Tool{}); err == nil {
		t.Error("a tool without a name was taken")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server Server
		want   string // part of the error
	}{
		{"command", Server{Name: "it", Command: "npx", Args: []string{"x"}, Env: map[string]string{"A": "b"}}, ""},
		{"url", Server{Name: "it-2", URL: "https://example.org/mcp", Headers: map[string]string{"X": "y"}}, ""},
		{"no name", Server{Command: "npx"}, "name: "},
		{"name with the separator", Server{Name: "a_b", Command: "npx"}, "name: "},
		{"long name", Server{Name: strings.Repeat("x", 25), Command: "npx"}, "name: "},
		{"neither", Server{Name: "it"}, "either command or url"},
		{"both", Server{Name: "it", Command: "npx", URL: "https://example.org"}, "either command or url"},
		{"headers of a command", Server{Name: "it", Command: "npx", Headers: map[string]string{"X": "secret"}}, "headers are for a url"},
		{"args of a url", Server{Name: "it", URL: "https://example.org", Args: []string{"x"}}, "are for a command"},
		{"no url", Server{Name: "it", URL: "secret.example.org"}, "url: "},
		{"two lines", Server{Name: "it", URL: "https://example.org", Headers: map[string]string{"X": "secret\r\nY: z"}}, `invalid header "X"`},
		{"env", Server{Name: "it", Command: "npx", Env: map[string]string{"A=B": "secret"}}, "invalid variable"},
		{"timeout", Server{Name: "it", Command: "npx", Timeout: -1}, "timeout"},
	} {
		_, err := New(Options{Servers: []Server{tt.server}, Log: (&said{}).logger()})
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has the secret: %v", tt.name, err)
		}
	}
	twice := Server{Name: "it", Command: "npx"}
	if _, err := New(Options{Servers: []Server{twice, twice}, Log: (&said{}).logger()}); err == nil {
		t.Error("two servers of one name were taken")
	}
	if _, err := New(Options{}); err == nil {
		t.Error("no logger was taken")
	}
}

func TestSecretsAreRemoved(t *testing.T) {
	t.Parallel()
	s := Server{
		Name: "it", URL: "https://ada:pass-word-1@example.org/mcp?key=abcdefgh&a=b",
		Headers: map[string]string{"Authorization": "Bearer 0123456789"}, Env: map[string]string{"T": "qwertyuiop", "PATH": "/usr/bin:/bin"},
	}
	got := newSecrets(s).redact("Post \"https://ada:pass-word-1@example.org/mcp?key=abcdefgh&a=b\" abcdefgh pass-word-1 Bearer 0123456789 0123456789 qwertyuiop /usr/bin:/bin")
	want := `Post "https://example.org/mcp" [redacted] [redacted] [redacted] [redacted] [redacted] /usr/bin:/bin`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	raw, err := json.Marshal(map[string]string{"s": s.String(), "v": s.LogValue().String()})
	if err != nil || string(raw) != `{"s":"it","v":"it"}` {
		t.Errorf("%s, %v", raw, err)
	}
}
