package budget

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// If the platform refuses calls in suspectChats chats within suspectFor, and the limits of these chats don't explain
// this, the endpoint's limit must have been exceeded.
const (
	suspectChats = 3
	suspectFor   = 5 * time.Second
)

// suspect is a chat in which the platform refused a call although the chat had used less of its own limits than of the
// endpoint's limits.
type suspect struct {
	chat chat.ChatID
	at   time.Time
}

// The Budget calls the method blame when the platform refuses call c because of a rate limit, but does not name the
// scope of this limit. blame returns which scope to block, and which scope's limits to slow down. By default, the
// method blame returns the chat as both scopes. Unless a larger fraction of the limits of c's chat and message is used
// than of the endpoint's limits, the chat is a suspect. When there are suspectChats suspects, the method blame returns
// the endpoint. While the endpoint's limits are slowed down, each further suspect slows them down more.
func (b *Budget) blame(c chat.Call, now time.Time) (blocked, slowed chat.Scope) {
	var own, endpoint float64 // used fraction of the most used limit: of the chat or message, and of the endpoint
	known := false
	for _, l := range c.Limits {
		if l.Ops&c.Op == 0 {
			continue
		}
		m := b.meter(b.scope(key(l.Scope, c)), l)
		if l.Scope == chat.ScopeEndpoint {
			endpoint = max(endpoint, m.usage(now))
			known = known || m.slow.active(now)
		} else {
			own = max(own, m.usage(now))
		}
	}
	switch {
	case own > endpoint:
		return chat.ScopeChat, chat.ScopeChat
	case b.suspect(c.To.Chat, now):
		return chat.ScopeEndpoint, chat.ScopeEndpoint
	case known:
		return chat.ScopeChat, chat.ScopeEndpoint
	}
	return chat.ScopeChat, chat.ScopeChat
}

// suspect records that a chat is a suspect, and reports whether there are enough suspects to blame the endpoint. If
// there are enough suspects, this method ends the slowdowns of the suspected chats.
func (b *Budget) suspect(id chat.ChatID, now time.Time) bool {
	b.suspects = slices.DeleteFunc(b.suspects, func(s suspect) bool {
		return now.Sub(s.at) >= suspectFor || s.chat == id
	})
	b.suspects = append(b.suspects, suspect{id, now})
	if len(b.suspects) < suspectChats {
		return false
	}
	for _, s := range b.suspects {
		if sc := b.scopes[scopeKey{scope: chat.ScopeChat, chat: s.chat}]; sc != nil {
			for _, m := range sc.meters {
				m.slow = slowdown{}
			}
		}
	}
	return true
}
