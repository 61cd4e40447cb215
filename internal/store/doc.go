// Package store keeps what must outlive the process: the inbox, sessions, turns, what stands of their replies,
// what they used, who was let in, what people approved and asked to be remembered, blocks, and chats that moved.
//
// A message goes through it like this; each arrow is one transaction:
//
//	Accept ──> pending ──Begin──> running ──End(Done | Closed)──> done: only the key is left, for 7 days
//	              │  ^               │
//	              │  └─End(Released)─┘
//	              └──Drop──> done
//
// and the turn that answers it:
//
//	Begin ──> running ──Decide──> decided ──End──> done | closed
//	             └──────────────End───────────────────^
//
// Intend and Record keep, beside the turn, which message of the platform shows what. After a start, Pending and
// Unfinished return all that was going on, without a timer: what is unfinished in the file was so when the last
// process ended.
//
// While it runs it notes in its journal what must not be done again by the next run: Note. The journal goes with the
// decision.
//
// Turns of one conversation may run side by side. The right to decide, and to add to the history, is a mark on the
// turn's row, taken away by Forget and by nothing else; whoever runs the turn, in whichever process, finds it gone in
// the transaction that would need it.
//
// A session is its entries and a summary that stands for those up to one; they stay, so that an erased person's part
// can go and the rest counts again. A turn whose session changed otherwise than by growing (undone, erased, joined
// with another chat's) is stale: the summary that it was about to store is dropped, and the next turn makes one.
//
// The file is SQLite's. The daemon has it alone, by a lock file beside it; reading it, to check or to copy it, is
// always possible. A new file is made beside its place and moved there, so an empty or headless one is damage and
// never the start of something. Bodies of finished messages and texts of delivered replies are removed at once.
//
// One goroutine writes, two read beside it, and one moves the write-ahead log into the file. Nobody who writes waits for
// a reader, such as a backup. A reader that sees an older state keeps the log from being emptied, so what was erased
// stays readable there until it has gone: the erasing call waits for that a second, then the log says that it is late.
// A backup is one read transaction. SQLite's online backup goes in steps instead, but begins again after each write of
// another process, so beside a busy daemon it never ends.
package store
