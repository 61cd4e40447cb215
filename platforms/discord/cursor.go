package discord

import (
	"net/url"
	"strconv"
	"time"

	"telex/platforms/internal/receiving"
)

// cursor is the position from which receiving continues. telex's gateway stores it with each message. It also names
// the session, so that a new process can resume it soon. Discord then delivers everything that was missed, including
// commands, which a backfill can't read.
type cursor struct {
	newest          string // id of the newest message or interaction that was accepted
	backfillPending bool   // some older messages are not accepted yet; if the session is lost, a backfill must read them
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

// parseCursor decodes the result of String. It returns false if s is invalid.
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

// session is the progress of receiving. It outlives connections and calls of Run. Only the goroutine of Run uses it,
// except for accepted.
type session struct {
	// accepted holds the ids of accepted messages, because a backfill reads some messages again.
	accepted *receiving.Recent[struct{}]

	cursor        cursor
	ahead         bool      // cursor may be newer than any cursor in the store
	identified    time.Time // when the last session was started
	failedResumes int       // how many attempts in a row to resume the session got no answer
	// stuckAt is the message that blocks all later ones, and stuckSince is the time since when it does so.
	stuckAt    string
	stuckSince time.Time
}

// start sets the position to from, unless an earlier Run left a newer position. A session keeps its intents. So a
// session whose privileged intent differs from the setting is not resumed.
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

// maxFailedResumes is how often in a row a connection may end before Discord answers whether the session continues.
// After that, a new session starts, because the machine that holds the old one may be broken.
const maxFailedResumes = 3

// noteResume records the result of an attempt to resume, and reports whether it was the last allowed one.
func (s *session) noteResume(answered bool) (last bool) {
	if s.failedResumes++; answered || s.failedResumes >= maxFailedResumes {
		s.failedResumes = 0
		return !answered
	}
	return false
}

// noteStuck records that a message can't be delivered, and returns how long that has lasted.
func (s *session) noteStuck(id string) time.Duration {
	if s.stuckAt != id {
		s.stuckAt, s.stuckSince = id, time.Now()
	}
	return time.Since(s.stuckSince)
}

// maxAccepted limits the number of remembered messages.
const maxAccepted = 4000
