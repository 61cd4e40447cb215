// Package postgres stores the same data as internal/store, but in a PostgreSQL database instead of an SQLite file. The
// package postgres gives the same guarantees as internal/store.
//
// Several processes can use the same database. A process that registers becomes a replica. The replica's lease is a row
// in the table replica. Each chat with unfinished work has a row in the table chat, which names the chat's owner.
// Before a replica writes data of a conversation, one round trip checks its lease and locks the rows of the chat and
// the conversation. So either the write happens before the chat gets another owner, or it fails. A process that does
// not register, such as an operator's command, owns no chat and may always write.
//
// The tables of unfinished work (turn, inbox and forwarded) have a column "given". The column "given" contains the id
// of the replica to which Take has given the work, or 0. A transaction that changes the owner of a chat locks the
// chat's row FOR UPDATE, and sets the column "given" to 0 for the chat's unfinished work. Take finds work by the column
// "given", which has an index in each table. So Take reads no work that other replicas already have.
//
// Signals between replicas are sent with NOTIFY after the commit, in the same round trip. The signals are not part of
// the transaction, because PostgreSQL commits transactions with signals only one after the other.
//
// The time columns contain times of the database server's clock. When a process registers and renews its lease, it
// measures the difference between its clock and the server's clock. With this difference, each transaction converts the
// times that it writes and reads, but not times inside data that the gateway has encoded.
//
// Programs of two consecutive releases can use the same database. The table compatibility contains one number: the
// version of the oldest schema that a program must know to use the database. A migration that only adds something does
// not change the number in this table, so running programs continue. A migration that removes something raises the
// number in the table compatibility. A migration that raises this number fails while a replica runs that knows only
// older schemas. An advisory lock ensures that only one process at a time migrates the schema.
//
// Transactions run at READ COMMITTED. Each transaction locks the rows that it changes: first the conversation, then
// its turns and messages. So no two transactions change the same conversation at the same time, and transactions of
// different conversations don't wait for each other. Move merges conversations, so it takes an exclusive advisory
// lock; no other transaction writes until Move has ended. If other transactions conflict, such as a sweep and a new
// message, PostgreSQL refuses one of the transactions, and the store repeats this transaction.
//
// If the database is unreachable, a call tries for two seconds and then fails with store.ErrAway. The gateway repeats
// the calls that it can't do without. Until these calls succeed, the gateway acknowledges no message to a platform.
//
// If a connection is lost during COMMIT, the outcome is unknown, so the store repeats the call. Most calls do no harm
// if they take effect twice, so the store can simply repeat them. Each of the other calls stores a random token in its
// transaction, and the store repeats the call with the same token. If the first attempt of such a call was committed,
// PostgreSQL refuses the token. If the first attempt of such a call is still being committed, PostgreSQL lets the
// second attempt wait. If a caller repeats a call whose outcome is unknown, the store uses the same token for the new
// call too:
//
//	Accept, Begin, SaveExchange, Undo by a turn    a token, also when the caller repeats them
//	Note, Remember, Undo without a turn,
//	Register, Forward                              a token; a caller that gets an error repeats none of them
//	all others                                     no token: they may take effect twice
//
// The id of a transaction (pg_xact_status) can't replace the token: after a crash, PostgreSQL reuses ids of
// transactions that were not yet on the disk.
package postgres
