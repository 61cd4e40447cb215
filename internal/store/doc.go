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
// Record stores which platform message shows which part of a turn's reply. After a start, Pending and Unfinished return all
// unfinished work.
//
// With Note, a running turn stores in its journal what the next run must not repeat. The decision deletes the journal.
//
// Turns of one conversation may run at the same time. Only Forget and Erase fence a turn: it may then no longer decide or add to
// the history. Each transaction of the turn checks for the fence, in whichever process the turn runs.
//
// A session consists of its entries and of a summary of the older ones. Summarized entries stay in the file: when a person's
// entries are erased, the summary is dropped and the other entries count again. If a session changes while a turn runs
// (by undo, erase or the merge of two chats), the turn is stale: its own summary is dropped, and the next turn makes a new one.
//
// The file is a SQLite database. A lock file beside it reserves it for one daemon; reading, to check or to copy it, is always
// possible. A new file is created under another name and then renamed. So an empty or truncated file means damage. Finished
// messages and delivered replies lose their texts immediately.
//
// One goroutine writes, two read, and one moves the write-ahead log into the file (a checkpoint). Writers never wait for
// readers, such as a backup. A reader of an older state delays the emptying of the log, so erased text stays readable there
// until the reader has finished. The erasing call waits for that for a second. A longer delay is logged.
// A backup is one read transaction. SQLite's online backup copies in steps and starts over after each write of another
// process, so it would never end while a daemon is busy.
package store
