package sim

import (
	"slices"
	"strings"
	"time"

	"telex/internal/chat"
)

// version is what a message said from a time on.
type version struct {
	chat.Outgoing

	at time.Time
}

// message is one message as a person sees it, and all that it ever said.
type message struct {
	id        chat.MessageID
	chat      chat.ChatID
	turn      string
	part      int
	by        *call // that created it
	versions  []version
	made      time.Time
	deletedBy string
	live      bool // a stream that was not stopped
	frozen    bool
	known     bool // some call of a process named it: its id was learned
	twin      bool // a search found it for another reply than the one that made it, since both had created the same text
	file      *chat.File
}

func (m *message) now() version  { return m.versions[len(m.versions)-1] }
func (m *message) stands() bool  { return m.deletedBy == "" }
func (m *message) text() string  { return m.now().Text }
func (m *message) key() string   { return m.versions[0].Key }
func (m *message) preview() bool { return m.now().Preview }
func (m *message) is(ref chat.MessageRef) bool {
	return m.id == ref.ID && m.chat == ref.Target.Chat && m.stands()
}

// person looks at all chats.
type person struct {
	messages []*message
	drafts   map[chat.Target]version
	ids      map[chat.Target]int64 // of the drafts
}

// button returns the id of a draft that a person can stop by its button, and the turn that it is of; 0 if there is none.
func (p *person) button(to chat.Target) (id int64, turn string) {
	d, shown := p.drafts[to]
	if !shown || len(d.Actions) == 0 || time.Since(d.at) > draftLife {
		return 0, ""
	}
	turn, _, _ = strings.Cut(d.Key, ".")
	return p.ids[to], turn
}

// message returns a message that stands, or nil.
func (p *person) message(ref chat.MessageRef) *message {
	i := slices.IndexFunc(p.messages, func(m *message) bool { return m.is(ref) })
	if i < 0 {
		return nil
	}
	return p.messages[i]
}

// keyed returns the message that a create with this key made lately, or nil.
func (p *person) keyed(to chat.ChatID, key string, lately time.Duration) *message {
	for _, m := range p.messages {
		if m.chat == to && m.key() == key && time.Since(m.made) < lately {
			return m
		}
	}
	return nil
}

// of returns the messages of a turn's reply in the order in which the person got them.
func (p *person) of(turn string) (out []*message) {
	for _, m := range p.messages {
		if m.turn == turn && !apart(m.key()) {
			out = append(out, m)
		}
	}
	return out
}

// apart returns the messages of a turn that are no part of its reply.
func (p *person) apart(turn string) (out []*message) {
	for _, m := range p.messages {
		if m.turn == turn && apart(m.key()) {
			out = append(out, m)
		}
	}
	return out
}

// newest returns the newest message in a chat that stands, or nil.
func (p *person) newest(to chat.ChatID) *message {
	for _, m := range slices.Backward(p.messages) {
		if m.chat == to && m.stands() {
			return m
		}
	}
	return nil
}

// squeeze takes white space away, so that it does not matter where a text was cut.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }
