// Package mcp makes tools of those that MCP servers offer (https://modelcontextprotocol.io), through the official SDK:
// servers that are run as child processes and spoken to over their standard input and output, and servers that are
// spoken to over streamable HTTP.
//
//	client.go      all servers: New, Run, Tools
//	config.go      what is configured of a server, checked
//	server.go      the life of one: connect, serve, lose, connect again
//	session.go     one connection, and the calls over it
//	definition.go  a server's tool as an agent's (pure)
//	listing.go     the tools of a server, from the pages of its list, within limits
//	naming.go      what tools are called (pure)
//	content.go     what a call returned, for the model and for people (pure)
//	process.go     a child process
//	keeper_*.go    the process in between, which ends all that a child started, also when the daemon dies
//	stderr.go      what a child says, in the log
//	gate.go        limits on everything that servers send, before the SDK reads it
//	web.go         HTTP with the configured headers
//	secret.go      secrets taken out of what is logged and told
//
// # Coming and going
//
// Each server is connected to by itself for as long as Run runs, after growing waits when it can't be. While it is away its
// tools stay for a minute, so that a restart goes unnoticed: a call waits for the connection for some seconds. A call that
// was under way when the connection broke has failed; it is not made again, because it may have taken effect. Only what an
// HTTP server refused because it does not know the session any more is sent once again, over a new one.
//
// # Trust
//
// A server is somebody else's program. It is given no more of the environment than PATH, HOME, LANG and what is configured;
// what it sends is limited; which tools only read is up to the config, unless that trusts the server; a tool that changes
// its description, schema or hints is another tool; and the server is offered
// neither roots nor sampling nor questions to people.
//
// # Goroutines
//
// Run has one for each server, which has one for its connection and one for its process. All have ended when Run returns.
//
// # Processes
//
// Between the daemon and a server that is a child process stands a keeper: the daemon's own program, which runs Keep. It
// is the subreaper of everything that the server starts. It kills all of that when the server ends, when the daemon says
// so, and when the pipe to the daemon closes because the daemon was killed. Linux only.
package mcp
