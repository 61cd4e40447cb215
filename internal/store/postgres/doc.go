// Package postgres keeps in a PostgreSQL database what internal/store keeps in a file, with the same promises.
//
// One daemon at a time writes: it holds a session advisory lock on a connection of its own, and its epoch stands in the table
// owner. Each writing transaction begins with three statements in one round trip: BEGIN; a shared advisory lock; the
// epoch. A process that takes the ownership raises the epoch under the exclusive form of that lock, so that
// afterwards no transaction of the process before it can commit.
//
// Transactions run at READ COMMITTED and lock what they change: the conversation first, then its turns and messages. So no two
// transactions change one conversation at the same time, and those of different conversations don't wait for each other. Move,
// which merges conversations, is alone: it holds the exclusive advisory lock. What remains, such as a sweep that meets a message
// which just arrived, fails in PostgreSQL's own checks and is repeated.
//
// The database may be away. A call then tries for a moment, and fails with store.ErrAway; the gateway repeats what it needs, and
// nothing is acknowledged to a platform meanwhile. If a connection is lost during COMMIT, nobody knows whether the transaction was
// committed, so the call is repeated. Most calls may take effect twice. The others store a token of their own in the same
// transaction, and are repeated with the same token: PostgreSQL refuses it if the first attempt was committed, and makes the second
// one wait while it still may be. If the caller makes a call again that failed so, it gets the token of the first:
//
//	Accept, Begin, SaveExchange, Undo by a turn    a token, also when the caller repeats them
//	Note, Remember, Undo without a turn            a token; a caller that gets an error repeats none of them
//	all others                                     no token: they may take effect twice
//
// A transaction's id (pg_xact_status) would not do: after a crash PostgreSQL gives ids again that had not reached the disk.
package postgres
