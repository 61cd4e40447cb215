// Package terminal connects terminals with the gateway. Its network is whoever is attached: a [Hub] is the platform,
// a [Client] is one terminal, and between them runs a small protocol of JSON lines, over a pipe in memory or over a
// socket of a daemon, so that the same client serves both.
//
// A chat is a session, named by the person; one client at a time is attached to it. Without one, calls succeed and show
// nothing: the answer is in the session's history. A client gets the newest state of each message: a slow terminal
// makes a message grow in larger steps, and holds nobody up.
//
// Clients outlive the daemon. A process that has just started waits a little for those of the one before; a message has
// the id that it had there, and an input that a client says once more is taken once.
//
// The dialect writes formatted text by ANSI escape sequences, and nothing of a model's text that could be one.
package terminal
