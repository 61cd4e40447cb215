package discord

import (
	"net/url"
	"strconv"
	"time"

	"telex/platforms/internal/receiving"
)

// cursor is where receiving goes on, as the gateway of telex keeps it with each message. It names the
// session too: a process that follows soon takes it up, and Discord then tells all that it missed, even what
// can't be asked for later, such as commands.
type cursor struct {
	newest          string // id of the newest message or interaction that was accepted
	backfillPending bool   // not everything before newest was accepted: it must be asked for
	session         string // empty: none
	address         string // where the session is resumed
	seq             int64  // of the last event that was handled
}

// String writes c as the query of an address.
func (c cursor) String() string {
	v := url.Values{"m": {c.newest}}
	if c.backfillPending {
		v.Set("owed", "1")
	}
	if c.session != "" {
		v.Set("session", c.session)
		v.Set("at", c.address)
		v.Set("seq", strconv.FormatInt(c.seq, 10))
	}
	return v.Encode()
}

// parseCursor reads what String wrote. Of what it can't read it takes nothing.
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
	c.seq = seq
	return c, true
}

// session is how far receiving has come, which outlasts connections, and runs of Run. It belongs to the goroutine of Run, but
// for past.
type session struct {
	// past are messages that were accepted: what is asked for after a lost session overlaps with what was told before.
	past *receiving.Recent[struct{}]

	now           cursor
	used          bool      // now is newer than any cursor that the store has
	identified    time.Time // when the last session was begun
	failedResumes int       // tries in a row to resume the session that ended without an answer
	// stuckAt is the message that all others wait for, and stuckSince since when.
	stuckAt    string
	stuckSince time.Time
}

// start says where to go on, given what the store has.
func (s *session) start(from cursor) {
	if !s.used {
		s.now, s.used = from, true
	}
}

// maxFailedResumes is how often in a row a connection may end before it is said whether the session goes on. Some
// machine of the platform may fail over that session alone.
const maxFailedResumes = 3

// resumed notes how a try to take up the session ended, and reports that it was the last.
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
