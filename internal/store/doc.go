// Package store keeps what must survive the process: the inbox, sessions, turns, the parts of their replies, usage,
// admissions, permanent approvals, facts that people asked the bot to remember, rate-limit blocks, and moved chats.
//
// A message goes through these states; each arrow is one transaction:
//
//	Accept ──> pending ──Begin──> running ──End(Done | Closed)──> done: only its id stays, for 7 days
//	              │  ^               │
//	              │  └─End(Released)─┘
//	              └──Drop──> done
//
// The turn that answers it goes through these:
//
//	Begin ──> running ──Decide──> decided ──End──> done | closed
//	             └──────────────End───────────────────^
//
// Record stores which platform message shows which part of a turn's reply. After a start, Pending and Unfinished
// return all unfinished work.
//
// With Note, a running turn stores in its journal what must not be done again if the turn runs again. Decide deletes
// the journal.
//
// Turns of one conversation may run at the same time. Forget and Erase fence a running turn: from then on, it can't
// decide or add to the history. Each transaction of the turn checks for the fence, in whichever process the turn
// runs.
//
// A session consists of the entries of its history and of a summary of the older entries. Summarized entries stay in
// the file. When a person's entries are erased, the summary is dropped, and the other entries are part of the history
// again. If a session changes while a turn runs (by undo, erase or the merge of two chats), the turn is stale: the
// store does not accept its summary, and the next turn makes a new one.
//
// The file is a SQLite database. A lock file beside it reserves it for one daemon. Other processes may always read
// the database, to check or to copy it. A new database is created under another name and then renamed, so an empty or
// truncated file means damage. The texts of finished messages and delivered replies are deleted immediately.
//
// One goroutine writes, two read, and one moves the write-ahead log into the file (a checkpoint). Writers never wait
// for readers, such as a backup. While somebody reads an older state, the write-ahead log can't be emptied, so erased
// text stays readable in it. The erasing call waits up to a second for the reader to end. A longer delay is logged. A
// backup is one read transaction. SQLite's online backup copies in steps and starts over after each write of another
// process, so it would never end while a daemon is busy.
package store
