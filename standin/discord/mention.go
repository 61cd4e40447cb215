package discord

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	// codeBlocks matches code in a text, in which Discord does not recognize mentions.
	codeBlocks   = regexp.MustCompile("(?s)```.*?```|``.+?``|`[^`]+`")
	userMention  = regexp.MustCompile(`<@!?(\d{1,20})>`)
	roleMention  = regexp.MustCompile(`<@&(\d{1,20})>`)
	everyoneHere = regexp.MustCompile(`@(everyone|here)`)
)

// mentions are the mentions in a text.
type mentions struct {
	users, roles   []string
	everyone, here bool
}

func findMentions(text string) mentions {
	text = codeBlocks.ReplaceAllString(text, " ")
	var m mentions
	for _, found := range userMention.FindAllStringSubmatch(text, -1) {
		m.users = appendNew(m.users, found[1])
	}
	for _, found := range roleMention.FindAllStringSubmatch(text, -1) {
		m.roles = appendNew(m.roles, found[1])
	}
	for _, found := range everyoneHere.FindAllStringSubmatch(text, -1) {
		m.everyone, m.here = m.everyone || found[1] == "everyone", m.here || found[1] == "here"
	}
	return m
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// allowedMentions determines which mentions in a text notify people. Source:
// https://docs.discord.com/developers/resources/message#allowed-mentions-object
type allowedMentions struct {
	users, roles, everyone bool     // all mentions of this kind notify people
	userIDs, roleIDs       []string // mentions of only these users and roles notify people
	replied                bool     // also notify the author of the message to which this one replies
}

// defaultAllowed returns the mentions that notify people if a call has no allowed_mentions. In a response to an
// interaction, only mentions of users cause notifications.
func defaultAllowed(interaction bool) allowedMentions {
	return allowedMentions{users: true, roles: !interaction, everyone: !interaction, replied: true}
}

// readAllowed decodes allowed_mentions.
func readAllowed(f form, interaction bool) allowedMentions {
	if !f.has("allowed_mentions") {
		return defaultAllowed(interaction)
	}
	g := f.sub("allowed_mentions")
	a := allowedMentions{replied: g.flag("replied_user", false)}
	for i, kind := range g.texts("parse", 3) {
		switch kind {
		case "users":
			a.users = true
		case "roles":
			a.roles = true
		case "everyone":
			a.everyone = true
		default:
			g.bad("BASE_TYPE_CHOICES", "Value must be one of ('roles', 'users', 'everyone').", "parse", strconv.Itoa(i))
		}
	}
	a.userIDs, a.roleIDs = g.texts("users", 100), g.texts("roles", 100)
	if !g.isSet("parse") && !g.isSet("users") && !g.isSet("roles") {
		// The documentation does not say what happens if only replied_user is set, so a client must not rely on this case.
		d := defaultAllowed(interaction)
		a.users, a.roles, a.everyone = d.users, d.roles, d.everyone
	}
	for name, all := range map[string]bool{"users": a.users && len(a.userIDs) > 0, "roles": a.roles && len(a.roleIDs) > 0} {
		g.badIf(all, "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", `parse:["`+name+`"] and `+name+`: [ids...] are mutually exclusive.`)
	}
	return a
}

// mention determines which users a message of the bot mentions, and whom the message notifies.
func (s *Server) mention(c *channel, m *Message, texts string, a allowedMentions) {
	found := findMentions(texts)
	for _, id := range found.users {
		if _, known := s.users[id]; known && (a.users || slices.Contains(a.userIDs, id)) {
			m.mentions = appendNew(m.mentions, id)
		}
	}
	for _, id := range found.roles {
		if s.roleIn(c, id) && (a.roles || slices.Contains(a.roleIDs, id)) {
			m.mentionRoles = appendNew(m.mentionRoles, id)
		}
	}
	guild := c.info.Guild != ""
	m.mentionEveryone = guild && a.everyone && (found.everyone || found.here)
	if target := c.message(m.ReplyTo); target != nil && a.replied {
		m.mentions = appendNew(m.mentions, target.From.ID)
	}
	for _, id := range m.mentions {
		if id != m.From.ID {
			m.Pings = append(m.Pings, "user:"+id)
		}
	}
	for _, id := range m.mentionRoles {
		m.Pings = append(m.Pings, "role:"+id)
	}
	if m.mentionEveryone && found.everyone {
		m.Pings = append(m.Pings, "everyone")
	}
	if m.mentionEveryone && found.here {
		m.Pings = append(m.Pings, "here")
	}
	slices.Sort(m.Pings)
}

// textOf returns the text of a message in which mentions notify people: the content and the text display components.
func textOf(content string, components json.RawMessage) string {
	type node struct {
		Type       int             `json:"type"`
		Content    string          `json:"content"`
		Components json.RawMessage `json:"components"`
	}
	var list []node
	if len(components) == 0 || json.Unmarshal(components, &list) != nil {
		return content
	}
	var b strings.Builder
	b.WriteString(content)
	for _, n := range list {
		b.WriteString("\n" + textOf(n.Content, n.Components))
	}
	return b.String()
}
