package gateway

import "telex/internal/chat"

// Rule lets somebody in: everybody on an endpoint, one person, or one chat.
type Rule struct {
	Endpoint chat.EndpointID
	User     chat.UserID // with Chat empty too: everybody
	Chat     chat.ChatID
}

// Access says who may talk to the bot. The zero value lets nobody in.
type Access struct {
	Open  bool // people who are not listed are let in
	Allow []Rule
}

// Allows says whether a message of u in c may be answered. A person is let in everywhere,
// a chat lets in everybody who writes there.
func (a Access) Allows(c chat.Conversation, u chat.UserID) bool {
	if a.Open {
		return true
	}
	for _, r := range a.Allow {
		if r.Endpoint != c.Endpoint {
			continue
		}
		switch {
		case r.User == "" && r.Chat == "",
			r.User != "" && r.User == u,
			r.Chat != "" && r.Chat == c.Chat:
			return true
		}
	}
	return false
}
