// Package terminal connects terminals with the gateway. A [Hub] is the platform and a [Client] is one terminal. They
// speak a small protocol of JSON lines, over a pipe in memory or over a daemon's socket.
//
// A chat is a session with a name that the person chooses. At most one client is attached to a session. Without a
// client, calls succeed and show nothing, since the answer is in the session's history. A client gets only the newest
// state of each message. A slow terminal therefore makes a message grow in larger steps and delays nobody.
//
// Clients survive a restart of the daemon. A new process waits a short time for the clients of the old one. Messages
// keep their ids, and if a client repeats an input, the hub accepts it only once.
//
// The dialect formats text by ANSI escape sequences. It removes all escape sequences from a model's text.
package terminal
