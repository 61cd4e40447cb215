// Package terminal connects terminals with the gateway. A [Hub] is the daemon's side of a connection, and a [Client]
// is the terminal's side. Hub and client exchange JSON lines over a pipe in memory or over the daemon's socket.
//
// In this package, a chat is a session with a name that the person at the terminal chooses. At most one client at a
// time is attached to a session. If no client is attached, a call to send or edit a message succeeds and shows nothing;
// the next client gets the answer from the session's history. A client gets only the newest state of each message. If a
// terminal is slow, its messages therefore grow in larger steps, but the hub never waits for the terminal.
//
// Clients reconnect after a restart of the daemon. After a restart, the new process waits a short time for the clients
// of the old process to reconnect. Messages keep their ids across a restart of the daemon. If a client sends an input
// again, the hub passes it on with the same message id, so the gateway accepts the input only once.
//
// The dialect formats text with ANSI escape sequences. The dialect removes all escape sequences from a model's text,
// so that a model can't control the terminal.
package terminal
