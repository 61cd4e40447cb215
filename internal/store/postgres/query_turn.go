package postgres

// These are the queries about received messages, and about the turns that answer them.

// This group contains queries about received messages.
const (
	acceptMessage = `
INSERT INTO inbox (endpoint, origin, thread, message, conversation, person, body, accepted_at, given)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0)
ON CONFLICT (endpoint, origin, thread, message) DO NOTHING`

	// saveResume stores an endpoint's resume cursor. If the replica $3 is no longer the receiver of the endpoint,
	// saveResume changes nothing.
	saveResume = `
INSERT INTO endpoint (name, resume) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET resume = excluded.resume
WHERE $3::bigint = 0 OR endpoint.receiver IS NULL OR endpoint.receiver = $3
    OR NOT EXISTS (SELECT FROM replica WHERE id = endpoint.receiver AND expires > clock_timestamp())`
	findResume = `SELECT resume FROM endpoint WHERE name = $1`

	// listPlaces returns the places in which the bot answered in the newest turns. To find these places, listPlaces reads
	// only the $3 newest turns.
	listPlaces = `
SELECT to_chat, to_thread, to_kind FROM (
    SELECT t.to_chat, t.to_thread, t.to_kind, t.begun_at FROM turn t JOIN conversation c ON c.id = t.conversation
    WHERE c.endpoint = $1 ORDER BY t.begun_at DESC, t.id LIMIT $3) AS newest
GROUP BY to_chat, to_thread, to_kind ORDER BY max(begun_at) DESC LIMIT $2`

	listSent = `
SELECT p.ref_chat, p.ref_thread, p.ref_kind, p.ref_id
FROM part p JOIN turn t ON t.id = p.turn JOIN conversation c ON c.id = t.conversation
WHERE c.endpoint = $1 AND p.ref_id <> '' ORDER BY t.begun_at DESC, t.id, p.idx LIMIT $2`

	listReceived = `
SELECT c.chat, c.thread, i.message
FROM inbox i JOIN conversation c ON c.id = i.conversation WHERE c.endpoint = $1 ORDER BY i.id DESC LIMIT $2`

	// findUnfinished returns the unfinished messages with the given id, first those that belong to no turn.
	findUnfinished = `
SELECT id, turn IS NULL, accepted_at FROM inbox
WHERE conversation = $1 AND message = $2 AND done_at IS NULL ORDER BY turn IS NOT NULL, id`

	messages = `
SELECT COALESCE(i.turn, ''), i.id, c.endpoint, c.chat, c.thread, i.origin, i.body, i.accepted_at, i.attempts
FROM inbox i JOIN conversation c ON c.id = i.conversation`
	listWaiting = messages + ` WHERE i.given IS NOT NULL ORDER BY i.id`
	listTaken   = messages + ` WHERE i.done_at IS NULL AND i.turn = ANY ($1) ORDER BY i.id`

	takeMessages   = `UPDATE inbox SET turn = $1, attempts = attempts + 1, given = NULL WHERE id = ANY ($2)`
	retakeMessages = `UPDATE inbox SET attempts = attempts + 1 WHERE turn = $1 AND done_at IS NULL`

	// joinMessages adds messages to a turn, unless they no longer wait. If a chat got a new id, two waiting messages can
	// have the same id; joinMessages then adds only the older message.
	joinMessages = `
UPDATE inbox SET turn = $1, attempts = attempts + 1, given = NULL
WHERE id IN (SELECT min(id) FROM inbox WHERE conversation = $2 AND message = ANY ($3) AND done_at IS NULL AND turn IS NULL GROUP BY message)`

	// reviseMessage replaces a message by its edited version and returns the turn to which the message belongs.
	// reviseSteps deletes the turn's journal except for the usage. reviseParts deletes the source text of the turn's
	// parts, but keeps the parts.
	reviseMessage = `UPDATE inbox SET body = $2 WHERE id = $1 RETURNING COALESCE(turn, '')`
	reviseSteps   = `DELETE FROM step WHERE turn = $1 AND kind <> 'spent'`
	reviseParts   = `UPDATE part SET source = '', steps = 0 WHERE turn = $1`

	// dropMessages deletes the content of messages. dropMessages keeps the ids of the messages, so that the store
	// recognizes a message that is delivered again.
	dropMessages = `
UPDATE inbox SET done_at = $1, body = NULL, person = '', given = NULL
WHERE id IN (SELECT min(id) FROM inbox WHERE conversation = $2 AND message = ANY ($3) AND done_at IS NULL AND turn IS NULL GROUP BY message)`
	finishMessages = `UPDATE inbox SET done_at = $1, body = NULL, person = '', given = NULL WHERE turn = $2 AND done_at IS NULL`
	dropWaitingOf  = `
UPDATE inbox i SET done_at = $1, body = NULL, person = '', given = NULL FROM conversation c
WHERE c.id = i.conversation AND c.endpoint = $2 AND i.person = $3 AND i.given IS NOT NULL`

	// releaseMessages makes the messages of a released turn wait again. The column "given" of the messages contains the
	// replica that releases the turn, so Take does not return the messages to it again.
	releaseMessages = `
UPDATE inbox SET turn = NULL, attempts = attempts - 1, given = $2, given_call = 0 WHERE turn = $1 AND done_at IS NULL`
)

// This group contains queries about turns and the parts of their replies.
const (
	findTurn = `SELECT conversation, state, fenced, stale, person, replaces FROM turn WHERE id = $1`

	beginTurn = `
INSERT INTO turn (id, conversation, to_chat, to_thread, to_kind, reply_to, state, ending, person, replaces, accepted_at, begun_at, given)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
	rerunTurn  = `UPDATE turn SET runs = runs + 1 WHERE id = $1`
	decideTurn = `UPDATE turn SET state = 'decided', ending = $2 WHERE id = $1`
	cutTurn    = `UPDATE turn SET ending = $2 WHERE id = $1 AND state = 'decided'`

	// After fenceTurns, the store refuses the results of the turns that are running now, and their additions to the
	// history.
	fenceTurns       = `UPDATE turn SET fenced = true WHERE conversation = $1 AND state = 'running'`
	fencePersonTurns = `
UPDATE turn SET fenced = true WHERE conversation = $1 AND person IN ($2, '') AND state = 'running'`
	anonymizeTurns = `UPDATE turn SET person = '' WHERE conversation = $1 AND person = $2`

	// outdateTurns marks the unfinished turns of a conversation as stale, because the history that these turns have
	// read has changed.
	outdateTurns = `UPDATE turn SET stale = true WHERE conversation = $1 AND ended_at IS NULL`
	// When two chats are merged, outdateChats marks their turns as stale, because a summary of one chat does not cover the
	// other.
	outdateChats = `
UPDATE turn SET stale = true FROM conversation c
WHERE c.id = turn.conversation AND c.endpoint = $1 AND c.chat IN ($2, $3) AND turn.ended_at IS NULL`

	// endTurn and endParts delete the texts of a reply, but keep the ids of its sent messages.
	endTurn  = `UPDATE turn SET state = $2, ending = NULL, ended_at = $3, given = NULL WHERE id = $1`
	endParts = `UPDATE part SET source = '', content = '{}' WHERE turn = $1`

	turns = `
SELECT t.id, c.endpoint, c.chat, c.thread, t.to_chat, t.to_thread, t.to_kind, t.reply_to,
    t.state, t.fenced, t.runs, t.ending, t.accepted_at, t.person, t.replaces
FROM turn t JOIN conversation c ON c.id = t.conversation`
	listUnfinished = turns + ` WHERE t.given IS NOT NULL ORDER BY t.begun_at, t.id`
	listTurns      = turns + ` WHERE t.id = ANY ($1) ORDER BY t.begun_at, t.id`

	savePart = `
INSERT INTO part (turn, idx, state, ref_chat, ref_thread, ref_kind, ref_id, source, content, steps)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, (SELECT count(*) FROM step WHERE step.turn = $1))
ON CONFLICT (turn, idx) DO UPDATE SET state = excluded.state, ref_chat = excluded.ref_chat, ref_thread = excluded.ref_thread,
    ref_kind = excluded.ref_kind, ref_id = excluded.ref_id, source = excluded.source, content = excluded.content,
    steps = CASE WHEN part.source = excluded.source THEN part.steps ELSE excluded.steps END`
	listParts = `
SELECT turn, idx, state, ref_chat, ref_thread, ref_kind, ref_id, source, content, steps
FROM part WHERE turn = ANY ($1) ORDER BY turn, idx`

	addStep     = `INSERT INTO step (turn, kind, tool_call, body) VALUES ($1, $2, $3, $4)`
	listSteps   = `SELECT turn, kind, tool_call, body FROM step WHERE turn = ANY ($1) ORDER BY turn, id`
	deleteSteps = `DELETE FROM step WHERE turn = $1`
)
