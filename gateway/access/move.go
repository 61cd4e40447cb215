package access

import (
	"slices"

	"telex/internal/chat"
)

// place is a chat of an endpoint.
type place struct {
	endpoint chat.EndpointID
	chat     chat.ChatID
}

// Move records that a chat has a new id, so that rules with the old id apply to it. It returns false if the move is known.
func (d *Policy) Move(m chat.Move) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.From == m.To || d.now(m.Endpoint, m.From) == m.To {
		return false
	}
	d.changes++
	delete(d.moved, place{m.Endpoint, m.To}) // in case the chat returned to an earlier id
	d.moved[place{m.Endpoint, m.From}] = m.To
	for old, now := range d.moved {
		if old.endpoint == m.Endpoint && now == m.From {
			d.moved[old] = m.To
		}
	}
	return true
}

// Moves returns the chats that have new ids.
func (d *Policy) Moves() []chat.Move {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []chat.Move
	for old, now := range d.moved {
		out = append(out, chat.Move{Endpoint: old.endpoint, From: old.chat, To: now})
	}
	return out
}

// Now returns the current id of a chat.
func (d *Policy) Now(e chat.EndpointID, c chat.ChatID) chat.ChatID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now(e, c)
}

func (d *Policy) now(e chat.EndpointID, c chat.ChatID) chat.ChatID {
	if to, ok := d.moved[place{e, c}]; ok {
		return to
	}
	return c
}

// Matches reports whether a rule applies to this person or this chat, under any of the chat's ids.
func (d *Policy) Matches(r Rule, c chat.Conversation, u chat.UserID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Chat != "" {
		r.Chat, c.Chat = d.now(r.Endpoint, r.Chat), d.now(c.Endpoint, c.Chat)
	}
	return r.Matches(c, u)
}

// NamesChat reports whether a rule lists this chat.
func (r Rules) NamesChat(e chat.EndpointID, c chat.ChatID) bool {
	names := func(rule Rule) bool { return rule.Endpoint == e && rule.Chat == c }
	return slices.ContainsFunc(r.Allow, names) || slices.ContainsFunc(r.Admins, names)
}
