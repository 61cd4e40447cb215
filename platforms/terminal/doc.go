// Package terminal connects terminals with the gateway. A [Hub] is the platform and a [Client] is one terminal. Between them
// runs a small protocol of JSON lines, over a pipe in memory or over a daemon's socket, so that the same client serves both.
//
// A chat is a session with a name that the person chooses. One client at a time is attached to it. Without one, calls succeed
// and show nothing: the answer is in the session's history. A client gets the newest state of each message, so a slow terminal
// makes a message grow in larger steps and delays nobody.
//
// Clients outlive the daemon. A process that has just started waits a little for those of the one before; a message has
// the id that it had there, and an input that a client says once more is taken once.
//
// The dialect writes formatted text by ANSI escape sequences, and nothing of a model's text that could be one.
package terminal
