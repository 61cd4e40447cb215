package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"telex/agent"
	"telex/agent/mcp"
	"telex/internal/config"
	"telex/platforms/terminal"
)

// MCPServer is what telex mcp reports about a configured MCP server. Scripts read an MCPServer as JSON.
type MCPServer struct {
	Name      string    `json:"name"`
	Connected bool      `json:"connected"`
	Error     string    `json:"error,omitempty"`
	Tools     []MCPTool `json:"tools"`
}

// MCPTool is what telex mcp reports about a tool of an MCP server.
type MCPTool struct {
	Name        string `json:"name"`     // name by which models call the tool; lists in the configuration may contain it
	Approval    string `json:"approval"` // who approves a call: nobody, the configuration, or a person
	Description string `json:"description"`
}

// These values say who approves a call of a tool.
const (
	approvedByNobody = "none (reads only)"
	approvedByConfig = "automatic"
	approvedByPerson = "person"
)

// ErrUnknownServer means that the MCP server named on the command line is not in the configuration.
var ErrUnknownServer = errors.New("unknown MCP server")

// ListMCP connects to each configured MCP server as the daemon would. ListMCP writes the state of each server and the
// number of its tools. keeper is the command in Options.Keeper.
func ListMCP(ctx context.Context, c *config.Config, keeper []string, o Output) error {
	if len(c.MCPServers) == 0 && !o.JSON {
		_, err := fmt.Fprintln(o.Remarks, "No MCP servers are configured (mcp_servers).")
		return err
	}
	return withMCP(ctx, c.MCPServers, keeper, func(client *mcp.Client) error {
		servers := answers(client)
		if o.JSON {
			return o.json(servers)
		}
		rows := [][]string{{"SERVER", "STATE", "TOOLS", "ERROR"}}
		for _, s := range servers {
			state := "connected"
			if !s.Connected {
				state = "away"
			}
			rows = append(rows, []string{s.Name, state, strconv.Itoa(len(s.Tools)), s.Error})
		}
		return o.table(rows...)
	})
}

// TestMCP connects to one MCP server, and writes which tools it has and who approves their calls. If tool is set, TestMCP
// instead calls this tool once, and writes the result. arguments is a JSON object or "". The tool call needs no approval,
// because an operator runs the command. TestMCP fails if the server can't be reached or if the call fails.
func TestMCP(ctx context.Context, c *config.Config, keeper []string, o Output, name, tool, arguments string) error {
	i := slices.IndexFunc(c.MCPServers, func(s config.MCPServer) bool { return s.Name == name })
	if i < 0 {
		var names []string
		for _, s := range c.MCPServers {
			names = append(names, s.Name)
		}
		return fmt.Errorf("%w: %q (configured: %s)", ErrUnknownServer, name, strings.Join(names, ", "))
	}
	began := time.Now()
	return withMCP(ctx, c.MCPServers[i:i+1], keeper, func(client *mcp.Client) error {
		s := answers(client)[0]
		if !s.Connected {
			return fmt.Errorf("connect to MCP server %s: %s", name, s.Error)
		}
		if tool != "" {
			return callTool(ctx, client, o, name, tool, arguments)
		}
		if o.JSON {
			return o.json(s)
		}
		if _, err := fmt.Fprintf(o.Remarks, "%s answered within %v and offers %d tools.\n", name, time.Since(began).Round(time.Millisecond), len(s.Tools)); err != nil {
			return err
		}
		rows := [][]string{{"TOOL", "APPROVAL", "DESCRIPTION"}}
		for _, t := range s.Tools {
			rows = append(rows, []string{t.Name, t.Approval, agent.Clip(oneLine(t.Description), 80)})
		}
		return o.table(rows...)
	})
}

// callTool calls a tool of a server and writes the result.
func callTool(ctx context.Context, client *mcp.Client, o Output, server, tool, arguments string) error {
	tools := client.Tools()
	i := slices.IndexFunc(tools, func(d agent.ToolDef) bool { return d.Name == tool || d.Name == server+"_"+tool })
	if i < 0 {
		return fmt.Errorf("MCP server %s offers no tool %q; 'telex mcp test %s' lists what it offers", server, tool, server)
	}
	if arguments == "" {
		arguments = "{}"
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil {
		return fmt.Errorf("arguments are not a JSON object: %w", err)
	}
	out, err := tools[i].Call(ctx, agent.Input{Arguments: arguments, Progress: func(text string) { _, _ = fmt.Fprintln(o.Remarks, oneLine(text)) }})
	if err != nil {
		return fmt.Errorf("call %s: %w", tools[i].Name, err)
	}
	if o.JSON {
		return o.json(struct {
			Text   string `json:"text"`
			Images int    `json:"images"`
			Files  int    `json:"files"`
		}{out.Text, len(out.Images), len(out.Files)})
	}
	if n := len(out.Images) + len(out.Files); n > 0 {
		_, _ = fmt.Fprintf(o.Remarks, "It also returned %d pictures and files, which are not shown.\n", n)
	}
	_, err = fmt.Fprintln(o.Results, terminal.CleanSource(out.Text))
	return err
}

// withMCP connects to the servers, waits until each of them has responded or failed, calls the function f, and disconnects.
func withMCP(ctx context.Context, servers []config.MCPServer, keeper []string, f func(*mcp.Client) error) error {
	client, err := newMCP(servers, nil, Options{Log: slog.New(slog.DiscardHandler), Keeper: keeper})
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	var run sync.WaitGroup
	defer run.Wait()
	defer cancel()
	run.Go(func() { client.Run(running) })
	if client.Settle(ctx); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return f(client)
}

// answers returns what is known about each MCP server, in the order of the configuration.
func answers(client *mcp.Client) []MCPServer {
	servers := []MCPServer{}
	for _, st := range client.Status() {
		s := MCPServer{Name: st.Name, Connected: st.Connected, Error: st.Err, Tools: []MCPTool{}}
		for _, d := range st.Tools {
			t := MCPTool{Name: d.Name, Approval: approvedByPerson, Description: d.Description}
			switch {
			case d.ReadOnly:
				t.Approval = approvedByNobody
			case d.AutoApprove:
				t.Approval = approvedByConfig
			}
			s.Tools = append(s.Tools, t)
		}
		servers = append(servers, s)
	}
	return servers
}
