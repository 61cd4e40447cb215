package access

import (
	"slices"

	"telex/internal/chat"
)

// Rule matches people or chats: everybody on an endpoint, one person, or one chat.
type Rule struct {
	Endpoint chat.EndpointID
	User     chat.UserID // if User and Chat are empty, the rule applies to everybody on the endpoint
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
	Admins []Rule // admins have access everywhere and may approve pairing requests
	// Operators is the endpoint of the daemon's operators. Everybody on the endpoint Operators has access, is an
	// admin, and has no usage limits. Operators is empty if the daemon has no such endpoint.
	Operators chat.EndpointID
}

// Allows reports whether the bot may answer messages of the user u in the conversation c. A rule for a person gives
// this person access in every chat. A rule for a chat gives access to everybody who writes in this chat.
func (r Rules) Allows(c chat.Conversation, u chat.UserID) bool {
	return r.allows(c, func(rule Rule) bool { return rule.Matches(c, u) })
}

// allows is like Allows, but calls the parameter matches to find out whether a rule applies.
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

// Names reports whether a rule lists exactly this person. A sender that is itself a bot gets access only if a rule
// lists the bot's id.
func (r Rules) Names(p chat.Person) bool {
	names := func(rule Rule) bool { return rule.names(p) }
	return slices.ContainsFunc(r.Allow, names) || slices.ContainsFunc(r.Admins, names)
}

// AdminsOf returns the ids of the users whom the rules list as admins of an endpoint.
func (r Rules) AdminsOf(e chat.EndpointID) []chat.UserID {
	var out []chat.UserID
	for _, rule := range r.Admins {
		if rule.Endpoint == e && rule.User != "" {
			out = append(out, rule.User)
		}
	}
	return out
}
