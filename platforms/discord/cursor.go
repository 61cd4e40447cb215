package discord

import (
	"net/url"
	"strconv"
	"time"

	"telex/platforms/internal/receiving"
)

// cursor is where receiving continues. The gateway of telex stores it with each message. It names the session too: a process
// that follows soon resumes it, and Discord then delivers all that was missed, even what can't be read later, such as commands.
type cursor struct {
	newest          string // id of the newest message or interaction that was accepted
	backfillPending bool   // older messages are not all accepted: a backfill must read them
	session         string // empty: none
	address         string // where the session is resumed
	seq             int64  // of the last event that was handled
	content         bool   // the session has the privileged intent
}

// String writes c as a URL query.
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

// parseCursor reads what String wrote. It returns false if it can't.
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

// session is how far receiving has come. It outlives connections and calls of Run. It belongs to the goroutine of Run, except
// past.
type session struct {
	// past are the ids that were accepted: a backfill reads some messages again.
	past *receiving.Recent[struct{}]

	now           cursor
	used          bool      // now is newer than any cursor that the store has
	identified    time.Time // when the last session was begun
	failedResumes int       // tries in a row to resume the session that ended without an answer
	// stuckAt is the message that all others wait for, and stuckSince since when.
	stuckAt    string
	stuckSince time.Time
}

// start sets the place to continue from, unless a newer one is known than the store has. A session keeps the intents that
// it began with: one that lacks the privileged intent, or has it although it is no longer wanted, is not resumed.
func (s *session) start(from cursor, content bool) {
	if s.used {
		return
	}
	if from.session != "" && from.content != content {
		from.session, from.address, from.seq, from.backfillPending = "", "", 0, from.newest != ""
	}
	from.content = content
	s.now, s.used = from, true
}

// maxFailedResumes is how often in a row a connection may end before Discord answers whether the session continues. The
// machine that holds the session may be broken.
const maxFailedResumes = 3

// resumed notes how an attempt to resume ended, and reports whether it was the last.
func (s *session) resumed(answered bool) (last bool) {
	if s.failedResumes++; answered || s.failedResumes >= maxFailedResumes {
		s.failedResumes = 0
		return !answered
	}
	return false
}

// stuck notes that a message could not be handed on, and returns for how long that has been so.
func (s *session) stuck(id string) time.Duration {
	if s.stuckAt != id {
		s.stuckAt, s.stuckSince = id, time.Now()
	}
	return time.Since(s.stuckSince)
}

// maxPast bounds how many messages are remembered to have been accepted.
const maxPast = 4000
