package discord

import (
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
)

// epoch is the start of 2015 in Unix milliseconds. Snowflakes, which are Discord's ids, contain the time since the
// start of 2015. https://docs.discord.com/developers/reference#snowflakes
const epoch = 1420070400000

// isSnowflake reports whether id is a snowflake: a positive 64-bit number.
func isSnowflake(id string) bool { return snowflakeNumber(id) > 0 }

// snowflakeNumber returns a snowflake as a number, or 0 if id is not a snowflake. A newer snowflake is a greater
// number.
func snowflakeNumber(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n <= 0 || id[0] == '+' || id[0] == '0' {
		return 0
	}
	return n
}

// snowflakeTime returns when a snowflake was created.
func snowflakeTime(id string) time.Time { return time.UnixMilli(snowflakeNumber(id)>>22 + epoch) }

// snowflake returns the smallest id that Discord can create at time t, or 0 if t is before the epoch.
func snowflake(t time.Time) int64 { return max(0, t.UnixMilli()-epoch) << 22 }

// newer returns the newer of the ids a and b. An empty id is older than any other id.
func newer(a, b string) string {
	if snowflakeNumber(a) >= snowflakeNumber(b) {
		return a
	}
	return b
}

// command identifies the interaction of a slash command. The message id of a command is
// "cmd.<application>.<interaction>.<token>", or "own.…" if only the asker sees the answer. The message id contains
// everything that another process needs to answer the command. The token may contain any characters, because the token
// is the last part of the id and the parts before it consist of digits.
type command struct {
	app, interaction, token string
	ephemeral               bool // only the asker sees the answer
}

const (
	commandPrefix   = "cmd."
	ephemeralPrefix = "own."
)

func (c command) id() chat.MessageID {
	if c.ephemeral {
		return chat.MessageID(ephemeralPrefix + c.suffix())
	}
	return chat.MessageID(commandPrefix + c.suffix())
}

func (c command) suffix() string { return c.app + "." + c.interaction + "." + c.token }

// parseCommand parses a message id that command.id has created.
func parseCommand(id chat.MessageID) (command, bool) {
	rest, alone := strings.CutPrefix(string(id), ephemeralPrefix)
	if !alone {
		var ok bool
		if rest, ok = strings.CutPrefix(string(id), commandPrefix); !ok {
			return command{}, false
		}
	}
	c, ok := parseSuffix(rest)
	c.ephemeral = ok && alone
	return c, ok
}

func parseSuffix(s string) (command, bool) {
	parts := strings.SplitN(s, ".", 3)
	if len(parts) != 3 || !isSnowflake(parts[0]) || !isSnowflake(parts[1]) || parts[2] == "" {
		return command{}, false
	}
	return command{app: parts[0], interaction: parts[1], token: parts[2]}, true
}

// pressID returns the message id of a button press. The message id of a press is not a snowflake, so the bot never
// sends a message as a reply to a press.
func pressID(interaction string) chat.MessageID { return chat.MessageID("press." + interaction) }

// sentID is the decoded id of a message that the bot sent. In a chat.MessageRef, the id of a sent message has one of
// these forms:
//
//	<message>                                      in the channel of the target
//	<message>/<channel>                            in another channel, because no thread could be created
//	<message>.<application>.<interaction>.<token>  the answer to a slash command
type sentID struct {
	message string
	channel string  // id of the message's channel; empty: the target's channel
	command command // the command that the message answers; zero: sent to the channel; never ephemeral
}

func (s sentID) messageID() chat.MessageID {
	switch {
	case s.command != command{}:
		return chat.MessageID(s.message + "." + s.command.suffix())
	case s.channel != "":
		return chat.MessageID(s.message + "/" + s.channel)
	}
	return chat.MessageID(s.message)
}

// parseSent parses a message id that sentID.messageID has created.
func parseSent(id chat.MessageID) (sentID, bool) {
	head, rest, byCommand := strings.Cut(string(id), ".")
	s := sentID{message: head}
	if byCommand {
		var ok bool
		if s.command, ok = parseSuffix(rest); !ok {
			return sentID{}, false
		}
	} else if message, channel, ok := strings.Cut(head, "/"); ok {
		s.message, s.channel = message, channel
		if !isSnowflake(channel) {
			return sentID{}, false
		}
	}
	return s, isSnowflake(s.message)
}

// channelOf returns the id of a target's thread or, if the target is not a thread, the id of the target's channel.
func channelOf(to chat.Target) string {
	if to.Thread != "" {
		return string(to.Thread)
	}
	return string(to.Chat)
}
