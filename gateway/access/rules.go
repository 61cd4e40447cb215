package access

import (
	"slices"

	"telex/internal/chat"
)

// Rule matches people or chats: everybody on an endpoint, one person, or one chat.
type Rule struct {
	Endpoint chat.EndpointID
	User     chat.UserID // if Chat is empty too: everybody
	Chat     chat.ChatID
}

// Matches reports whether the rule applies to this person or this chat.
func (r Rule) Matches(c chat.Conversation, u chat.UserID) bool {
	if r.Endpoint != c.Endpoint {
		return false
	}
	return r.User == "" && r.Chat == "" || r.User != "" && r.User == u || r.Chat != "" && r.Chat == c.Chat
}

// names reports whether the rule applies to exactly this person.
func (r Rule) names(p chat.Person) bool {
	return r.Endpoint == p.Endpoint && r.User != "" && r.User == p.User
}

// Rules configure who may talk to the bot. The zero value grants access to nobody.
type Rules struct {
	Open   bool // everybody has access
	Pair   bool // people without access get a pairing code in a private chat
	Allow  []Rule
	Admins []Rule // they have access everywhere and may approve pairing requests
	// Operators is the endpoint of the daemon's operators: they have access, are admins, and have no limits.
	// It is empty if the daemon has no such endpoint.
	Operators chat.EndpointID
}

// Allows reports whether a message of u in c may be answered. A person with access has it everywhere; a chat
// with access gives it to everybody who writes there.
func (r Rules) Allows(c chat.Conversation, u chat.UserID) bool {
	return r.allows(c, func(rule Rule) bool { return rule.Matches(c, u) })
}

// allows is like Allows, with a custom function for matching rules.
func (r Rules) allows(c chat.Conversation, matches func(Rule) bool) bool {
	if r.Open || r.isOperator(c.Endpoint) {
		return true
	}
	return slices.ContainsFunc(r.Allow, matches) || slices.ContainsFunc(r.Admins, matches)
}

// Admin reports whether a person is an admin.
func (r Rules) Admin(p chat.Person) bool {
	return r.isOperator(p.Endpoint) || slices.ContainsFunc(r.Admins, func(rule Rule) bool { return rule.names(p) })
}

// isOperator reports whether the people on an endpoint are operators of the daemon.
func (r Rules) isOperator(e chat.EndpointID) bool { return r.Operators != "" && e == r.Operators }

// Names reports whether a rule lists exactly this person. Other bots get access only this way.
func (r Rules) Names(p chat.Person) bool {
	names := func(rule Rule) bool { return rule.names(p) }
	return slices.ContainsFunc(r.Allow, names) || slices.ContainsFunc(r.Admins, names)
}

// AdminsOf returns the admins of an endpoint who are listed individually.
func (r Rules) AdminsOf(e chat.EndpointID) []chat.UserID {
	var out []chat.UserID
	for _, rule := range r.Admins {
		if rule.Endpoint == e && rule.User != "" {
			out = append(out, rule.User)
		}
	}
	return out
}
