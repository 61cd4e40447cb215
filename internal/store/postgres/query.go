package postgres

// The queries of the package postgres are in this file, in query_turn.go and in query_replica.go. The queries of Check
// and Copy are in check.go and copy.go.

// This group contains queries about the server, transactions and the schema.
const (
	serverVersion = `
SELECT current_setting('server_version_num')::int, current_setting('server_version'), pg_encoding_to_char(encoding)
FROM pg_database WHERE datname = current_database()`

	beginRead = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

	lockShared = `SELECT pg_advisory_xact_lock_shared($1, $2)`
	lockAlone  = `SELECT pg_advisory_xact_lock($1, $2)`

	saveToken = `INSERT INTO operation (token, at) VALUES ($1, now())`

	// trySchema prevents migrations from starting until the transaction ends. trySchema returns false if a process is
	// migrating now.
	trySchema = `SELECT pg_try_advisory_xact_lock_shared($1, $2)`

	// lockMigration makes processes migrate the schema one after the other. findHolder returns the process that holds
	// the lock that tryOwner tries to take. A process that knows only schema 1 holds this lock.
	lockMigration = `SELECT pg_advisory_lock($1, $2)`
	tryOwner      = `SELECT pg_try_advisory_lock($1, $2)`
	findHolder    = `
SELECT a.application_name, COALESCE(host(a.client_addr), 'this machine'), a.backend_start
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $1::bigint::oid AND l.objid = $2::bigint::oid AND l.objsubid = 2
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`

	findOldest = `SELECT oldest FROM compatibility`
	// listOlder lists the live replicas that know only schemas older than $1.
	listOlder = `SELECT name, version FROM replica WHERE knows < $1 AND expires > clock_timestamp() ORDER BY id`
)

// Queries about conversations. A query that ends in a FOR clause locks the conversation's row until the transaction
// ends.
const (
	currentChat = `COALESCE((SELECT new_chat FROM moved WHERE endpoint = $1 AND old_chat = $2), $2)`

	findConversation = `SELECT id FROM conversation WHERE endpoint = $1 AND chat = ` + currentChat + ` AND thread = $3`
	// holdConversation prevents other transactions from changing the conversation. keepConversation prevents other
	// transactions only from deleting the conversation.
	holdConversation = findConversation + ` FOR NO KEY UPDATE`
	keepConversation = findConversation + ` FOR KEY SHARE`
	makeConversation = `
INSERT INTO conversation (endpoint, chat, thread) VALUES ($1, ` + currentChat + `, $3)
ON CONFLICT (endpoint, chat, thread) DO NOTHING`

	holdConversationOfTurn = `
SELECT id FROM conversation WHERE id = (SELECT conversation FROM turn WHERE id = $1) FOR NO KEY UPDATE`
	holdConversations = `
SELECT count(*) FROM (SELECT id FROM conversation WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE) AS held`

	findMove = `SELECT ` + currentChat

	threadsOf = `SELECT id, thread FROM conversation WHERE endpoint = $1 AND chat = $2 ORDER BY id`

	renameConversation = `UPDATE conversation SET chat = $1 WHERE id = $2`
	deleteConversation = `DELETE FROM conversation WHERE id = $1`

	// conversationsOf lists the conversations that contain, or may contain, data of a person.
	conversationsOf = `
SELECT c.id FROM conversation c
WHERE c.endpoint = $1 AND (c.chat = $2
    OR EXISTS (SELECT FROM entry WHERE entry.conversation = c.id AND entry.person = $2)
    OR EXISTS (SELECT FROM turn WHERE turn.conversation = c.id AND turn.person = $2)
    OR EXISTS (SELECT FROM usage WHERE usage.conversation = c.id AND usage.person = $2)
    OR EXISTS (SELECT FROM consent WHERE consent.conversation = c.id AND consent.person = $2))
ORDER BY c.id`

	// isOwn reports whether only one person used a conversation. If the id of a chat is a person's user id, only this
	// person used the chat. Only one person used a chat, too, if nobody else asked anything in it, unless the chat is
	// known to be a group.
	isOwn = `
SELECT c.chat = $2 OR NOT EXISTS (
    SELECT FROM turn WHERE turn.conversation = c.id AND (turn.to_kind <> 0 OR turn.person NOT IN ($2, ''))
    UNION ALL SELECT FROM entry WHERE entry.conversation = c.id AND entry.person NOT IN ($2, '')
    UNION ALL SELECT FROM usage WHERE usage.conversation = c.id AND usage.person NOT IN ($2, '')
    UNION ALL SELECT FROM consent WHERE consent.conversation = c.id AND consent.person <> $2)
FROM conversation c WHERE c.id = $1`
)

// This group contains queries about the new ids of chats that moved.
const (
	saveMove = `
INSERT INTO moved (endpoint, old_chat, new_chat) VALUES ($1, $2, $3)
ON CONFLICT (endpoint, old_chat) DO UPDATE SET new_chat = excluded.new_chat`

	// When a chat moves again, shortenMoves updates its earlier moves, so that each of its old ids leads directly to
	// the newest id.
	shortenMoves = `UPDATE moved SET new_chat = $3 WHERE endpoint = $1 AND new_chat = $2`

	listMoves = `SELECT endpoint, old_chat, new_chat FROM moved ORDER BY endpoint, old_chat`
	findChat  = `SELECT EXISTS (SELECT FROM conversation WHERE endpoint = $1 AND chat = ` + currentChat + `)`

	// forgetMove deletes a move when the platform gives the chat its earlier id back.
	forgetMove = `DELETE FROM moved WHERE endpoint = $1 AND old_chat = $2`

	moveInbox   = `UPDATE inbox SET conversation = $1 WHERE conversation = $2`
	moveEntries = `UPDATE entry SET conversation = $1 WHERE conversation = $2`
	moveTurns   = `UPDATE turn SET conversation = $1 WHERE conversation = $2`
	moveUsage   = `UPDATE usage SET conversation = $1 WHERE conversation = $2`

	// moveConsents copies the permanent approvals of a conversation to another one, except those that the other
	// conversation already has. deleteConsents then deletes the old rows.
	moveConsents = `
INSERT INTO consent (conversation, person, tool) SELECT $1, person, tool FROM consent WHERE conversation = $2
ON CONFLICT (conversation, person, tool) DO NOTHING`

	// retargetTurns changes unfinished turns so that they answer in the new chat. retargetTurns also removes the id of the
	// asker's message, because in the new chat this id may belong to another message.
	retargetTurns = `
UPDATE turn SET to_chat = $1, reply_to = '' WHERE conversation = $2 AND to_chat = $3 AND ended_at IS NULL`
)

// Queries about sessions.
const (
	findSession = `
SELECT model, summary, summary_upto, compactions, COALESCE(summary_at, '0001-01-01Z') FROM session WHERE conversation = $1`

	saveSession = `
INSERT INTO session (conversation, model, summary, summary_upto, compactions, summary_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (conversation) DO UPDATE SET model = excluded.model, summary = excluded.summary,
    summary_upto = excluded.summary_upto, compactions = excluded.compactions, summary_at = excluded.summary_at`

	saveModel = `
INSERT INTO session (conversation, model) VALUES ($1, $2) ON CONFLICT (conversation) DO UPDATE SET model = excluded.model`

	// saveCompaction replaces the summary, unless the new summary covers fewer entries.
	saveCompaction = `
INSERT INTO session (conversation, summary, summary_upto, compactions, summary_at) VALUES ($1, $2, $3, 1, $4)
ON CONFLICT (conversation) DO UPDATE SET summary = excluded.summary, summary_upto = excluded.summary_upto,
    compactions = session.compactions + 1, summary_at = excluded.summary_at
WHERE excluded.summary_upto >= session.summary_upto`

	dropSummary = `
UPDATE session SET summary = '', summary_upto = 0, compactions = 0, summary_at = NULL WHERE conversation = $1`
	deleteSession = `DELETE FROM session WHERE conversation = $1`

	listEntries = `SELECT id, turn, person, at, body FROM entry WHERE conversation = $1 AND id > $2 ORDER BY id`
	addEntry    = `INSERT INTO entry (conversation, turn, person, at, body) VALUES ($1, $2, $3, $4, $5)`
	newestEntry = `SELECT COALESCE(max(id), 0) FROM entry WHERE conversation IN ($1, $2)`
	findEntry   = `SELECT EXISTS (SELECT FROM entry WHERE id = $1 AND conversation = $2)`

	// undoTurn deletes the entries of the turn that added the newest entry. If the summary covers the history's newest
	// entry, undoTurn deletes nothing.
	undoTurn = `
DELETE FROM entry WHERE conversation = $1 AND id > $2
    AND turn = (SELECT turn FROM entry WHERE conversation = $1 AND id > $2 ORDER BY id DESC LIMIT 1)
RETURNING id, turn, person, at, body`

	// repeatEntries copies the entries that no summary covers, in their order, so that they get new ids. deleteRepeated
	// deletes the rows with the old ids.
	repeatEntries = `
INSERT INTO entry (conversation, turn, person, at, body)
SELECT $1, turn, person, at, body FROM entry
WHERE (conversation = $1 AND id > $2) OR (conversation = $3 AND id > $4) ORDER BY id`
	deleteRepeated = `
DELETE FROM entry WHERE ((conversation = $1 AND id > $2) OR (conversation = $3 AND id > $4)) AND id <= $5`

	deleteEntries       = `DELETE FROM entry WHERE conversation = $1`
	deleteTurnEntries   = `DELETE FROM entry WHERE conversation = $1 AND turn = $2`
	deletePersonEntries = `DELETE FROM entry WHERE conversation = $1 AND person IN ($2, '')`

	listSessions = `
SELECT c.endpoint, c.chat, c.thread, COALESCE(e.entries, 0), COALESCE(e.newest, '0001-01-01Z'),
    COALESCE(s.summary_upto, 0) > 0, COALESCE(s.model, ''),
    COALESCE((SELECT sum(prompt + completion) FROM usage WHERE usage.conversation = c.id), 0)::bigint
FROM conversation c
LEFT JOIN (SELECT conversation, count(*) AS entries, max(at) AS newest FROM entry GROUP BY conversation) e ON e.conversation = c.id
LEFT JOIN session s ON s.conversation = c.id
WHERE e.entries > 0 OR s.summary_upto > 0 OR s.model <> ''
ORDER BY e.newest DESC NULLS LAST, c.id DESC`
)

// This group contains queries about the token usage of turns.
const (
	addUsage = `
INSERT INTO usage (conversation, endpoint, person, turn, model, at, prompt, cached, completion, reasoning, calls, estimated)
SELECT id, endpoint, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM conversation WHERE id = $1`

	// usageOf selects usage by conversation, endpoint, person and time. If a parameter of usageOf is 0, empty or NULL,
	// usageOf selects usage with any value.
	usageOf = `
FROM usage WHERE ($1::bigint = 0 OR conversation = $1) AND ($2::text = '' OR endpoint = $2) AND ($3::text = '' OR person = $3)
    AND ($4::timestamptz IS NULL OR at >= $4) AND ($5::timestamptz IS NULL OR at < $5)`
	sumUsage = `
SELECT COALESCE(sum(prompt), 0)::bigint, COALESCE(sum(cached), 0)::bigint, COALESCE(sum(completion), 0)::bigint,
    COALESCE(sum(reasoning), 0)::bigint, COALESCE(sum(calls), 0)::bigint, COALESCE(bool_or(estimated), false), count(DISTINCT turn)` + usageOf
	lastUsage = `SELECT model ` + usageOf + ` ORDER BY id DESC LIMIT 1`

	endpointOf = `SELECT endpoint FROM conversation WHERE id = $1`

	// listUsage returns the rows of each turn next to each other.
	listUsage = `
SELECT u.turn, u.at, u.person, c.endpoint, c.chat, c.thread, u.model,
    u.prompt, u.cached, u.completion, u.reasoning, u.calls, u.estimated
FROM usage u JOIN conversation c ON c.id = u.conversation
WHERE ($1::timestamptz IS NULL OR u.at >= $1) AND ($2::timestamptz IS NULL OR u.at < $2) ORDER BY u.turn, u.id`

	anonymizeUsage = `UPDATE usage SET person = '' WHERE conversation = $1 AND person = $2`
)

// This group contains queries about responses of the API server.
const (
	saveResponse = `
INSERT INTO response (id, endpoint, person, previous, body, messages, at) VALUES ($1, $2, $3, $4, $5, $6, $7)`

	listChain = `
WITH RECURSIVE chain AS (
    SELECT id, previous, body, messages, at, 1 AS depth FROM response WHERE id = $1 AND endpoint = $2 AND person = $3
    UNION ALL
    SELECT r.id, r.previous, r.body, r.messages, r.at, chain.depth + 1 FROM response r JOIN chain ON r.id = chain.previous
    WHERE r.endpoint = $2 AND r.person = $3 AND chain.depth < $4
)
SELECT id, previous, body, messages, at FROM chain ORDER BY depth DESC`

	deleteResponse  = `DELETE FROM response WHERE id = $1 AND endpoint = $2 AND person = $3`
	deleteResponses = `DELETE FROM response WHERE endpoint = $1 AND person = $2`
)

// This group contains queries about permanent approvals of tools, and about facts that people asked the bot to
// remember.
const (
	saveConsent = `
INSERT INTO consent (conversation, person, tool) VALUES ($1, $2, $3) ON CONFLICT (conversation, person, tool) DO NOTHING`
	findConsent = `
SELECT EXISTS (SELECT FROM consent WHERE conversation = (` + findConversation + `) AND person = $4 AND tool = $5)`
	deleteConsents       = `DELETE FROM consent WHERE conversation = $1`
	deletePersonConsents = `DELETE FROM consent WHERE conversation = $1 AND person = $2`

	listFacts = `SELECT number::text, body, at FROM fact WHERE endpoint = $1 AND person = $2 ORDER BY fact.number`

	// holdFacts locks the row that contains the person's last fact number. If this row is missing, holdFacts creates it,
	// because addFact needs it.
	holdFacts = `
INSERT INTO fact_number (endpoint, person, newest) VALUES ($1, $2, 0)
ON CONFLICT (endpoint, person) DO UPDATE SET newest = fact_number.newest`

	addFact = `
WITH taken AS (UPDATE fact_number SET newest = newest + 1 WHERE endpoint = $1 AND person = $2 RETURNING newest)
INSERT INTO fact (endpoint, person, number, body, at) SELECT $1, $2, newest, $3, $4 FROM taken RETURNING number::text`

	deleteFact        = `DELETE FROM fact WHERE endpoint = $1 AND person = $2 AND number::text = $3`
	deleteFacts       = `DELETE FROM fact WHERE endpoint = $1 AND person = $2`
	deleteFactNumbers = `DELETE FROM fact_number WHERE endpoint = $1 AND person = $2`
)

// This group contains queries about admitted people and pairing requests.
const (
	listPairingRequests = `SELECT endpoint, person, name, code, at FROM pairing_request ORDER BY at, endpoint, person`
	savePairingRequest  = `
INSERT INTO pairing_request (endpoint, person, name, code, at) SELECT $1, $2, $3, $4, $5
WHERE (SELECT count(*) FROM pairing_request WHERE endpoint = $1 AND person <> $2 AND at > $6) < $7
ON CONFLICT (endpoint, person) DO UPDATE SET name = excluded.name, code = excluded.code, at = excluded.at`
	deletePace           = `DELETE FROM pace WHERE endpoint = $1 AND person = $2`
	deletePairingRequest = `DELETE FROM pairing_request WHERE endpoint = $1 AND person = $2`

	listAdmitted  = `SELECT endpoint, person, name, approved_by, at FROM admission ORDER BY at, endpoint, person`
	saveAdmission = `
INSERT INTO admission (endpoint, person, name, approved_by, at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (endpoint, person) DO UPDATE SET name = excluded.name, approved_by = excluded.approved_by, at = excluded.at`
	deleteAdmission = `DELETE FROM admission WHERE endpoint = $1 AND person = $2`
)

// This group contains queries about rate-limit blocks.
const (
	saveBlock = `
INSERT INTO block (endpoint, scope, ops, chat, thread, message, until) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (endpoint, scope, ops, chat, thread, message) DO UPDATE SET until = excluded.until
WHERE excluded.until > block.until`

	copyBlocks = `
INSERT INTO block (endpoint, scope, ops, chat, thread, message, until)
SELECT endpoint, scope, ops, $3, thread, message, until FROM block WHERE endpoint = $1 AND chat = $2
ON CONFLICT (endpoint, scope, ops, chat, thread, message) DO UPDATE SET until = excluded.until
WHERE excluded.until > block.until`
	deleteBlocks = `DELETE FROM block WHERE endpoint = $1 AND chat = $2`

	listBlocks = `
SELECT scope, ops, chat, thread, message, until FROM block WHERE endpoint = $1 AND until > $2
ORDER BY scope, ops, chat, thread, message`
)

// Each query of a sweep deletes at most $2 rows. A query of a sweep skips rows that are locked; the next sweep deletes
// these rows.
const (
	sweepInbox = `
DELETE FROM inbox WHERE id IN (SELECT id FROM inbox WHERE done_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
	sweepTurns = `
DELETE FROM turn WHERE id IN (SELECT id FROM turn WHERE ended_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
	sweepUsage = `
DELETE FROM usage WHERE id IN (SELECT id FROM usage WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
	sweepBlocks = `
DELETE FROM block WHERE ctid IN (SELECT ctid FROM block WHERE until <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
	sweepPaces = `
DELETE FROM pace WHERE ctid IN (SELECT ctid FROM pace WHERE began[cardinality(began)] < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
	sweepResponses = `
DELETE FROM response WHERE id IN (SELECT id FROM response WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
	sweepEntries = `
DELETE FROM entry WHERE id IN (SELECT id FROM entry WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
	sweepSummaries = `
UPDATE session SET summary = '', summary_upto = 0, compactions = 0, summary_at = NULL
WHERE conversation IN (SELECT conversation FROM session WHERE summary_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`

	sweepTokens = `
DELETE FROM operation WHERE token IN (SELECT token FROM operation WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`

	// sweepSessions and sweepConversations delete rows without content, regardless of their age.
	sweepSessions = `
DELETE FROM session WHERE conversation IN (
    SELECT conversation FROM session WHERE model = '' AND summary_upto = 0 AND $1::timestamptz IS NOT NULL LIMIT $2 FOR UPDATE SKIP LOCKED)`
	sweepConversations = `
DELETE FROM conversation WHERE id IN (
    SELECT id FROM conversation c WHERE $1::timestamptz IS NOT NULL
      AND NOT EXISTS (SELECT FROM inbox WHERE inbox.conversation = c.id)
      AND NOT EXISTS (SELECT FROM entry WHERE entry.conversation = c.id)
      AND NOT EXISTS (SELECT FROM turn WHERE turn.conversation = c.id)
      AND NOT EXISTS (SELECT FROM session WHERE session.conversation = c.id)
      AND NOT EXISTS (SELECT FROM usage WHERE usage.conversation = c.id)
      AND NOT EXISTS (SELECT FROM consent WHERE consent.conversation = c.id)
      AND NOT EXISTS (SELECT FROM forwarded WHERE forwarded.conversation = c.id)
    LIMIT $2 FOR UPDATE SKIP LOCKED)`
)
