// Package postgres keeps in a PostgreSQL database what internal/store keeps in a SQLite file, and guarantees the
// same.
//
// Several processes can use a database at the same time. A process that registers is a replica, with a lease in the
// table replica. Each chat with work has a row in the table chat, which names its owner. Before a write about a
// conversation, one round trip checks the lease, locks the chat's row and locks the conversation. So the write either
// happens before the owner changes, or fails. A process that does not register, such as an operator's command, owns
// no chat and may always write.
//
// The column given says to which replica unfinished work was given; 0 means to none. A transaction that changes the
// owner of a chat locks the chat's row FOR UPDATE, and sets given to 0 in the chat's unfinished work. Take finds work
// by this column alone, with one index for each table. So it does not read the work of other replicas.
//
// Signals are sent with NOTIFY after the commit, in the same round trip but not in the same transaction, because
// PostgreSQL commits transactions with signals only one after the other.
//
// Times in the database are on the server's clock. Registering and renewing measure how far this process's clock
// differs. Each transaction converts the times that it writes and reads.
//
// Programs of two consecutive releases can run at the same time. The table compatibility holds the number of the
// oldest schema that a program must know. A migration that only adds something leaves this number unchanged, and
// running programs continue. A migration that removes something raises the number. It is refused while a replica is
// alive that knows only older schemas. Migrations use an advisory lock of their own.
//
// Transactions run at READ COMMITTED and lock the rows that they change: first the conversation, then its turns and
// messages. So no two transactions change one conversation at the same time, and transactions of different
// conversations don't wait for each other. Move merges conversations, so it takes the exclusive advisory lock, and no
// other transaction writes meanwhile. Other conflicts, such as a sweep that meets a new message, make PostgreSQL
// refuse a transaction, which is then repeated.
//
// The database may be unreachable. A call then tries for two seconds and fails with store.ErrAway. The gateway
// repeats the calls that it needs, and acknowledges nothing to a platform meanwhile. If a connection is lost during
// COMMIT, the outcome is unknown, so the call is repeated. Most calls may take effect twice. Each of the others
// stores a random token in its transaction, and is repeated with the same token. If the first attempt was committed,
// PostgreSQL refuses the token. If the first attempt may still be committed, PostgreSQL makes the second one wait. If
// the caller repeats a call with an unknown outcome, the call gets the token of the first one:
//
//	Accept, Begin, SaveExchange, Undo by a turn    a token, also when the caller repeats them
//	Note, Remember, Undo without a turn,
//	Register, Forward                              a token; a caller that gets an error repeats none of them
//	all others                                     no token: they may take effect twice
//
// A transaction's id (pg_xact_status) can't serve as the token: after a crash, PostgreSQL reuses ids that had not
// reached the disk.
package postgres
