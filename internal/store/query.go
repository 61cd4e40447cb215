package store

// This file and query_turn.go contain all queries of the SQLite store.

// Queries about conversations.
const (
	// ensureConversation returns the conversation's id, and creates its row if that is missing. The UPDATE in this query
	// changes nothing, but without it SQLite would not return the id of an existing row.
	ensureConversation = `
INSERT INTO conversation (endpoint, chat, thread) VALUES (?, ?, ?)
ON CONFLICT (endpoint, chat, thread) DO UPDATE SET thread = excluded.thread
RETURNING id`

	findConversation = `SELECT id FROM conversation WHERE endpoint = ? AND chat = ? AND thread = ?`

	// threadsOf lists the conversations of one chat, which has one conversation for each thread.
	threadsOf = `SELECT id, thread FROM conversation WHERE endpoint = ? AND chat = ? ORDER BY id`

	endpointOf         = `SELECT endpoint FROM conversation WHERE id = ?`
	renameConversation = `UPDATE conversation SET chat = ? WHERE id = ?`
	deleteConversation = `DELETE FROM conversation WHERE id = ?`

	// conversationsOf lists the conversations that contain, or may contain, data of a person.
	conversationsOf = `
SELECT c.id FROM conversation c
WHERE c.endpoint = ? AND (c.chat = ?
    OR EXISTS (SELECT 1 FROM entry WHERE entry.conversation = c.id AND entry.person = ?)
    OR EXISTS (SELECT 1 FROM turn WHERE turn.conversation = c.id AND turn.person = ?)
    OR EXISTS (SELECT 1 FROM usage WHERE usage.conversation = c.id AND usage.person = ?)
    OR EXISTS (SELECT 1 FROM consent WHERE consent.conversation = c.id AND consent.person = ?))
ORDER BY c.id`

	// findOwn returns the conversation if only one person used it. If the id of a chat is a person's user id, only this
	// person used the chat. Only one person used a chat, too, if nobody else asked anything in it, unless the chat is
	// known to be a group.
	findOwn = `
SELECT c.id FROM conversation c
WHERE c.id = ? AND (c.chat = ? OR NOT EXISTS (
    SELECT 1 FROM turn WHERE turn.conversation = c.id AND (turn.to_kind <> 0 OR turn.person NOT IN (?, ''))
    UNION ALL SELECT 1 FROM entry WHERE entry.conversation = c.id AND entry.person NOT IN (?, '')
    UNION ALL SELECT 1 FROM usage WHERE usage.conversation = c.id AND usage.person NOT IN (?, '')
    UNION ALL SELECT 1 FROM consent WHERE consent.conversation = c.id AND consent.person <> ?))`
)

// This group contains queries about the new ids of chats that moved.
const (
	findMove = `SELECT new_chat FROM moved WHERE endpoint = ? AND old_chat = ?`

	saveMove = `
INSERT INTO moved (endpoint, old_chat, new_chat) VALUES (?, ?, ?)
ON CONFLICT (endpoint, old_chat) DO UPDATE SET new_chat = excluded.new_chat`

	// When a chat moves again, shortenMoves updates its earlier moves, so that each of its old ids leads directly to
	// the newest id.
	shortenMoves = `UPDATE moved SET new_chat = ? WHERE endpoint = ? AND new_chat = ?`

	listMoves = `SELECT endpoint, old_chat, new_chat FROM moved ORDER BY endpoint, old_chat`

	findChat = `SELECT id FROM conversation WHERE endpoint = ? AND chat = ? LIMIT 1`

	// forgetMove deletes a move when the platform gives the chat its earlier id back.
	forgetMove = `DELETE FROM moved WHERE endpoint = ? AND old_chat = ?`

	moveInbox   = `UPDATE inbox SET conversation = ? WHERE conversation = ?`
	moveEntries = `UPDATE entry SET conversation = ? WHERE conversation = ?`
	moveTurns   = `UPDATE turn SET conversation = ? WHERE conversation = ?`
	moveUsage   = `UPDATE usage SET conversation = ? WHERE conversation = ?`

	// moveConsents copies the permanent approvals of a conversation to another one, except those that the other
	// conversation already has. deleteConsents then deletes the old rows.
	moveConsents = `
INSERT INTO consent (conversation, person, tool)
SELECT ?, person, tool FROM consent WHERE conversation = ?
ON CONFLICT (conversation, person, tool) DO NOTHING`

	// retargetTurns changes unfinished turns so that they answer in the new chat. retargetTurns also removes the id of the
	// asker's message, because in the new chat this id may belong to another message.
	retargetTurns = `
UPDATE turn SET to_chat = ?, reply_to = ''
WHERE conversation = ? AND to_chat = ? AND state IN ('running', 'decided')`
)

// Queries about sessions.
const (
	findSession = `SELECT model, summary, folded, folds, at FROM session WHERE conversation = ?`

	saveSession = `
INSERT INTO session (conversation, model, summary, folded, folds, at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (conversation) DO UPDATE SET model = excluded.model, summary = excluded.summary,
    folded = excluded.folded, folds = excluded.folds, at = excluded.at`

	saveModel = `
INSERT INTO session (conversation, model, summary, folded, folds, at) VALUES (?, ?, '', 0, 0, 0)
ON CONFLICT (conversation) DO UPDATE SET model = excluded.model`

	// saveCompaction replaces the summary, unless the new summary covers fewer entries.
	saveCompaction = `
INSERT INTO session (conversation, model, summary, folded, folds, at) VALUES (?, '', ?, ?, 1, ?)
ON CONFLICT (conversation) DO UPDATE SET summary = excluded.summary, folded = excluded.folded,
    folds = session.folds + 1, at = excluded.at
WHERE excluded.folded >= session.folded`

	dropSummary   = `UPDATE session SET summary = '', folded = 0, folds = 0, at = 0 WHERE conversation = ?`
	deleteSession = `DELETE FROM session WHERE conversation = ?`

	listEntries = `SELECT id, turn, person, at, body FROM entry WHERE conversation = ? AND id > ? ORDER BY id`

	addEntry = `INSERT INTO entry (conversation, turn, person, at, body) VALUES (?, ?, ?, ?, ?)`

	newestEntry = `SELECT COALESCE(MAX(id), 0) FROM entry`

	// repeatEntries copies the entries that no summary covers, in their order, so that they get new ids. deleteRepeated
	// deletes the rows with the old ids.
	repeatEntries = `
INSERT INTO entry (conversation, turn, person, at, body)
SELECT ?, turn, person, at, body FROM entry
WHERE (conversation = ? AND id > ?) OR (conversation = ? AND id > ?) ORDER BY id`
	deleteRepeated = `
DELETE FROM entry WHERE ((conversation = ? AND id > ?) OR (conversation = ? AND id > ?)) AND id <= ?`

	deleteEntry         = `DELETE FROM entry WHERE id = ?`
	deleteEntries       = `DELETE FROM entry WHERE conversation = ?`
	deleteTurnEntries   = `DELETE FROM entry WHERE conversation = ? AND turn = ?`
	deletePersonEntries = `DELETE FROM entry WHERE conversation = ? AND person IN (?, '')`

	listSessions = `
SELECT c.endpoint, c.chat, c.thread, COALESCE(e.entries, 0), COALESCE(e.newest, 0),
    CASE WHEN s.folded > 0 THEN 1 ELSE 0 END, COALESCE(s.model, ''),
    CAST(COALESCE((SELECT SUM(prompt + completion) FROM usage WHERE usage.conversation = c.id), 0) AS BIGINT)
FROM conversation c
LEFT JOIN (SELECT conversation, COUNT(*) AS entries, MAX(at) AS newest FROM entry GROUP BY conversation) e
    ON e.conversation = c.id
LEFT JOIN session s ON s.conversation = c.id
WHERE e.entries > 0 OR s.folded > 0 OR s.model <> ''
ORDER BY COALESCE(e.newest, 0) DESC, c.id DESC`
)

// This group contains queries about the token usage of turns.
const (
	addUsage = `
INSERT INTO usage (conversation, endpoint, person, turn, model, at, prompt, cached, completion, reasoning, calls, estimated)
SELECT id, endpoint, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM conversation WHERE id = ?`

	// One of the conditions usageOfConversation, usageOfEndpoint and usageOfPerson may be appended to the queries
	// sumUsage and lastUsage. The ORDER BY clause newestUsage is appended to lastUsage at the very end.
	sumUsage = `
SELECT CAST(COALESCE(SUM(prompt), 0) AS BIGINT), CAST(COALESCE(SUM(cached), 0) AS BIGINT),
    CAST(COALESCE(SUM(completion), 0) AS BIGINT), CAST(COALESCE(SUM(reasoning), 0) AS BIGINT),
    CAST(COALESCE(SUM(calls), 0) AS BIGINT), COALESCE(MAX(estimated), 0), COUNT(DISTINCT turn)
FROM usage WHERE at >= ? AND at < ?`
	lastUsage           = `SELECT model FROM usage WHERE at >= ? AND at < ?`
	newestUsage         = ` ORDER BY id DESC LIMIT 1`
	usageOfConversation = ` AND conversation = ?`
	usageOfEndpoint     = ` AND endpoint = ?`
	usageOfPerson       = ` AND person = ?`

	// listUsage returns the rows of each turn next to each other.
	listUsage = `
SELECT u.turn, u.at, u.person, c.endpoint, c.chat, c.thread, u.model,
    u.prompt, u.cached, u.completion, u.reasoning, u.calls, u.estimated
FROM usage u JOIN conversation c ON c.id = u.conversation
WHERE u.at >= ? AND u.at < ? ORDER BY u.turn, u.id`

	anonymizeUsage = `UPDATE usage SET person = '' WHERE conversation = ? AND person = ?`
)

// This group contains queries about responses of the API server.
const (
	findEntry = `SELECT id FROM entry WHERE id = ? AND conversation = ?`

	saveResponse = `INSERT INTO response (id, endpoint, person, previous, body, messages, at) VALUES (?, ?, ?, ?, ?, ?, ?)`
	findResponse = `SELECT previous, body, messages, at FROM response WHERE id = ? AND endpoint = ? AND person = ?`

	deleteResponse  = `DELETE FROM response WHERE id = ? AND endpoint = ? AND person = ?`
	deleteResponses = `DELETE FROM response WHERE endpoint = ? AND person = ?`

	listOverResponses = `SELECT id FROM response WHERE at < ? LIMIT ?`
	sweepResponses    = `DELETE FROM response WHERE at < ? AND id = ?`
)

// This group contains queries about permanent approvals of tools, and about facts that people asked the bot to
// remember.
const (
	saveConsent = `
INSERT INTO consent (conversation, person, tool) VALUES (?, ?, ?)
ON CONFLICT (conversation, person, tool) DO NOTHING`

	countConsents        = `SELECT COUNT(*) FROM consent WHERE conversation = ? AND person = ? AND tool = ?`
	deleteConsents       = `DELETE FROM consent WHERE conversation = ?`
	deletePersonConsents = `DELETE FROM consent WHERE conversation = ? AND person = ?`

	listFacts = `SELECT number, body, at FROM fact WHERE endpoint = ? AND person = ? ORDER BY number`

	takeFactNumber = `
INSERT INTO fact_number (endpoint, person, newest) VALUES (?, ?, 1)
ON CONFLICT (endpoint, person) DO UPDATE SET newest = fact_number.newest + 1
RETURNING newest`

	addFact = `INSERT INTO fact (endpoint, person, number, body, at) VALUES (?, ?, ?, ?, ?)`

	deleteFact        = `DELETE FROM fact WHERE endpoint = ? AND person = ? AND CAST(number AS TEXT) = ?`
	deleteFacts       = `DELETE FROM fact WHERE endpoint = ? AND person = ?`
	deleteFactNumbers = `DELETE FROM fact_number WHERE endpoint = ? AND person = ?`
)

// This group contains queries about admitted people and pairing requests.
const (
	listPairingRequests = `SELECT endpoint, person, name, code, at FROM knocking ORDER BY at, endpoint, person`

	savePairingRequest = `
INSERT INTO knocking (endpoint, person, name, code, at) SELECT ?1, ?2, ?3, ?4, ?5
WHERE (SELECT COUNT(*) FROM knocking WHERE endpoint = ?1 AND person <> ?2 AND at > ?6) < ?7
ON CONFLICT (endpoint, person) DO UPDATE SET name = excluded.name, code = excluded.code, at = excluded.at`

	deletePairingRequest = `DELETE FROM knocking WHERE endpoint = ? AND person = ?`

	listAdmitted = `SELECT endpoint, person, name, approved_by, at FROM admitted ORDER BY at, endpoint, person`

	saveAdmission = `
INSERT INTO admitted (endpoint, person, name, approved_by, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (endpoint, person) DO UPDATE SET name = excluded.name, approved_by = excluded.approved_by,
    at = excluded.at`

	deleteAdmission = `DELETE FROM admitted WHERE endpoint = ? AND person = ?`
)

// This group contains queries about rate-limit blocks.
const (
	saveBlock = `
INSERT INTO block (endpoint, scope, ops, chat, thread, message, until) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (endpoint, scope, ops, chat, thread, message) DO UPDATE SET until = excluded.until
WHERE excluded.until > block.until`

	copyBlocks = `
INSERT INTO block (endpoint, scope, ops, chat, thread, message, until)
SELECT endpoint, scope, ops, ?, thread, message, until FROM block WHERE endpoint = ? AND chat = ?
ON CONFLICT (endpoint, scope, ops, chat, thread, message) DO UPDATE SET until = excluded.until
WHERE excluded.until > block.until`
	deleteBlocks = `DELETE FROM block WHERE endpoint = ? AND chat = ?`

	listBlocks = `
SELECT scope, ops, chat, thread, message, until FROM block WHERE endpoint = ? AND until > ?
ORDER BY scope, ops, chat, thread, message`
)

// This group contains the queries of a sweep. A query whose name begins with list returns expired rows, at most as many
// as its last argument says. After each such query comes the query that deletes one of these rows, if the row is still
// expired.
const (
	listOverInbox = `SELECT id FROM inbox WHERE state = 'done' AND done_at < ? LIMIT ?`
	sweepInbox    = `DELETE FROM inbox WHERE state = 'done' AND done_at < ? AND id = ?`

	listOverTurns = `SELECT id FROM turn WHERE ended_at > 0 AND ended_at < ? LIMIT ?`
	sweepTurns    = `DELETE FROM turn WHERE ended_at > 0 AND ended_at < ? AND id = ?`

	listOverUsage = `SELECT id FROM usage WHERE at < ? LIMIT ?`
	sweepUsage    = `DELETE FROM usage WHERE at < ? AND id = ?`

	listOverEntries = `SELECT id FROM entry WHERE at < ? LIMIT ?`
	sweepEntries    = `DELETE FROM entry WHERE at < ? AND id = ?`

	listOverSummaries = `SELECT conversation FROM session WHERE folded > 0 AND at < ? LIMIT ?`
	sweepSummaries    = `
UPDATE session SET summary = '', folded = 0, folds = 0, at = 0 WHERE folded > 0 AND at < ? AND conversation = ?`

	// If a session has no summary, the time in its row is 0. So listOverSessions returns all sessions that have neither a
	// summary nor a chosen model.
	listOverSessions = `SELECT conversation FROM session WHERE model = '' AND folded = 0 AND at < ? LIMIT ?`
	sweepSessions    = `DELETE FROM session WHERE model = '' AND folded = 0 AND at < ? AND conversation = ?`

	emptyConversation = `
  AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.conversation = conversation.id)
  AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.conversation = conversation.id)
  AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.conversation = conversation.id)
  AND NOT EXISTS (SELECT 1 FROM session WHERE session.conversation = conversation.id)
  AND NOT EXISTS (SELECT 1 FROM usage WHERE usage.conversation = conversation.id)
  AND NOT EXISTS (SELECT 1 FROM consent WHERE consent.conversation = conversation.id)`
	listOverConversations = `SELECT id FROM conversation WHERE id < ?` + emptyConversation + ` LIMIT ?`
	sweepConversations    = `DELETE FROM conversation WHERE id < ? AND id = ?` + emptyConversation

	sweepBlocks = `DELETE FROM block WHERE until <= ?`
)

// This group contains queries that count rows for the command `telex store check`.
const (
	countConversations = `SELECT COUNT(*) FROM conversation`
	countEntries       = `SELECT COUNT(*) FROM entry`
	countKeys          = `SELECT COUNT(*) FROM inbox`
	countPending       = `SELECT COUNT(*) FROM inbox WHERE state <> 'done'`
	listBodies         = `SELECT id, body FROM inbox WHERE state <> 'done' ORDER BY id`
	countUnfinished    = `SELECT COUNT(*) FROM turn WHERE state IN ('running', 'decided')`
)
