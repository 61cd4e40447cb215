// Package postgres keeps in a PostgreSQL database what internal/store keeps in a file, with the same promises.
//
// Several processes can use a database at the same time. A process that registers is a replica, with a lease in the table replica.
// Each chat in which something goes on has a row in the table chat with its owner. A write about a conversation first reads the lease
// and holds the owner's row, in the round trip that locks the conversation, so it either comes before a change of the owner or
// fails. A process that does not register, such as an operator's command, owns nothing and is not fenced.
//
// Whoever changes an owner holds the chat's row FOR UPDATE, and gives its unfinished work to nobody: column given is 0. Take finds
// work by that column alone, with one index for each table, so it does not read what the other replicas are doing.
//
// Signals are sent with NOTIFY behind the commit, in the same round trip but not in the same transaction: PostgreSQL lets
// transactions with signals be committed only one after the other.
//
// Times in the database are by the server's clock. Registering and renewing compare the clocks, and each transaction converts the
// times that it writes and reads.
//
// Programs of two releases in a row can run at the same time. A migration that only adds leaves the number in the table compatibility:
// programs that know this schema or a newer one go on. One that takes something away raises it, and is refused while a replica
// lives that could not stand it. Migrations run under an advisory lock of their own.
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
//	Note, Remember, Undo without a turn,
//	Register, Forward                              a token; a caller that gets an error repeats none of them
//	all others                                     no token: they may take effect twice
//
// A transaction's id (pg_xact_status) would not do: after a crash PostgreSQL gives ids again that had not reached the disk.
package postgres
