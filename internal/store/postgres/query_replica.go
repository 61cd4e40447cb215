package postgres

// These are the queries about replicas. A replica is alive until the time in the column "expires". In most of the
// queries about replicas, $1 is an endpoint, and $2 is any id of a chat, the newest or an older one.

// notify sends a signal on a channel. All replicas listen to a common channel, and each replica also listens to a
// channel of its own.
const notify = `SELECT pg_notify($1, $2)`

// This group contains queries about the registration of replicas and about their leases.
const (
	addReplica = `
INSERT INTO replica (name, version, knows, endpoints, began, renewed, expires)
SELECT $1, $2, $3, $4, c.now, c.now, c.now + $5::interval FROM clock_timestamp() AS c (now) RETURNING id, began`
	renewReplica = `
UPDATE replica SET expires = clock_timestamp() + $2::interval, renewed = clock_timestamp(), endpoints = $3, leaving = $4
WHERE id = $1 AND expires > clock_timestamp() RETURNING renewed`
	endReplica = `UPDATE replica SET expires = clock_timestamp() WHERE id = $1 AND expires > clock_timestamp()`

	listLiving = `
SELECT r.id, r.name, r.version, r.endpoints, ARRAY(SELECT e.name FROM endpoint e WHERE e.receiver = r.id ORDER BY e.name),
    r.leaving, r.began, r.renewed, (SELECT count(*) FROM chat WHERE chat.owner = r.id AND NOT chat.free)
FROM replica r WHERE r.expires > clock_timestamp() ORDER BY r.id`
	listMembers = `SELECT id, expires > clock_timestamp(), leaving, endpoints FROM replica ORDER BY id`
	findLease   = `SELECT leaving FROM replica WHERE id = $1 AND expires > clock_timestamp()`

	// listGone lists replicas that died so long ago that no platform limit still counts their calls. The queries whose
	// names begin with forget delete the replicas that listGone returns. The store then treats unfinished work that was
	// given to these replicas as if it had been given to no replica.
	listGone = `
SELECT id FROM replica r WHERE expires < clock_timestamp() - $1::interval AND NOT EXISTS (
    SELECT FROM claim c WHERE c.replica = r.id AND r.expires + make_interval(secs => c.period / 1e9) > clock_timestamp())`
	forgetOwner       = `DELETE FROM chat WHERE owner = ANY ($1)`
	forgetGivenTurns  = `UPDATE turn SET given = 0 WHERE given = ANY ($1)`
	forgetGivenInbox  = `UPDATE inbox SET given = 0 WHERE given = ANY ($1)`
	forgetGivenOthers = `UPDATE forwarded SET given = 0 WHERE given = ANY ($1)`
	forgetReceiver    = `UPDATE endpoint SET receiver = NULL WHERE receiver = ANY ($1)`
	forgetClaims      = `DELETE FROM claim WHERE replica = ANY ($1)`
	forgetReplica     = `DELETE FROM replica WHERE id = ANY ($1)`
)

// These queries are the fences. Each fence returns whether this replica may write. If a fence is about a chat, it also
// prevents other transactions from changing the chat's owner until the transaction ends.
const (
	leaseHolds = `EXISTS (SELECT FROM replica WHERE id = $1 AND expires > clock_timestamp())`
	isMine     = `h.owner IS NULL OR h.owner = $1 AND NOT h.free`

	// fenceLease checks the lease for writes that concern no conversation.
	fenceLease = `SELECT ` + leaseHolds

	fenceChat = `
SELECT ` + leaseHolds + ` AND COALESCE((SELECT ` + isMine + ` FROM chat h WHERE h.endpoint = $2
    AND h.chat = COALESCE((SELECT new_chat FROM moved WHERE endpoint = $2 AND old_chat = $3), $3) FOR KEY SHARE), true)`
	fenceTurn = `
SELECT ` + leaseHolds + ` AND COALESCE((SELECT ` + isMine + ` FROM turn t JOIN conversation c ON c.id = t.conversation
    JOIN chat h ON h.endpoint = c.endpoint AND h.chat = c.chat WHERE t.id = $2 FOR KEY SHARE OF h), true)`

	// fenceAccept also returns false if another live replica is the receiver of the endpoint. saveResume ensures that
	// a former receiver does not overwrite the cursor.
	fenceAccept = `
SELECT ` + leaseHolds + ` AND NOT EXISTS (SELECT FROM endpoint e JOIN replica r ON r.id = e.receiver
    WHERE e.name = $2 AND r.id <> $1 AND r.expires > clock_timestamp())`
)

// This group contains queries about which replica receives the messages of an endpoint.
const (
	findReceiver = `
SELECT e.receiver FROM endpoint e JOIN replica r ON r.id = e.receiver WHERE e.name = $1 AND r.expires > clock_timestamp()`
	yieldReceiver = `UPDATE endpoint SET receiver = NULL WHERE name = $1 AND receiver = $2`
	takeReceiver  = `
INSERT INTO endpoint (name, resume, receiver) VALUES ($1, '', $2)
ON CONFLICT (name) DO UPDATE SET receiver = excluded.receiver
WHERE endpoint.receiver IS NULL OR endpoint.receiver = $2
    OR NOT EXISTS (SELECT FROM replica WHERE id = endpoint.receiver AND expires > clock_timestamp())`
)

// This group contains queries about the owners of chats. A transaction that changes the owner of a chat locks the
// chat's row FOR UPDATE. A transaction that requires the owner to stay the same locks the row FOR KEY SHARE.
const (
	chatIs = `h.endpoint = $1 AND h.chat = ` + currentChat

	findLiveOwner = `
SELECT h.owner FROM chat h JOIN replica r ON r.id = h.owner
WHERE ` + chatIs + ` AND NOT h.free AND r.expires > clock_timestamp() FOR KEY SHARE OF h`
	// findAnyOwner returns three values: the owner of a chat, dead or alive; whether the owner is alive; and whether a
	// live replica runs the endpoint.
	findAnyOwner = `
SELECT h.owner, NOT h.free AND EXISTS (SELECT FROM replica WHERE id = h.owner AND expires > clock_timestamp()),
    EXISTS (SELECT FROM replica WHERE h.endpoint = ANY (endpoints) AND expires > clock_timestamp())
FROM chat h WHERE ` + chatIs + ` AND h.owner IS NOT NULL FOR KEY SHARE OF h`

	// listOwned lists the chats that have a live owner.
	listOwned = `
SELECT r.id, r.name, h.endpoint, h.chat FROM chat h JOIN replica r ON r.id = h.owner
WHERE NOT h.free AND r.expires > clock_timestamp() ORDER BY 1, 3, 4`

	makeChat = `
INSERT INTO chat (endpoint, chat) VALUES ($1, ` + currentChat + `) ON CONFLICT (endpoint, chat) DO NOTHING`
	holdChat = `
SELECT h.chat, COALESCE(h.owner, 0), NOT h.free AND EXISTS (SELECT FROM replica WHERE id = h.owner AND expires > clock_timestamp())
FROM chat h WHERE ` + chatIs + ` FOR UPDATE OF h`
	setOwner = `
UPDATE chat h SET owner = $3, free = false, moved = h.owner IS NOT NULL, told = 0 WHERE ` + chatIs

	// holdOwned locks the rows of the listed chats that the replica owns, in a fixed order.
	holdOwned = `
SELECT h.endpoint, h.chat FROM chat h WHERE h.owner = $1 AND (h.endpoint, h.chat) IN (
    SELECT g.endpoint, COALESCE(m.new_chat, g.chat) FROM unnest($2::text[], $3::text[]) AS g (endpoint, chat)
    LEFT JOIN moved m ON m.endpoint = g.endpoint AND m.old_chat = g.chat)
ORDER BY 1, 2 FOR UPDATE OF h`
	freeChats  = `UPDATE chat SET free = true WHERE (endpoint, chat) IN (SELECT * FROM unnest($1::text[], $2::text[]))`
	leaveChats = `
DELETE FROM chat h WHERE (h.endpoint, h.chat) IN (SELECT * FROM unnest($1::text[], $2::text[])) AND (
    SELECT 1 FROM conversation c WHERE c.endpoint = h.endpoint AND c.chat = h.chat AND COALESCE(
        (SELECT 1 FROM inbox i WHERE i.conversation = c.id AND COALESCE(i.given, -1) >= 0 LIMIT 1),
        (SELECT 1 FROM turn t WHERE t.conversation = c.id AND COALESCE(t.given, -1) >= 0 LIMIT 1),
        (SELECT 1 FROM forwarded f WHERE f.conversation = c.id LIMIT 1)) IS NOT NULL LIMIT 1) IS NULL`

	// inheritChat makes the owner of a chat's old id the owner of its new id. If the chat's new id already has a live
	// owner, this owner stays. While inheritChat runs, no other transaction may write.
	inheritChat = `
WITH old AS (DELETE FROM chat WHERE endpoint = $1 AND chat = $2 RETURNING owner, free, moved, told)
INSERT INTO chat AS h (endpoint, chat, owner, free, moved, told) SELECT $1, $3, owner, free, moved, told FROM old
ON CONFLICT (endpoint, chat) DO UPDATE SET
    owner = CASE WHEN ` + targetLives + ` THEN h.owner ELSE excluded.owner END,
    free = NOT (` + targetLives + `) AND excluded.free,
    moved = CASE WHEN NOT (` + targetLives + `) THEN excluded.moved ELSE h.moved OR h.owner IS DISTINCT FROM excluded.owner END,
    told = CASE WHEN NOT (` + targetLives + `) THEN excluded.told WHEN h.owner IS DISTINCT FROM excluded.owner THEN 0 ELSE h.told END`
	targetLives = `NOT h.free AND EXISTS (SELECT FROM replica WHERE id = h.owner AND expires > clock_timestamp())`

	findOwner = `SELECT COALESCE((SELECT owner FROM chat WHERE endpoint = $1 AND chat = $2 AND NOT free), 0)`

	// These queries reset the column "given" of the unfinished work of the given chats to 0, unless the work was given to
	// the replica $3.
	resetTurns     = `UPDATE turn SET given = 0 ` + elsewhere
	resetInbox     = `UPDATE inbox SET given = 0 ` + elsewhere
	resetForwarded = `UPDATE forwarded SET given = 0 ` + elsewhere
	elsewhere      = `
WHERE COALESCE(given, 0) NOT IN (0, $3) AND conversation = ANY (ARRAY(
    SELECT c.id FROM conversation c JOIN unnest($1::text[], $2::text[]) AS g (endpoint, chat) ON c.endpoint = g.endpoint AND c.chat = g.chat))`
)

// This group contains queries with which Take finds unfinished work. Orphans are chats that have unfinished work but no
// live owner. In the queries for orphans, $1 contains 0 and the ids of the dead replicas, and $2 the endpoints of this
// replica. $3 is the maximum number of chats to take.
//
// When many messages arrive at once, the statistics of PostgreSQL's planner are out of date, and the planner may choose
// a slow index. So these queries, and the queries above that read a chat's work, are written in such a way that the
// planner can use only one index.
const (
	orphans = `
WITH work AS (
    SELECT conversation FROM turn WHERE given = ANY ($1) UNION SELECT conversation FROM inbox WHERE given = ANY ($1)
    UNION SELECT conversation FROM forwarded WHERE given = ANY ($1)),
place AS (SELECT DISTINCT c.endpoint, c.chat FROM work JOIN conversation c ON c.id = work.conversation WHERE c.endpoint = ANY ($2))`

	// makeOrphans creates the missing rows of orphans. If only processes that are not replicas have stored work in a chat,
	// the chat has no row.
	makeOrphans = orphans + `
INSERT INTO chat (endpoint, chat) SELECT endpoint, chat FROM place p
WHERE NOT EXISTS (SELECT FROM chat h WHERE h.endpoint = p.endpoint AND h.chat = p.chat) LIMIT $3
ON CONFLICT (endpoint, chat) DO NOTHING`
	holdOrphans = orphans + `
SELECT h.endpoint, h.chat FROM chat h WHERE (h.endpoint, h.chat) IN (SELECT endpoint, chat FROM place)
    AND (h.owner IS NULL OR h.free OR h.owner = ANY ($1))
LIMIT $3 FOR UPDATE OF h SKIP LOCKED`
	takeOrphans = `
UPDATE chat SET owner = $3, free = false, moved = owner IS NOT NULL, told = 0
WHERE (endpoint, chat) IN (SELECT * FROM unnest($1::text[], $2::text[]))`

	// tellMoved returns those chats of a replica that had another owner before. $2 is the number of the call of Take.
	tellMoved = `
UPDATE chat SET moved = told IN (0, $2), told = $2 WHERE owner = $1 AND moved RETURNING endpoint, chat, moved`

	dropForwarded = `DELETE FROM forwarded WHERE given = $1 AND given_call < $2`

	giveTurns = `
WITH due AS MATERIALIZED (SELECT id FROM turn WHERE given = 0 UNION ALL SELECT id FROM turn WHERE given = $1 AND given_call = $2)
UPDATE turn w SET given = $1, given_call = $2 ` + ofMine
	giveInbox = `
WITH due AS MATERIALIZED (SELECT id FROM inbox WHERE given = 0 UNION ALL SELECT id FROM inbox WHERE given = $1 AND given_call = $2)
UPDATE inbox w SET given = $1, given_call = $2 ` + ofMine
	giveForwarded = `
WITH due AS MATERIALIZED (SELECT id FROM forwarded WHERE given = 0 UNION ALL SELECT id FROM forwarded WHERE given = $1 AND given_call = $2)
UPDATE forwarded w SET given = $1, given_call = $2 ` + ofMine
	ofMine = `
FROM due, conversation c, chat h
WHERE w.id = due.id AND c.id = w.conversation AND h.endpoint = c.endpoint AND h.chat = c.chat AND h.owner = $1 AND NOT h.free
    AND COALESCE(w.given, -1) IN (0, $1) RETURNING w.id`

	// Copy uses these queries to record that the copied unfinished work is given to no replica.
	giveNobodyTurns = `UPDATE turn SET given = 0 WHERE ended_at IS NULL`
	giveNobodyInbox = `UPDATE inbox SET given = 0 WHERE done_at IS NULL AND turn IS NULL`

	listGiven = messages + ` WHERE i.id = ANY ($1)
UNION ALL
SELECT '', f.id, c.endpoint, c.chat, c.thread, f.origin, f.body, f.accepted_at, 0
FROM forwarded f JOIN conversation c ON c.id = f.conversation WHERE f.id = ANY ($1) ORDER BY 2`

	addForwarded  = `INSERT INTO forwarded (origin, conversation, body, accepted_at) VALUES ($1, $2, $3, $4)`
	moveForwarded = `UPDATE forwarded SET conversation = $1 WHERE conversation = $2`
)

// This group contains queries about claims (chat.Claim): how many of the calls that a rate limit allows each replica
// may make.
const (
	// lockEndpoint takes the advisory lock for an endpoint in the lock class $1. Because of this lock, transactions that
	// change the same kind of data of an endpoint run one after the other.
	lockEndpoint = `SELECT pg_advisory_xact_lock($1, hashtext($2))`
	listClaims   = `
SELECT c.replica, c.ops, c.period, c.count, c.share, c.held, c.wanted, c.waiting, r.expires <= clock_timestamp()
FROM claim c JOIN replica r ON r.id = c.replica
WHERE c.endpoint = $1 AND (r.id = $2 OR r.expires + make_interval(secs => c.period / 1e9) > clock_timestamp())
ORDER BY c.replica, c.ops, c.period`
	deleteClaims = `DELETE FROM claim WHERE endpoint = $1 AND replica = $2`
	countTurn    = `
INSERT INTO pace AS p (endpoint, person, began) VALUES ($1, $2, ARRAY[clock_timestamp()])
ON CONFLICT (endpoint, person) DO UPDATE
SET began = ARRAY(SELECT at FROM unnest(p.began) AS at WHERE at > clock_timestamp() - interval '1 minute') || clock_timestamp()
WHERE (SELECT count(*) FROM unnest(p.began) AS at WHERE at > clock_timestamp() - interval '1 minute') < $3`
	addClaim = `
INSERT INTO claim (endpoint, replica, ops, period, count, share, held, wanted, waiting) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
)
