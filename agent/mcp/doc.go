// Package mcp offers the tools of MCP servers (https://modelcontextprotocol.io) to agents. It uses the official SDK. A server
// runs as a child process, connected by its standard input and output, or is reached by streamable HTTP.
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
//	keeper_*.go    the process between the daemon and a server, which ends all processes of the server
//	stderr.go      logs the standard error of a child process
//	gate.go        limits all data of servers before the SDK reads it
//	web.go         HTTP with the configured headers
//	secret.go      removes secrets from logs and errors
//
// # Connections
//
// Each server has its own connection while Run runs. After a failure, Run connects again, with growing pauses. The tools
// of a disconnected server are offered for one more minute, and a call waits some seconds for the connection, so that a
// restart of the server goes unnoticed. A call that was running when the connection broke has failed. It is not repeated,
// because it may have taken effect. There is one exception: if an HTTP server refuses a call because it does not know the
// session, the call is repeated once over a new session.
//
// # Trust
//
// Servers are not trusted. A server's environment has only PATH, HOME, LANG and the configured variables. Its messages are
// limited. The configuration decides which tools are read-only, unless it trusts the server's hints. If a tool changes its
// description, schema or hints, earlier approvals no longer hold. The server gets no roots, no sampling and no elicitation.
//
// # Goroutines
//
// Run has one goroutine for each server, which has one for its connection and one for its process. All have ended when Run
// returns.
//
// # Processes
//
// A keeper stands between the daemon and a server that is a child process: the daemon's own program, which runs Keep. It is
// the subreaper of all processes that the server starts. It kills them when the server exits, when the daemon says so, or
// when the daemon dies and its pipe closes. Keepers exist on Linux only.
package mcp
