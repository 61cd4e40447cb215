// Package store keeps what must survive the process. The store contains received messages, sessions, turns and the
// parts of their replies, and token usage. The store also contains which people were let in, permanent approvals of
// tools, facts that people asked the bot to remember, rate-limit blocks, and new ids of chats.
//
// A received message goes through these states; each arrow is one transaction:
//
//	Accept ──> pending ──Begin──> running ──End(Done | Closed)──> done: only its id stays, for 7 days
//	              │  ^               │
//	              │  └─End(Released)─┘
//	              └──Drop──> done
//
// A turn, which answers messages, goes through these states:
//
//	Begin ──> running ──Decide──> decided ──End──> done | closed
//	             └──────────────End───────────────────^
//
// Record stores which platform message shows which part of a turn's reply. After a restart, Pending returns all
// messages that are not yet answered, and Unfinished returns all turns that have not ended.
//
// With Note, a running turn writes a journal of what it has done. If another process continues the turn after a crash,
// it learns from the journal which steps it must not repeat. Decide deletes the journal.
//
// Several turns of one conversation may run at the same time. Forget and Erase delete history that a running turn may
// have read, so they fence the turn. From then on, the store refuses to store the fenced turn's result and its
// additions to the history. Each transaction of a turn checks whether the turn is fenced, whichever process runs it.
//
// A session consists of the entries of its history and a summary of the older entries. The entries that the summary
// covers stay stored. When a person's entries are erased, the summary is deleted. The entries of other people that the
// summary covered are then part of the history again. If undo, erase or the merge of two chats changes a session while
// a turn runs, the turn is stale. The store refuses the summary of a stale turn, and the next turn of the conversation
// makes a new summary.
//
// The store is an SQLite database in one file. A lock file beside the database ensures that only one daemon uses the
// database. Other processes may read the database at any time, to check it or to back it up. A new database is created
// under a temporary name and then renamed. So if the store's file is empty or truncated, it has been damaged. The texts
// of finished messages and delivered replies are deleted immediately.
//
// One goroutine writes to the database, two goroutines read it, and one goroutine moves the write-ahead log into the
// file (a checkpoint). Writers never wait for readers. While a backup or another reader uses an older state, the
// write-ahead log can't be emptied, so deleted text stays readable in the log. A call that deletes data waits up to a
// second for such a reader to end. If the deleted text stays readable for more than about five seconds, the store logs
// this. A backup runs in one read transaction. The store does not use SQLite's online backup, because that backup starts
// over whenever another process writes. While a daemon is busy, an online backup would never end.
package store
