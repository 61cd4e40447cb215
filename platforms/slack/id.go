package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
)

// A message on Slack is named by its channel and its ts, a time that is the same for nothing else
// in the channel. Ids of the package hold that and what else a call about the message needs:
//
//	1700000000.000100/U123           a message of a person, or of another bot
//	command:13345.73.88/U123         a slash command, by its trigger
//	press:1700000000.000200/U123     a press of a button, by its moment
//	1700000000.000300                a message of ours
//	1700000000.000300/4f0c…          a stream of ours, with what its key becomes in metadata
//	F123                             a file of ours, whose message the platform does not name

// questionID names a received message. A mention causes two events, which have the same id.
func questionID(ts, user string) chat.MessageID { return chat.MessageID(ts + "/" + user) }

// asker returns the author of the message that an id names; empty if the id has none.
func asker(id chat.MessageID) string {
	_, user, _ := strings.Cut(string(id), "/")
	return user
}

// streamID names a stream of ours.
func streamID(ts, key string) chat.MessageID { return chat.MessageID(ts + "/" + hash(key)) }

// split returns the ts of a message of ours, and what its key becomes where the id holds that.
func split(id chat.MessageID) (ts, hashed string, ok bool) {
	ts, hashed, _ = strings.Cut(string(id), "/")
	return ts, hashed, isTS(ts)
}

// isFile says that an id names a file of ours.
func isFile(id chat.MessageID) bool {
	return len(id) > 1 && id[0] == 'F' && strings.Trim(string(id[1:]), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// hash returns a key's hash, for metadata that the whole workspace can read.
func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:12])
}

// isTS says that a text has the form of a ts: seconds since 1970, a point, six digits.
func isTS(ts string) bool {
	whole, part, _ := strings.Cut(ts, ".")
	return len(whole) >= 1 && len(whole) <= 12 && len(part) == 6 && strings.Trim(whole+part, "0123456789") == ""
}

// timeOf returns the time that a ts is; the zero time if it is no ts.
func timeOf(ts string) time.Time {
	if !isTS(ts) {
		return time.Time{}
	}
	whole, part, _ := strings.Cut(ts, ".")
	seconds, _ := strconv.ParseInt(whole, 10, 64) // digits, and not many
	micros, _ := strconv.ParseInt(part, 10, 64)   // digits, and not many
	return time.Unix(seconds, micros*1000)
}

// tsOf returns a time as a ts.
func tsOf(t time.Time) string {
	us := max(0, t.UnixMicro())
	return fmt.Sprintf("%d.%06d", us/1e6, us%1e6)
}

// later says that a is after b; anything is after what is no ts.
func later(a, b string) bool { return timeOf(a).After(timeOf(b)) }
