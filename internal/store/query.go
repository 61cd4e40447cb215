package store

// The queries, all of them. A '?' is a parameter and nothing else; " /*lock*/" ends a SELECT that decides what
// the same transaction writes.

// Conversations.
const (
	// lockConversation returns the id, makes the row when there is none, and where several write at once
	// makes them wait for each other: the update that changes nothing locks the row.
	lockConversation = `
INSERT INTO conversation (endpoint, chat, thread) VALUES (?, ?, ?)
ON CONFLICT (endpoint, chat, thread) DO UPDATE SET thread = excluded.thread
RETURNING id`

	findConversation = `SELECT id FROM conversation WHERE endpoint = ? AND chat = ? AND thread = ?`

	// threadsOf lists the conversations of one chat.
	threadsOf = `SELECT id, thread FROM conversation WHERE endpoint = ? AND chat = ? ORDER BY id /*lock*/`

	renameConversation = `UPDATE conversation SET chat = ? WHERE id = ?`
	deleteConversation = `DELETE FROM conversation WHERE id = ?`

	sweepConversations = `
DELETE FROM conversation
WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.conversation = conversation.id)
  AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.conversation = conversation.id)
  AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.conversation = conversation.id)`
)

// Chats that moved.
const (
	findMove = `SELECT new_chat FROM moved WHERE endpoint = ? AND old_chat = ?`

	saveMove = `
INSERT INTO moved (endpoint, old_chat, new_chat) VALUES (?, ?, ?)
ON CONFLICT (endpoint, old_chat) DO UPDATE SET new_chat = excluded.new_chat`

	// shortenMoves makes a chat that moved twice point at where it is now.
	shortenMoves = `UPDATE moved SET new_chat = ? WHERE endpoint = ? AND new_chat = ?`

	// forgetMove is for an id that is in use again.
	forgetMove = `DELETE FROM moved WHERE endpoint = ? AND old_chat = ?`

	moveInbox   = `UPDATE inbox SET conversation = ? WHERE conversation = ?`
	moveEntries = `UPDATE entry SET conversation = ? WHERE conversation = ?`
	moveTurns   = `UPDATE turn SET conversation = ? WHERE conversation = ?`

	// retargetTurns takes the answered message away too: in the new chat its id is another message's.
	retargetTurns = `
UPDATE turn SET to_chat = ?, reply_to = ''
WHERE conversation = ? AND to_chat = ? AND state IN ('running', 'decided')`
)

// The inbox.
const (
	acceptMessage = `
INSERT INTO inbox (endpoint, origin, thread, message, conversation, state, body, attempts, accepted_at, done_at)
VALUES (?, ?, ?, ?, ?, 'pending', ?, 0, ?, 0)
ON CONFLICT (endpoint, origin, thread, message) DO NOTHING`

	saveResume = `
INSERT INTO endpoint (name, resume) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET resume = excluded.resume`

	findResume = `SELECT resume FROM endpoint WHERE name = ?`

	// findUnfinished prefers what waits to what another turn was begun with.
	findUnfinished = `
SELECT id, state, accepted_at FROM inbox
WHERE conversation = ? AND message = ? AND state <> 'done'
ORDER BY CASE state WHEN 'pending' THEN 0 ELSE 1 END, id /*lock*/`

	listPending = `
SELECT i.id, c.endpoint, c.chat, c.thread, i.origin, i.message, i.body, i.accepted_at, i.attempts
FROM inbox i JOIN conversation c ON c.id = i.conversation
WHERE i.state = 'pending' ORDER BY i.id`

	listTaken = `
SELECT i.id, c.endpoint, c.chat, c.thread, i.origin, i.message, i.body, i.accepted_at, i.attempts
FROM inbox i JOIN conversation c ON c.id = i.conversation
WHERE i.turn = ? AND i.state = 'running' ORDER BY i.id`

	takeMessage = `UPDATE inbox SET state = 'running', turn = ?, attempts = attempts + 1 WHERE id = ?`

	retakeMessages = `UPDATE inbox SET attempts = attempts + 1 WHERE turn = ? AND state = 'running'`

	// finishMessage keeps the dedupe key and nothing that somebody wrote.
	finishMessage  = `UPDATE inbox SET state = 'done', body = '', done_at = ? WHERE id = ?`
	finishMessages = `UPDATE inbox SET state = 'done', body = '', done_at = ? WHERE turn = ? AND state = 'running'`

	releaseMessages = `
UPDATE inbox SET state = 'pending', turn = '', attempts = attempts - 1 WHERE turn = ? AND state = 'running'`

	sweepInbox = `DELETE FROM inbox WHERE state = 'done' AND done_at < ?`
)

// Sessions.
const (
	listEntries = `SELECT body FROM entry WHERE conversation = ? ORDER BY id`

	addEntry      = `INSERT INTO entry (conversation, body, at) VALUES (?, ?, ?)`
	deleteEntries = `DELETE FROM entry WHERE conversation = ?`
	sweepEntries  = `DELETE FROM entry WHERE at < ?`
)

// Turns and parts.
const (
	findTurn = `SELECT conversation, state, fenced FROM turn WHERE id = ? /*lock*/`

	beginTurn = `
INSERT INTO turn (id, conversation, to_chat, to_thread, to_kind, reply_to,
    state, fenced, runs, ending, tokens, accepted_at, begun_at, ended_at)
VALUES (?, ?, ?, ?, ?, ?, ?, 0, 1, ?, '', ?, ?, 0)`

	rerunTurn = `UPDATE turn SET runs = runs + 1 WHERE id = ?`

	// fenceTurns takes the right to decide, and to add to the history, from every running turn of a conversation.
	fenceTurns = `UPDATE turn SET fenced = 1 WHERE conversation = ? AND state = 'running'`

	cutTurn = `UPDATE turn SET ending = ? WHERE id = ? AND state = 'decided'`

	decideTurn = `UPDATE turn SET state = 'decided', ending = ?, tokens = ? WHERE id = ?`

	// endTurn and endParts keep the ids of what was sent, and nothing that somebody said.
	endTurn  = `UPDATE turn SET state = ?, ending = '', ended_at = ? WHERE id = ?`
	endParts = `UPDATE part SET source = '', body = '', plain = '', spans = '' WHERE turn = ?`

	listTurns = `
SELECT t.id, c.endpoint, c.chat, c.thread, t.to_chat, t.to_thread, t.to_kind, t.reply_to,
    t.state, t.fenced, t.runs, t.ending, t.accepted_at
FROM turn t JOIN conversation c ON c.id = t.conversation
WHERE t.state IN ('running', 'decided') ORDER BY t.begun_at, t.id`

	savePart = `
INSERT INTO part (turn, idx, state, ref_chat, ref_thread, ref_kind, ref_id, source, body, spans, has_cursor, create_key,
    plain, is_file, cut, first_at, tries)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (turn, idx) DO UPDATE SET state = excluded.state, ref_chat = excluded.ref_chat,
    ref_thread = excluded.ref_thread, ref_kind = excluded.ref_kind, ref_id = excluded.ref_id,
    source = excluded.source, body = excluded.body, spans = excluded.spans,
    has_cursor = excluded.has_cursor, create_key = excluded.create_key, plain = excluded.plain,
    is_file = excluded.is_file, cut = excluded.cut, first_at = excluded.first_at, tries = excluded.tries`

	listParts = `
SELECT idx, state, ref_chat, ref_thread, ref_kind, ref_id, source, body, spans, has_cursor, create_key,
    plain, is_file, cut, first_at, tries
FROM part WHERE turn = ? ORDER BY idx`

	sweepTurns = `DELETE FROM turn WHERE ended_at > 0 AND ended_at < ?`
)

// Blocks.
const (
	saveBlock = `
INSERT INTO block (endpoint, scope, chat, message, until) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (endpoint, scope, chat, message) DO UPDATE SET until = excluded.until
WHERE excluded.until > block.until`

	listBlocks = `
SELECT scope, chat, message, until FROM block WHERE endpoint = ? AND until > ?
ORDER BY scope, chat, message`

	sweepBlocks = `DELETE FROM block WHERE until <= ?`
)

// What `telex store check` counts.
const (
	countConversations = `SELECT COUNT(*) FROM conversation`
	countEntries       = `SELECT COUNT(*) FROM entry`
	countKeys          = `SELECT COUNT(*) FROM inbox`
	countPending       = `SELECT COUNT(*) FROM inbox WHERE state <> 'done'`
	listBodies         = `SELECT id, body FROM inbox WHERE state <> 'done' ORDER BY id`
	countUnfinished    = `SELECT COUNT(*) FROM turn WHERE state IN ('running', 'decided')`
)
