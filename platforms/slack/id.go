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

// A message on Slack is identified by its channel and its ts, a time that is unique in the channel. The message ids
// of this package contain the ts and everything else that a call about the message needs:
//
// 	1700000000.000100/U123           a message of a person or of another bot
// 	command:13345.73.88/U123         a slash command, with its trigger id
// 	press:1700000000.000200/U123     a button press, with its time
// 	1700000000.000300                a message of this bot
// 	1700000000.000300/4f0c…          a stream of this bot, with the hash of its key
// 	F123                             a file of this bot; Slack does not report which message shows it

// questionID returns the id of a received message. Slack sends two events for a message that mentions the bot, and
// questionID returns the same id for both events.
func questionID(ts, user string) chat.MessageID { return chat.MessageID(ts + "/" + user) }

// asker extracts the author's user id from the id of a received message. If the message id contains no user id, asker
// returns "".
func asker(id chat.MessageID) string {
	_, user, _ := strings.Cut(string(id), "/")
	return user
}

// streamID returns the id of a stream of this bot.
func streamID(ts, key string) chat.MessageID { return chat.MessageID(ts + "/" + hash(key)) }

// splitMessageID returns the parts of the id of one of the bot's messages: the ts, and the hash of the idempotency key
// if the id contains the hash.
func splitMessageID(id chat.MessageID) (ts, hashed string, ok bool) {
	ts, hashed, _ = strings.Cut(string(id), "/")
	return ts, hashed, isTS(ts)
}

// isFile reports whether an id belongs to a file of this bot.
func isFile(id chat.MessageID) bool {
	return len(id) > 1 && id[0] == 'F' && strings.Trim(string(id[1:]), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// The function hash returns the hash of an idempotency key. telex puts the hash instead of the key into the metadata of
// messages, because the whole workspace can read the metadata.
func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:12])
}

// isTS reports whether a text has the form of a ts: seconds since 1970, a dot, six digits.
func isTS(ts string) bool {
	whole, part, _ := strings.Cut(ts, ".")
	return len(whole) >= 1 && len(whole) <= 12 && len(part) == 6 && strings.Trim(whole+part, "0123456789") == ""
}

// timeOf returns the time of a ts, or the zero time if ts is invalid.
func timeOf(ts string) time.Time {
	if !isTS(ts) {
		return time.Time{}
	}
	whole, part, _ := strings.Cut(ts, ".")
	seconds, _ := strconv.ParseInt(whole, 10, 64) // only a few digits, so it can't fail
	micros, _ := strconv.ParseInt(part, 10, 64)   // only a few digits, so it can't fail
	return time.Unix(seconds, micros*1000)
}

// tsOf returns a time as a ts.
func tsOf(t time.Time) string {
	us := max(0, t.UnixMicro())
	return fmt.Sprintf("%d.%06d", us/1e6, us%1e6)
}

// isLater reports whether a is after b. Every valid ts counts as later than an invalid ts.
func isLater(a, b string) bool { return timeOf(a).After(timeOf(b)) }
