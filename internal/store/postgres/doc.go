// Package postgres keeps in a PostgreSQL database what internal/store keeps in a file, with the same promises.
//
// One daemon at a time writes: it holds a session advisory lock on a connection of its own, and its epoch stands in the table
// owner. Each writing transaction begins with three statements in one round trip: BEGIN; the transaction's id and a shared
// advisory lock; the epoch. A process that takes the ownership raises the epoch under the exclusive form of that lock, so that
// afterwards no transaction of the process before it can commit.
//
// Transactions run at READ COMMITTED and lock what they change: the conversation first, then its turns and messages. So no two
// transactions change one conversation at the same time, and those of different conversations don't wait for each other. Move,
// which merges conversations, is alone: it holds the exclusive advisory lock. What remains, such as a sweep that meets a message
// which just arrived, fails in PostgreSQL's own checks and is repeated.
//
// The database may be away. A call then tries for a moment, and fails with store.ErrAway; the gateway repeats what it needs, and
// nothing is acknowledged to a platform meanwhile. A connection that is lost before COMMIT was sent has changed nothing, so the
// call is repeated. If it is lost during COMMIT, the store asks PostgreSQL about the transaction's id (pg_xact_status) and
// repeats only what was not committed. Where the answer must wait for the database's return, a repeated call gets it first.
// So all calls may be repeated by the caller, except Remember and Note, which add, and Undo without a turn, which deletes;
// callers of these tell a person about the failure.
package postgres
