package app

import (
	"time"

	"telex/agent"
	"telex/agent/mcp"
	"telex/agent/tool"
	"telex/internal/config"
)

// newTools returns the tools that models may call: the built-in tools, and the tools of MCP servers.
func (a *App) newTools(c *config.Config, servers []*toolServer, o Options) (agent.Toolbox, error) {
	own, err := tool.New(tool.Options{
		Enabled: c.Tools.Enabled, Zone: time.Local, //nolint:gosmopolitan // until people name another time zone, this zone is used
		Fetch: tool.FetchOptions{AllowDomains: c.Tools.Fetch.AllowDomains}, Facts: facts{o.Store, o.Log, func(err error) bool { return a.gateway.CheckLease(err) }},
		Home: home(c, o),
	})
	if err != nil {
		return nil, err
	}
	boxes := []agent.Toolbox{own}
	for _, s := range servers {
		boxes = append(boxes, s.client)
	}
	return tool.Join(boxes...), nil
}

// newMCP returns a client of these MCP servers. Clients that get the same channel large read large messages only one at a time,
// to limit the memory for such messages.
func newMCP(configured []config.MCPServer, large chan struct{}, o Options) (*mcp.Client, error) {
	var servers []mcp.Server
	for _, s := range configured {
		var literal []string
		for _, secret := range s.Secrets() {
			literal = append(literal, secret.Reveal())
		}
		servers = append(servers, mcp.Server{
			Name: s.Name, Command: s.Command, Args: s.Args, Env: revealAll(s.Env), URL: s.URL, Headers: revealAll(s.Headers),
			ReadOnly: s.ReadOnly, AutoApprove: s.AutoApprove, Deny: s.Deny, Trust: s.Trust, Timeout: s.Timeout, Secrets: literal,
		})
	}
	return mcp.New(mcp.Options{Servers: servers, Version: o.version(), Transport: o.Transport, Log: o.Log, Keeper: o.Keeper, Large: large})
}

// home returns the options of the tools for Home Assistant. If no Home Assistant is configured, home returns the zero value.
func home(c *config.Config, o Options) tool.HomeOptions {
	h := c.Home()
	if h == nil {
		return tool.HomeOptions{}
	}
	return tool.HomeOptions{URL: h.URL, Token: h.Token.Reveal(), HTTP: o.Transport}
}

// KeepServer runs an MCP server as a child process. args contains the path of the server's program and its arguments.
// When the server has exited or the daemon has ended, KeepServer kills the server and all processes that the server
// started. KeepServer then returns the exit status of the server.
func KeepServer(args []string) int { return mcp.Keep(args) }

func revealAll(secrets map[string]config.Secret) map[string]string {
	out := make(map[string]string, len(secrets))
	for name, value := range secrets {
		out[name] = value.Reveal()
	}
	return out
}
