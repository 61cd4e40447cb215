package discord

import (
	"net/url"
	"strconv"
	"time"

	"telex/platforms/internal/receiving"
)

// cursor is the position from which receiving continues. telex's gateway stores the cursor with each message. The
// cursor also names the session, so that a new process that starts soon can resume the session. After the session has
// been resumed, Discord delivers all events that the bot has missed, including slash commands, which a backfill can't
// read.
type cursor struct {
	newest          string // id of the newest message or interaction that was accepted
	backfillPending bool   // not all messages older than newest are accepted; if the session is lost, a backfill must read them
	session         string // empty: none
	address         string // gateway URL at which the session is resumed
	seq             int64  // sequence number of the last handled event
	content         bool   // the session has the privileged intent
}

// String encodes c as a URL query.
func (c cursor) String() string {
	v := url.Values{"m": {c.newest}}
	if c.backfillPending {
		v.Set("owed", "1")
	}
	if c.session != "" {
		v.Set("session", c.session)
		v.Set("at", c.address)
		v.Set("seq", strconv.FormatInt(c.seq, 10))
		if c.content {
			v.Set("content", "1")
		}
	}
	return v.Encode()
}

// parseCursor decodes what String has encoded. parseCursor returns false if s is invalid.
func parseCursor(s string) (cursor, bool) {
	v, err := url.ParseQuery(s)
	if err != nil || s != "" && !v.Has("m") {
		return cursor{}, false
	}
	c := cursor{newest: v.Get("m"), backfillPending: v.Get("owed") == "1", session: v.Get("session"), address: v.Get("at")}
	if c.newest != "" && !isSnowflake(c.newest) {
		return cursor{}, false
	}
	seq, err := strconv.ParseInt(v.Get("seq"), 10, 64)
	if c.session == "" || err != nil || seq < 0 {
		c.session, c.address = "", ""
		return c, true
	}
	c.seq, c.content = seq, v.Get("content") == "1"
	return c, true
}

// session holds the position of receiving, which outlives connections and calls of Run. Only the goroutine that runs
// Run uses the fields, except for the field accepted.
type session struct {
	// accepted holds the ids of accepted messages, because a backfill reads some messages again.
	accepted *receiving.Recent[struct{}]

	cursor        cursor
	ahead         bool      // a Run has used the field cursor, which may therefore be newer than the stored cursor
	identified    time.Time // when the last session was started
	failedResumes int       // number of attempts in a row to resume the session that got no response
	// stuckAt is the id of a message that blocks all later messages, because the bot can't request the type of the
	// message's channel. stuckSince is when this message began to block later messages.
	stuckAt    string
	stuckSince time.Time
}

// start sets the position from which receiving continues to the parameter from, unless an earlier Run has left a newer
// position. The intents of a Discord session can't change. start therefore drops the session if the configuration of
// the privileged intent has changed.
func (s *session) start(from cursor, content bool) {
	if s.ahead {
		return
	}
	if from.session != "" && from.content != content {
		from.session, from.address, from.seq, from.backfillPending = "", "", 0, from.newest != ""
	}
	from.content = content
	s.cursor, s.ahead = from, true
}

// maxFailedResumes is how many times in a row the bot may try to resume a session without an answer from Discord. After
// maxFailedResumes attempts, the bot starts a new session, because the machine at Discord that holds the old session
// may be broken.
const maxFailedResumes = 3

// noteResume records whether Discord answered an attempt to resume the session. noteResume returns true if the attempt
// got no answer and the bot may make no further attempt.
func (s *session) noteResume(answered bool) (last bool) {
	if s.failedResumes++; answered || s.failedResumes >= maxFailedResumes {
		s.failedResumes = 0
		return !answered
	}
	return false
}

// noteStuck records that the bot can't deliver the message with the given id, and returns how long the message has been
// stuck.
func (s *session) noteStuck(id string) time.Duration {
	if s.stuckAt != id {
		s.stuckAt, s.stuckSince = id, time.Now()
	}
	return time.Since(s.stuckSince)
}

// maxAccepted limits the number of accepted messages that the bot remembers.
const maxAccepted = 4000
