// Package postgres keeps in a PostgreSQL database what internal/store keeps in a file, with the same promises.
//
// Several processes can use a database at the same time. A process that registers is a replica, with a lease in the
// table replica. Each chat with work has a row in the table chat, which names its owner. A write about a conversation
// checks the lease and locks the owner's row, in the round trip that locks the conversation. So it either happens
// before a change of the owner or fails. A process that does not register, such as an operator's command, owns nothing
// and is not fenced.
//
// A transaction that changes an owner locks the chat's row FOR UPDATE, and sets the column given of its unfinished work
// to 0. Take finds work by that column alone, with one index for each table, so it does not read the work of other
// replicas.
//
// Signals are sent with NOTIFY after the commit, in the same round trip but not in the same transaction, because
// PostgreSQL commits transactions with signals only one after the other.
//
// Times in the database are on the server's clock. Registering and renewing compare the clocks, and each transaction
// converts the times that it writes and reads.
//
// Programs of two consecutive releases can run at the same time. A migration that only adds leaves the number in the
// table compatibility: programs that know this schema or a newer one continue. A migration that removes something
// raises the number. It is refused while a replica is alive that could not work with it. Migrations use an advisory
// lock of their own.
//
// Transactions run at READ COMMITTED and lock the rows that they change: the conversation first, then its turns and
// messages. So no two transactions change one conversation at the same time, and those of different conversations don't
// wait for each other. Move, which merges conversations, runs alone: it takes the exclusive advisory lock. Remaining
// conflicts, such as a sweep that meets a new message, fail in PostgreSQL's own checks and are repeated.
//
// The database may be unreachable. A call then tries for a moment and fails with store.ErrAway. The gateway repeats the
// calls that it needs, and acknowledges nothing to a platform meanwhile. If a connection is lost during COMMIT, the
// outcome is unknown, so the call is repeated. Most calls may take effect twice. The others store a token in the same
// transaction, and are repeated with the same token. PostgreSQL refuses the token if the first attempt was committed,
// and makes the second attempt wait while the first may still be committed. If the caller repeats a call with an
// unknown outcome, the call gets the token of the first:
//
//	Accept, Begin, SaveExchange, Undo by a turn    a token, also when the caller repeats them
//	Note, Remember, Undo without a turn,
//	Register, Forward                              a token; a caller that gets an error repeats none of them
//	all others                                     no token: they may take effect twice
//
// A transaction's id (pg_xact_status) does not work as a token: after a crash PostgreSQL reuses ids that had not
// reached the disk.
package postgres
