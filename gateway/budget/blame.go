package budget

import (
	"slices"
	"time"

	"telex/internal/chat"
)

// So many chats that were refused without a reason of their own within so long show that the
// endpoint's limit was hit.
const (
	suspectChats = 3
	suspectFor   = 5 * time.Second
)

// suspect is a chat that was refused though it had used less of its own limits than of the endpoint's.
type suspect struct {
	chat chat.ChatID
	at   time.Time
}

// blame returns which scope a refusal of c that names none blocks, and whose limits it slows down. It
// is the chat, unless others had used less of the limits of c's chat and message than of the
// endpoint's. Then several such chats show that it was the endpoint. Once the endpoint is known to
// refuse, each of them is evidence of its limit.
func (b *Budget) blame(c chat.Call, now time.Time) (blocked, slowed chat.Scope) {
	var own, endpoint float64 // of the limit that is used most
	known := false
	for _, l := range c.Limits {
		if l.Ops&c.Op == 0 {
			continue
		}
		m := b.scope(key(l.Scope, c)).meter(l)
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

// suspect takes note of such a chat, and says whether there are enough of them to show that the endpoint's
// limit was hit. Their slowdowns end then.
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
