package config

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// These are the values of access.default. The value of access.default says what the bot does if no configured pattern
// matches a person.
const (
	AccessDeny  = "deny"
	AccessPair  = "pair" // the bot sends the person a pairing code, which an admin can approve
	AccessAllow = "allow"
)

// Access is the section access, which configures who may talk to the bot.
type Access struct {
	Default string       `yaml:"default" enum:"deny|pair|allow"`
	Admins  []Pattern    `yaml:"admins"` // only patterns of the kind user
	Allow   []Pattern    `yaml:"allow"`
	Limits  AccessLimits `yaml:"limits"`
}

// NoAccessReason returns the reason why the configuration gives nobody access, or "" if somebody has access. The reason is not
// reported as an error, because people may have got access by pairing codes.
func (a Access) NoAccessReason() string {
	if a.Default != AccessDeny || len(a.Allow)+len(a.Admins) > 0 {
		return ""
	}
	return `access names nobody who may talk to the bot: add people to access.allow, or write "default: pair" and let them in by a code`
}

// AccessLimits limits how much people may use the bot. 0 means no limit.
type AccessLimits struct {
	TurnsPerMinute    int `yaml:"turns_per_minute" min:"0" max:"1000"`             // per person
	TokensPerDay      int `yaml:"tokens_per_day" min:"0" max:"1000000000"`         // per person
	TokensPerDayTotal int `yaml:"tokens_per_day_total" min:"0" max:"100000000000"` // the limit for all people together
}

// PatternKind says what a pattern matches.
type PatternKind string

// These are the kinds of patterns.
const (
	PatternUser     PatternKind = "user"
	PatternChat     PatternKind = "chat"
	PatternEveryone PatternKind = "*" // everybody on the endpoint
)

// Pattern matches people or chats: endpoint:user:ID, endpoint:chat:ID or endpoint:*.
type Pattern struct {
	Endpoint string
	Kind     PatternKind
	ID       string // the platform's own id; empty for everyone
}

// String returns the pattern as it is written in config.yaml.
func (p Pattern) String() string {
	if p.Kind == PatternEveryone {
		return p.Endpoint + ":*"
	}
	return p.Endpoint + ":" + string(p.Kind) + ":" + p.ID
}

// Matches reports whether the pattern matches this user or this chat on the endpoint.
func (p Pattern) Matches(endpoint, chat, user string) bool {
	if p.Endpoint != endpoint {
		return false
	}
	switch p.Kind {
	case PatternEveryone:
		return true
	case PatternUser:
		return p.ID == user
	case PatternChat:
		return p.ID == chat
	}
	return false
}

var patternID = regexp.MustCompile(`^[^\s*]+$`)

func (p *Pattern) decode(d *decoder, path string, n *yaml.Node) {
	text, ok := d.text(path, n)
	if !ok {
		return
	}
	const forms = "write endpoint:user:ID, endpoint:chat:ID or endpoint:*"
	endpoint, rest, _ := strings.Cut(text, ":")
	kind, id, _ := strings.Cut(rest, ":")
	switch {
	case rest == "*":
		*p = Pattern{Endpoint: endpoint, Kind: PatternEveryone}
	case (kind == "user" || kind == "chat") && id == "*":
		d.fail(n, fmt.Sprintf("for everybody on an endpoint write %q", "endpoint:*"), "invalid pattern %s in %s", quoted(n), displayPath(path))
		return
	case (kind == "user" || kind == "chat") && patternID.MatchString(id):
		*p = Pattern{Endpoint: endpoint, Kind: PatternKind(kind), ID: id}
	default:
		d.fail(n, forms, "invalid pattern %s in %s", quoted(n), displayPath(path))
		return
	}
	d.checkPattern(path, n, *p)
}

// These expressions match ids of people and chats, by platform.
var (
	telegramID = regexp.MustCompile(`^-?[0-9]+$`)
	discordID  = regexp.MustCompile(`^[0-9]+$`) // https://docs.discord.com/developers/reference#snowflakes
	// On Slack, the first letter of an id shows whether the id belongs to a person or to a conversation:
	// https://docs.slack.dev/reference/objects/conversation-object
	slackUser = regexp.MustCompile(`^[UW][A-Z0-9]+$`)
	slackChat = regexp.MustCompile(`^[CDG][A-Z0-9]+$`)
)

// checkPattern checks that a pattern refers to a configured endpoint, and that its id has the format of the platform.
func (d *decoder) checkPattern(path string, n *yaml.Node, p Pattern) {
	kind, ok := d.endpoints[p.Endpoint]
	if !ok {
		hint := suggest(p.Endpoint, keysOf(d.endpoints))
		if hint == "" {
			hint = "configure one under platforms"
		}
		d.fail(n, hint, "unknown endpoint in pattern %s in %s", quoted(n), displayPath(path))
		return
	}
	if p.Kind == PatternEveryone {
		return
	}
	switch {
	case kind == KindTelegram && !telegramID.MatchString(p.ID):
		d.fail(n, "Telegram's ids are numbers; an @name can pass to somebody else", "invalid Telegram id in pattern %s in %s", quoted(n), displayPath(path))
	case kind == KindDiscord && !discordID.MatchString(p.ID):
		d.fail(n, "Discord's ids are numbers; with Developer Mode on, a right click copies them", "invalid Discord id in pattern %s in %s", quoted(n), displayPath(path))
	case kind == KindSlack && p.Kind == PatternUser && !slackUser.MatchString(p.ID):
		d.fail(n, "a person's id begins with U or W; the profile's menu copies it", "invalid Slack id in pattern %s in %s", quoted(n), displayPath(path))
	case kind == KindSlack && p.Kind == PatternChat && !slackChat.MatchString(p.ID):
		d.fail(n, "a channel's id begins with C, D or G; it is at the end of the channel's details", "invalid Slack id in pattern %s in %s", quoted(n), displayPath(path))
	}
}
