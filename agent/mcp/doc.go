// Package mcp offers the tools of MCP servers (https://modelcontextprotocol.io) to agents. The package uses the official SDK
// of the protocol. A server either runs as a child process, to which telex is connected by its standard input and output, or
// is reached by streamable HTTP.
//
//	client.go      all servers: New, Run, Tools
//	config.go      the validated configuration of a server
//	server.go      one server: connects, serves, and connects again
//	session.go     one connection, and the calls over it
//	definition.go  converts a server's tool to an agent's (pure)
//	listing.go     reads the pages of a server's list of tools, within limits
//	naming.go      the names of tools (pure)
//	content.go     converts the result of a call for the model and for people (pure)
//	process.go     a child process
//	keeper_*.go    a process that starts a server and ends all processes of the server
//	stderr.go      logs the standard error of a child process
//	gate.go        limits all data of servers before the SDK reads it
//	web.go         HTTP with the configured headers
//	secret.go      removes secrets from logs and errors
//
// # Connections
//
// While Run runs, it keeps one connection to each server. After a failure, Run connects again, with growing pauses. The tools
// of a disconnected server are offered for one more minute, and a call waits some seconds for the connection. So a restart of
// the server does not disturb the model. If the connection breaks while a call is running, the call fails. A failed call is
// not repeated, because it may have taken effect. There is one exception: if an HTTP server refuses a call because it does
// not know the session, the call had no effect and is repeated over a new session.
//
// # Trust
//
// Servers are not trusted. A server's environment has only PATH, HOME, LANG and the configured variables. The size and the rate
// of a server's messages are limited. The configuration decides which tools are read-only. A server may send hints about which
// tools are read-only, but the hints count only if the configuration says that the server is trusted. If the description,
// schema or hints of a tool change, earlier approvals become invalid. telex does not offer roots, sampling and elicitation to
// servers.
//
// # Goroutines
//
// Run starts one goroutine for each server. The goroutine of a server starts others for its connection and its process. All
// goroutines have ended when Run returns.
//
// # Processes
//
// The daemon does not start the command of a server itself. Instead, the daemon starts a keeper: a process of the daemon's
// own program that calls Keep. The keeper starts the command. The keeper is the subreaper of all processes that the server
// starts. The keeper kills these processes when the server exits, or when the pipe from the daemon is closed, which also
// happens when the daemon dies. Keepers exist on Linux only.
package mcp
