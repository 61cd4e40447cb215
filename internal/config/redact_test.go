package config

import (
	"slices"
	"strings"
	"testing"
)

// When the arguments of an MCP server are shown, all secrets in them must be hidden, including secrets in URLs.
func TestServersWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ args, shown, secrets []string }{
		{[]string{"-y", "@scope/server-files@1.2.3", "/srv/files", "--depth", "3"}, nil, nil},
		{[]string{"--token=hunter2", "x"}, []string{"--token=[redacted]", "x"}, []string{"hunter2"}},
		{[]string{"--api-key", "hunter2", "x"}, []string{"--api-key", "[redacted]", "x"}, []string{"hunter2"}},
		{[]string{"--with-auth", "--depth", "3"}, nil, nil},
		{[]string{"--max-tokens=100000", "--max-tokens", "100000", "MAX_TOKENS: 100000"}, nil, nil},
		{[]string{"--key=yes", "--passcode", "1234"}, []string{"--key=[redacted]", "--passcode", "[redacted]"}, []string{"1234", "yes"}},
		{[]string{"run", "-e", "GITHUB_TOKEN=hunter2", "image"}, []string{"run", "-e", "GITHUB_TOKEN=[redacted]", "image"}, []string{"hunter2"}},
		{
			[]string{"--header", "Authorization: Bearer hunter2 x"},
			[]string{"--header", "Authorization: [redacted]"},
			[]string{"Bearer hunter2 x", "hunter2 x"},
		},
		{[]string{`{"apiKey":"hunter2"}`}, []string{`{"apiKey":[redacted]`}, []string{`"hunter2"}`, `hunter2`}},
		{[]string{"host=db password=hunter2 user=u"}, []string{"host=db password=[redacted] user=u"}, []string{"hunter2"}},
		{
			[]string{"postgres://u:hunter2%21@db:5432/x?sslmode=disable"},
			[]string{"postgres://[redacted]@db:5432/x?sslmode=[redacted]"},
			[]string{"hunter2!", "hunter2%21", "u:hunter2%21"},
		},
		{[]string{"--url=https://hunter2@h/"}, []string{"--url=https://[redacted]@h/"}, []string{"hunter2"}},
		{[]string{"https://h/p?hunter2#x"}, []string{"https://h/p?[redacted]#x"}, []string{"hunter2"}},
		{[]string{"https://h/s/Zm9vYmFyMTIzNDU2Nzg5MGFiY2Rl/mcp"}, []string{"https://h/s/[redacted]/mcp"}, []string{"Zm9vYmFyMTIzNDU2Nzg5MGFiY2Rl"}},
		{[]string{"sk-abc123def456"}, []string{"[redacted]"}, []string{"sk-abc123def456"}},
	} {
		s := MCPServer{Command: "x", Args: tc.args}
		want := tc.shown
		if want == nil {
			want = tc.args
		}
		if got := s.redacted().Args; !slices.Equal(got, want) {
			t.Errorf("%q: shown as %q, want %q", tc.args, got, want)
		}
		var secrets []string
		for _, x := range s.Secrets() {
			secrets = append(secrets, x.Reveal())
		}
		slices.Sort(secrets)
		if slices.Sort(tc.secrets); !slices.Equal(secrets, tc.secrets) {
			t.Errorf("%q: the secrets are %q, want %q", tc.args, secrets, tc.secrets)
		}
	}
}

// Neither the printed configuration nor an error message may show the secrets of an MCP server.
func TestShowMasksServers(t *testing.T) {
	t.Parallel()
	c := mustParse(t, base+`mcp_servers:
  - {name: a, command: x, args: [--token, first-secret, "pg://u:second-secret@h/db", plain], env: {DB: "third-secret", MODE: fast}}
  - {name: b, url: "https://h/?api_key=fourth-secret&page=2"}
agent: {system_prompt: "say first-secret and second-secret"}
`, nil)
	text := show(t, c)
	for _, secret := range []string{"first-secret", "second-secret", "third-secret", "fourth-secret"} {
		if strings.Contains(text, secret) {
			t.Errorf("Show prints %s:\n%s", secret, text)
		}
	}
	for _, want := range []string{
		"args: [--token, '[redacted]', 'pg://[redacted]@h/db', plain]\n", "url: https://h/?api_key=[redacted]&page=[redacted]\n",
		"system_prompt: say [redacted] and [redacted]\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("Show doesn't print %q:\n%s", want, text)
		}
	}
	_, err := Parse("config.yaml", []byte(base+`mcp_servers: [{name: a, command: x, args: [--token, first-secret], read_only: [first-secret], deny: [first-secret]}]
`), nil)
	if err == nil || strings.Contains(err.Error(), "first-secret") {
		t.Errorf("an error says %v", err)
	}
}
