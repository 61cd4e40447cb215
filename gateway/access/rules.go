package access

import (
	"slices"

	"telex/internal/chat"
)

// Rule names people or places: everybody on an endpoint, one person, or one chat.
type Rule struct {
	Endpoint chat.EndpointID
	User     chat.UserID // with Chat empty too: everybody
	Chat     chat.ChatID
}

// Matches says whether the rule names this person or this chat.
func (r Rule) Matches(c chat.Conversation, u chat.UserID) bool {
	if r.Endpoint != c.Endpoint {
		return false
	}
	return r.User == "" && r.Chat == "" || r.User != "" && r.User == u || r.Chat != "" && r.Chat == c.Chat
}

// names says that the rule is about this person and nobody else.
func (r Rule) names(p chat.Person) bool {
	return r.Endpoint == p.Endpoint && r.User != "" && r.User == p.User
}

// Rules say who may talk to the bot. The zero value lets nobody in.
type Rules struct {
	Open   bool // people who are not named are let in
	Pair   bool // people who are not named get a code in a private chat
	Allow  []Rule
	Admins []Rule // they are let in everywhere, and may let others in
	// Operators is the endpoint of those who operate the daemon: they are let in, admins, and without
	// limits. Empty: there is none.
	Operators chat.EndpointID
}

// Allows says whether a message of u in c may be answered. A person is let in everywhere, a
// chat lets in everybody who writes there.
func (r Rules) Allows(c chat.Conversation, u chat.UserID) bool {
	return r.allows(c, func(rule Rule) bool { return rule.Matches(c, u) })
}

// allows is Allows where somebody else says which rules name the person or the chat.
func (r Rules) allows(c chat.Conversation, matches func(Rule) bool) bool {
	if r.Open || r.operates(c.Endpoint) {
		return true
	}
	return slices.ContainsFunc(r.Allow, matches) || slices.ContainsFunc(r.Admins, matches)
}

// Admin says whether a person is one.
func (r Rules) Admin(p chat.Person) bool {
	return r.operates(p.Endpoint) || slices.ContainsFunc(r.Admins, func(rule Rule) bool { return rule.names(p) })
}

// operates says that whoever writes on an endpoint operates the daemon.
func (r Rules) operates(e chat.EndpointID) bool { return r.Operators != "" && e == r.Operators }

// Names says whether a rule is about exactly this person: other bots are let in only so.
func (r Rules) Names(p chat.Person) bool {
	names := func(rule Rule) bool { return rule.names(p) }
	return slices.ContainsFunc(r.Allow, names) || slices.ContainsFunc(r.Admins, names)
}

// AdminsOf returns the admins of an endpoint who are named one by one.
func (r Rules) AdminsOf(e chat.EndpointID) []chat.UserID {
	var out []chat.UserID
	for _, rule := range r.Admins {
		if rule.Endpoint == e && rule.User != "" {
			out = append(out, rule.User)
		}
	}
	return out
}
