package access

import (
	"slices"

	"telex/internal/chat"
)

// chatKey identifies a chat of an endpoint.
type chatKey struct {
	endpoint chat.EndpointID
	chat     chat.ChatID
}

// Move records that a chat has a new id, so that access rules with the old id still apply to the chat. Move returns
// false if the Policy has already recorded this move.
func (d *Policy) Move(m chat.Move) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.From == m.To || d.currentID(m.Endpoint, m.From) == m.To {
		return false
	}
	d.changes++
	delete(d.moved, chatKey{m.Endpoint, m.To}) // the chat may have returned to an earlier id
	d.moved[chatKey{m.Endpoint, m.From}] = m.To
	for old, now := range d.moved {
		if old.endpoint == m.Endpoint && now == m.From {
			d.moved[old] = m.To
		}
	}
	return true
}

// Moves returns the chats that have got a new id, each with its old and its current id.
func (d *Policy) Moves() []chat.Move {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []chat.Move
	for old, now := range d.moved {
		out = append(out, chat.Move{Endpoint: old.endpoint, From: old.chat, To: now})
	}
	return out
}

// Now returns the current id of a chat, given its current id or an old one.
func (d *Policy) Now(e chat.EndpointID, c chat.ChatID) chat.ChatID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.currentID(e, c)
}

func (d *Policy) currentID(e chat.EndpointID, c chat.ChatID) chat.ChatID {
	if to, ok := d.moved[chatKey{e, c}]; ok {
		return to
	}
	return c
}

// Matches reports whether a rule applies to this person or this chat, under any of the chat's ids.
func (d *Policy) Matches(r Rule, c chat.Conversation, u chat.UserID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Chat != "" {
		r.Chat, c.Chat = d.currentID(r.Endpoint, r.Chat), d.currentID(c.Endpoint, c.Chat)
	}
	return r.Matches(c, u)
}

// NamesChat reports whether a rule for access or for admins lists this chat.
func (r Rules) NamesChat(e chat.EndpointID, c chat.ChatID) bool {
	names := func(rule Rule) bool { return rule.Endpoint == e && rule.Chat == c }
	return slices.ContainsFunc(r.Allow, names) || slices.ContainsFunc(r.Admins, names)
}
