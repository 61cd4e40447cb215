package budget

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// If suspectChats chats are refused within suspectFor, and their own limits don't explain it, the endpoint's
// limit was exceeded.
const (
	suspectChats = 3
	suspectFor   = 5 * time.Second
)

// suspect is a chat that was refused although it had used less of its own limits than of the endpoint's.
type suspect struct {
	chat chat.ChatID
	at   time.Time
}

// blame is called after a refusal of c that names no scope. It returns which scope to block, and which scope's limits
// to slow down. By default both are the chat. If c used less of its chat's and message's limits than of the endpoint's
// limits, the chat is a suspect. Enough suspects show that the endpoint refuses. While the endpoint is known to refuse,
// each suspect slows down the endpoint's limits.
func (b *Budget) blame(c chat.Call, now time.Time) (blocked, slowed chat.Scope) {
	var own, endpoint float64 // usage of the most used limit
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

// suspect records a suspect chat, and reports whether there are enough of them to blame the endpoint. If so, it
// ends their own slowdowns.
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
