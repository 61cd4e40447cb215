package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"telex/standin/discord"
	"telex/standin/rig"
	"telex/standin/slack"
	"telex/standin/telegram"
)

// place is the chat of one person with the bot on one platform.
type place interface {
	name() string // name of the platform
	id() string   // id of the chat
	say(text string) error
	posts() []post // the bot's messages that nobody has deleted, oldest first
	// pace returns the expected time between two edits of a reply while the given number of replies grow on the platform. The
	// expected time is telex's own edit interval, or longer if the platform's limit allows fewer edits of each reply.
	pace(replies int) time.Duration
	// overtaken reports whether telex received the later of two messages first, so that telex could not answer them in order. The
	// arguments are the words that identify the questions in the two messages.
	overtaken(earlier, later string) bool
}

// post is a message of the bot, with every version of its text that a person saw.
type post struct {
	id       string
	versions []sight
}

// sight is the text that a message shows from the time in the field at on.
type sight struct {
	at   time.Time
	text string
}

func (p post) text() string { return p.versions[len(p.versions)-1].text }

// at returns the text that the message showed at the time t.
func (p post) at(t time.Time) (text string, visible bool) {
	for _, v := range p.versions {
		if v.at.After(t) {
			break
		}
		text, visible = v.text, true
	}
	return text, visible
}

// postOf copies the versions of a stand-in's message.
func postOf[V interface{ Since() time.Time }](id string, seen rig.Seen[V], text func(V) string) post {
	p := post{id: id}
	for _, v := range seen.Versions {
		p.versions = append(p.versions, sight{v.Since(), text(v)})
	}
	return p
}

type telegramPlace struct {
	*telegram.Server
	chat, user int64 // chat is the chat's id, which is negative in a group
}

func (p telegramPlace) name() string { return "telegram" }

func (p telegramPlace) id() string { return strconv.FormatInt(p.chat, 10) }

// pace implements place. Telegram allows a bot 30 calls a second, and 20 a minute in a group.
func (p telegramPlace) pace(replies int) time.Duration {
	interval := 1500 * time.Millisecond
	if p.chat < 0 {
		interval = 3 * time.Second
	}
	return max(interval, time.Duration(replies)*time.Second/30)
}

func (p telegramPlace) say(text string) error {
	if p.chat < 0 {
		text = "@" + p.Bot().Username + " " + text
	}
	p.Say(telegram.Incoming{Chat: p.chat, User: p.user, Text: text})
	return nil
}

func (p telegramPlace) posts() (list []post) {
	for _, m := range p.History(p.chat) {
		if m.FromBot && m.Alive() {
			list = append(list, postOf(strconv.Itoa(m.ID), m.Seen, func(v telegram.Version) string { return v.Text }))
		}
	}
	return list
}

type discordPlace struct {
	*discord.Server
	channel, user string // channel is empty for a direct message with the user
}

func (p discordPlace) name() string { return "discord" }

func (p discordPlace) id() string {
	if p.channel == "" {
		return p.DM(p.user)
	}
	return p.channel
}

// pace implements place. Discord allows a bot 50 calls a second.
func (p discordPlace) pace(replies int) time.Duration {
	return max(1200*time.Millisecond, time.Duration(replies)*time.Second/50)
}

func (p discordPlace) say(text string) error {
	if p.channel != "" {
		text = p.Mention() + " " + text
	}
	_, err := p.Say(discord.Incoming{Channel: p.channel, User: p.user, Text: text})
	return err
}

func (p discordPlace) posts() (list []post) {
	for _, m := range p.History(p.id()) {
		if m.FromBot && m.Alive() {
			list = append(list, postOf(m.ID, m.Seen, func(v discord.Version) string { return v.Content }))
		}
	}
	return list
}

type slackPlace struct {
	*slack.Server
	user string // the person with whom the bot has the direct message
}

func (p slackPlace) name() string { return "slack" }

func (p slackPlace) id() string { return "D" + p.user }

// pace implements place. Slack allows 50 edits a minute in a whole workspace.
func (p slackPlace) pace(replies int) time.Duration {
	return max(1500*time.Millisecond, time.Duration(replies)*time.Minute/50)
}

func (p slackPlace) say(text string) error {
	if p.Say(slack.Incoming{User: "U" + p.user, Text: text}) == "" {
		return fmt.Errorf("the stand-in of Slack refused a message of %s", p.user)
	}
	return nil
}

func (p slackPlace) posts() (list []post) {
	for _, m := range p.History(p.id()) {
		if m.FromBot && m.Alive() {
			list = append(list, postOf(m.TS, m.Seen, func(v slack.Version) string { return v.Shown }))
		}
	}
	return list
}

// places returns n chats. Out of every 15 chats, ten are on Telegram (some of them groups), four on Discord, and only one on
// Slack, because all chats of a Slack workspace share one limit on edits. If the field c.only names a platform, all chats are
// on this platform.
func (c *cluster) places(n int) (list []place) {
	for i := 0; len(list) < n; i++ {
		if p := c.place(i, int64(firstChat+len(list))); c.only == "" || p.name() == c.only {
			list = append(list, p)
		}
	}
	return list
}

func (c *cluster) place(i int, user int64) place {
	switch {
	case i%15 == 14:
		return slackPlace{c.slack, strconv.FormatInt(user, 10)}
	case i%15%4 == 1:
		p := discordPlace{Server: c.discord, user: strconv.FormatInt(500_000_000_000_000_000+user, 10)}
		if i%15%8 == 1 {
			p.channel = strconv.FormatInt(600_000_000_000_000_000+user, 10)
		}
		return p
	case i%20 == 3:
		return telegramPlace{c.world.Telegram, -user, user}
	default:
		return telegramPlace{c.world.Telegram, user, user}
	}
}

// limitViolations counts and describes the calls that exceeded a published limit, or that were made before the wait
// after a 429 was over.
func (c *cluster) limitViolations() (n int, what string) {
	if v := c.world.Telegram.Stats().Violations; v.OverLimit+v.BlockedCalls > 0 {
		n += v.OverLimit + v.BlockedCalls
		what += fmt.Sprintf("telegram: %+v\n", v)
	}
	if v := c.discord.Stats().Violations; v.OverLimit+v.BlockedCalls > 0 {
		n += v.OverLimit + v.BlockedCalls
		what += fmt.Sprintf("discord: %+v\n", v)
	}
	if v := c.slack.Stats().Violations; v.ByKind[slack.OverLimit]+v.ByKind[slack.BlockedCall] > 0 {
		n += v.ByKind[slack.OverLimit] + v.ByKind[slack.BlockedCall]
		v.Details = slices.DeleteFunc(v.Details, func(d slack.Violation) bool {
			return d.Kind != slack.OverLimit && d.Kind != slack.BlockedCall
		})
		what += fmt.Sprintf("slack: %+v\n", v)
	}
	return n, what
}
