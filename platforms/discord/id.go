package discord

import (
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
)

// epoch is the first second of 2015, in Unix milliseconds, from which snowflakes count.
// https://docs.discord.com/developers/reference#snowflakes
const epoch = 1420070400000

// isSnowflake reports whether id is one: a positive number of 64 bits.
func isSnowflake(id string) bool { return number(id) > 0 }

// number returns a snowflake as a number, which grows with time; 0 if it is no snowflake.
func number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 || id[0] == '+' || id[0] == '0' {
		return 0
	}
	return n
}

// moment returns when a snowflake was made.
func moment(id string) time.Time { return time.UnixMilli(number(id)>>22 + epoch) }

// snowflake returns the least id of a moment; 0 of one before there were any.
func snowflake(t time.Time) int64 { return max(0, t.UnixMilli()-epoch) << 22 }

// newer returns the newer one of two ids, either of which may be empty.
func newer(a, b string) string {
	if number(a) >= number(b) {
		return a
	}
	return b
}

// command names the interaction of a slash command, as the id of the message that it counts as:
// "cmd.<application>.<interaction>.<token>", or "own.…" for one whose answer only the asker sees. All that is
// needed to answer is in it, so that another process can. Ids and the application are digits and the token is
// last, so that it reads in one way whatever the token holds.
type command struct {
	app, interaction, token string
	alone                   bool // only the asker sees the answer
}

const (
	commandPrefix = "cmd."
	alonePrefix   = "own."
)

func (c command) id() chat.MessageID {
	if c.alone {
		return chat.MessageID(alonePrefix + c.rest())
	}
	return chat.MessageID(commandPrefix + c.rest())
}

func (c command) rest() string { return c.app + "." + c.interaction + "." + c.token }

// parseCommand reads what command.id wrote.
func parseCommand(id chat.MessageID) (command, bool) {
	rest, alone := strings.CutPrefix(string(id), alonePrefix)
	if !alone {
		var ok bool
		if rest, ok = strings.CutPrefix(string(id), commandPrefix); !ok {
			return command{}, false
		}
	}
	c, ok := readCommand(rest)
	c.alone = ok && alone
	return c, ok
}

func readCommand(s string) (command, bool) {
	parts := strings.SplitN(s, ".", 3)
	if len(parts) != 3 || !isSnowflake(parts[0]) || !isSnowflake(parts[1]) || parts[2] == "" {
		return command{}, false
	}
	return command{app: parts[0], interaction: parts[1], token: parts[2]}, true
}

// pressID is the id of the message that a press on a button counts as; nothing can refer to it.
func pressID(interaction string) chat.MessageID { return chat.MessageID("press." + interaction) }

// sent names a message of the bot, in the id of a chat.MessageRef:
//
//	<message>                                      in the place that it was sent to
//	<message>/<channel>                            in another channel, where no thread could be made
//	<message>.<application>.<interaction>.<token>  the answer to a slash command
type sent struct {
	message string
	channel string  // empty: the place's
	by      command // zero: sent through the channel; never alone
}

func (s sent) id() chat.MessageID {
	switch {
	case s.by != command{}:
		return chat.MessageID(s.message + "." + s.by.rest())
	case s.channel != "":
		return chat.MessageID(s.message + "/" + s.channel)
	}
	return chat.MessageID(s.message)
}

// parseSent reads what sent.id wrote.
func parseSent(id chat.MessageID) (sent, bool) {
	head, rest, byCommand := strings.Cut(string(id), ".")
	s := sent{message: head}
	if byCommand {
		var ok bool
		if s.by, ok = readCommand(rest); !ok {
			return sent{}, false
		}
	} else if message, channel, ok := strings.Cut(head, "/"); ok {
		s.message, s.channel = message, channel
		if !isSnowflake(channel) {
			return sent{}, false
		}
	}
	return s, isSnowflake(s.message)
}

// channelOf returns the channel that a place is.
func channelOf(to chat.Target) string {
	if to.Thread != "" {
		return string(to.Thread)
	}
	return string(to.Chat)
}
