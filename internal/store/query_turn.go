package store

// This file contains the queries about received messages, and about the turns that answer them.

// This group contains queries about received messages.
const (
	acceptMessage = `
INSERT INTO inbox (endpoint, origin, thread, message, conversation, state, body, attempts, accepted_at, done_at)
VALUES (?, ?, ?, ?, ?, 'pending', ?, 0, ?, 0)
ON CONFLICT (endpoint, origin, thread, message) DO NOTHING`

	saveResume = `
INSERT INTO endpoint (name, resume) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET resume = excluded.resume`

	findResume = `SELECT resume FROM endpoint WHERE name = ?`

	listPlaces = `
SELECT t.to_chat, t.to_thread, t.to_kind FROM turn t JOIN conversation c ON c.id = t.conversation
WHERE c.endpoint = ? GROUP BY t.to_chat, t.to_thread, t.to_kind
ORDER BY MAX(t.begun_at) DESC LIMIT ?`

	listSent = `
SELECT p.ref_chat, p.ref_thread, p.ref_kind, p.ref_id
FROM part p JOIN turn t ON t.id = p.turn JOIN conversation c ON c.id = t.conversation
WHERE c.endpoint = ? AND p.ref_id <> '' ORDER BY t.begun_at DESC, t.id, p.idx LIMIT ?`

	// findUnfinished returns the unfinished messages with the given id, first those that belong to no turn.
	findUnfinished = `
SELECT id, state, accepted_at FROM inbox
WHERE conversation = ? AND message = ? AND state <> 'done'
ORDER BY CASE state WHEN 'pending' THEN 0 ELSE 1 END, id`

	listPending = `
SELECT i.id, c.endpoint, c.chat, c.thread, i.origin, i.body, i.accepted_at, i.attempts
FROM inbox i JOIN conversation c ON c.id = i.conversation
WHERE i.state = 'pending' ORDER BY i.id`

	listTaken = `
SELECT i.id, c.endpoint, c.chat, c.thread, i.origin, i.body, i.accepted_at, i.attempts
FROM inbox i JOIN conversation c ON c.id = i.conversation
WHERE i.turn = ? AND i.state = 'running' ORDER BY i.id`

	takeMessage = `UPDATE inbox SET state = 'running', turn = ?, attempts = attempts + 1 WHERE id = ?`

	retakeMessages = `UPDATE inbox SET attempts = attempts + 1 WHERE turn = ? AND state = 'running'`

	// reviseMessage replaces a message by its edited version and returns the turn to which the message belongs.
	// reviseSteps deletes the turn's journal except for the usage. reviseParts deletes the source text of the turn's
	// parts, but keeps the parts.
	reviseMessage = `UPDATE inbox SET body = ? WHERE id = ? RETURNING turn`
	reviseSteps   = `DELETE FROM step WHERE turn = ? AND kind <> 'spent'`
	reviseParts   = `UPDATE part SET source = '', steps = 0 WHERE turn = ?`

	// finishMessage deletes the content of a message. finishMessage keeps the id of the message, so that the store
	// recognizes the message if it is delivered again.
	finishMessage  = `UPDATE inbox SET state = 'done', body = '', done_at = ? WHERE id = ?`
	finishMessages = `UPDATE inbox SET state = 'done', body = '', done_at = ? WHERE turn = ? AND state = 'running'`

	releaseMessages = `
UPDATE inbox SET state = 'pending', turn = '', attempts = attempts - 1 WHERE turn = ? AND state = 'running'`

	listWaitingBodies = `
SELECT i.id, i.body FROM inbox i JOIN conversation c ON c.id = i.conversation
WHERE c.endpoint = ? AND i.state = 'pending' ORDER BY i.id`
)

// This group contains queries about turns and the parts of their replies.
const (
	findTurn = `SELECT conversation, state, fenced, stale, person, replaces FROM turn WHERE id = ?`

	beginTurn = `
INSERT INTO turn (id, conversation, to_chat, to_thread, to_kind, reply_to,
    state, fenced, stale, runs, ending, person, replaces, accepted_at, begun_at, ended_at)
VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 1, ?, ?, ?, ?, ?, 0)`

	rerunTurn = `UPDATE turn SET runs = runs + 1 WHERE id = ?`

	// After fenceTurns, the store refuses the results of the turns that are running now, and their additions to the
	// history.
	fenceTurns = `UPDATE turn SET fenced = 1 WHERE conversation = ? AND state = 'running'`

	fencePersonTurns = `
UPDATE turn SET fenced = 1 WHERE conversation = ? AND person IN (?, '') AND state = 'running'`

	anonymizeTurns = `UPDATE turn SET person = '' WHERE conversation = ? AND person = ?`

	// outdateTurns marks the unfinished turns of a conversation as stale, because the history that these turns have
	// read has changed.
	outdateTurns = `UPDATE turn SET stale = 1 WHERE conversation = ? AND state IN ('running', 'decided')`

	// When two chats are merged, outdateChats marks their turns as stale, because a summary of one chat does not cover the
	// other.
	outdateChats = `
UPDATE turn SET stale = 1
WHERE state IN ('running', 'decided')
  AND conversation IN (SELECT id FROM conversation WHERE endpoint = ? AND chat IN (?, ?))`

	cutTurn = `UPDATE turn SET ending = ? WHERE id = ? AND state = 'decided'`

	decideTurn = `UPDATE turn SET state = 'decided', ending = ? WHERE id = ?`

	// endTurn and endParts delete the texts of a reply, but keep the ids of its sent messages.
	endTurn  = `UPDATE turn SET state = ?, ending = '', ended_at = ? WHERE id = ?`
	endParts = `UPDATE part SET source = '', body = '', plain = '', spans = '', tried = '' WHERE turn = ?`

	listTurns = `
SELECT t.id, c.endpoint, c.chat, c.thread, t.to_chat, t.to_thread, t.to_kind, t.reply_to,
    t.state, t.fenced, t.runs, t.ending, t.accepted_at, t.person, t.replaces
FROM turn t JOIN conversation c ON c.id = t.conversation
WHERE t.state IN ('running', 'decided') ORDER BY t.begun_at, t.id`

	savePart = `
INSERT INTO part (turn, idx, state, ref_chat, ref_thread, ref_kind, ref_id, source, body, spans, has_cursor, create_key,
    plain, is_file, cut, first_at, tries, tried, steps)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT COUNT(*) FROM step WHERE step.turn = ?))
ON CONFLICT (turn, idx) DO UPDATE SET state = excluded.state, ref_chat = excluded.ref_chat,
    ref_thread = excluded.ref_thread, ref_kind = excluded.ref_kind, ref_id = excluded.ref_id,
    source = excluded.source, body = excluded.body, spans = excluded.spans,
    has_cursor = excluded.has_cursor, create_key = excluded.create_key, plain = excluded.plain,
    is_file = excluded.is_file, cut = excluded.cut, first_at = excluded.first_at, tries = excluded.tries,
    tried = excluded.tried,
    steps = CASE WHEN part.source = excluded.source THEN part.steps ELSE excluded.steps END`

	listParts = `
SELECT idx, state, ref_chat, ref_thread, ref_kind, ref_id, source, body, spans, has_cursor, create_key,
    plain, is_file, cut, first_at, tries, tried, steps
FROM part WHERE turn = ? ORDER BY idx`

	addStep     = `INSERT INTO step (turn, kind, tool_call, body) VALUES (?, ?, ?, ?)`
	listSteps   = `SELECT kind, tool_call, body FROM step WHERE turn = ? ORDER BY id`
	deleteSteps = `DELETE FROM step WHERE turn = ?`
)
