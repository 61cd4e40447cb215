package main

import (
	"encoding/json"
	"strings"
	"testing"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// Operators can test the configured MCP servers without a daemon. In this test, one MCP server works and another one
// can't be started.
func TestMCPCommands(t *testing.T) {
	t.Parallel()
	w, s, b := newWorld(t, telegram.Options{}, openai.Options{}), newState(t), newWorkbench(t)
	config := w.config(sections{more: "mcp_servers:\n  - {name: gone, command: /nonexistent/server}\n" +
		"  - {name: desk, url: " + b.url + ", trust: true, auto_approve: [order]}\n"})
	b.letGo("stock", "bolts")
	tests := []struct {
		name           string
		code           int
		args           []string
		stdout, stderr string // texts that stdout and stderr must contain
	}{
		{"list", 0, []string{"list"}, "gone    away       0      exit status 127", ""},
		{"a server and its tools", 0, []string{"test", "desk"}, "desk_order   automatic", "desk answered within"},
		{"a tool that only reads", 0, []string{"test", "desk"}, "desk_stock   none (reads only)", "4 tools"},
		{"a call", 0, []string{"test", "desk", "stock", `{"for": "bolts"}`}, "stock for bolts: done", ""},
		{"a call by the name for models", 0, []string{"test", "desk", "desk_stock", `{"for": "bolts"}`}, "stock for bolts: done", ""},
		{"a call that the server refuses", 1, []string{"test", "desk", "stock", `{"for": 7}`}, "", "call desk_stock:"},
		{"arguments that are none", 1, []string{"test", "desk", "stock", `bolts`}, "", "arguments are not a JSON object"},
		{"a tool that is not there", 1, []string{"test", "desk", "sell"}, "", `offers no tool "sell"`},
		{"a server that can't be started", 1, []string{"test", "gone"}, "", "/nonexistent/server: no such file"},
		{"a server that is not configured", 2, []string{"test", "shed"}, "", "configured: gone, desk"},
		{"no server", 2, []string{"test"}, "", "takes the name of a server"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr := s.command(t, tt.code, append([]string{"mcp", "--config", config}, tt.args...)...)
			if !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("it wrote %q and %q, want %q and %q in them", stdout, stderr, tt.stdout, tt.stderr)
			}
		})
	}
	if n := b.runs("stock", "bolts"); n != 2 {
		t.Errorf("the tool ran %d times, want 2", n)
	}

	stdout, _ := s.command(t, 0, "mcp", "--config", config, "list", "--json")
	var servers []struct {
		Name      string
		Connected bool
		Error     string
		Tools     []struct{ Name, Approval string }
	}
	if err := json.Unmarshal([]byte(stdout), &servers); err != nil {
		t.Fatal(err)
	}
	if len(servers) != 2 || servers[0].Connected || servers[0].Error == "" || !servers[1].Connected || len(servers[1].Tools) != 4 {
		t.Errorf("got %+v", servers)
	}
}
