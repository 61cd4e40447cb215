package sim

import (
	"slices"
	"strings"
	"time"

	"telex/internal/chat"
)

// version is the content of a message from the time version.at until the next version.
type version struct {
	chat.Outgoing

	at time.Time
}

// mixUp tells whether the bot, when it searched for a message of one reply, found a message of another reply.
type mixUp uint8

const (
	noMixUp      mixUp = iota
	foundByOther       // the search took this message for a message of another reply with the same text
	takenByOther       // a search, which makes edits, replaced the text of this message, whose id was not known yet
)

// message is one message in a chat, with all versions that a person saw.
type message struct {
	id        chat.MessageID
	chat      chat.ChatID
	turn      string
	part      int
	by        *call // the call that created the message
	versions  []version
	made      time.Time
	deletedBy string
	live      bool // the message is a stream that was not stopped
	frozen    bool
	known     bool // a process has made a call with the message's id, so the id was known
	mixed     mixUp
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

// person is the simulated person who sees all chats. The type person contains every message in the chats.
type person struct {
	messages []*message
	drafts   map[chat.Target]version
	ids      map[chat.Target]int64 // the ids of the drafts
}

// button returns the id and the turn of the visible draft whose button stops the turn. The id is 0 if no visible draft
// has such a button.
func (p *person) button(to chat.Target) (id int64, turn string) {
	d, shown := p.drafts[to]
	if !shown || len(d.Actions) == 0 || time.Since(d.at) > draftLife {
		return 0, ""
	}
	turn, _, _ = strings.Cut(d.Key, ".")
	return p.ids[to], turn
}

// message returns the message that ref names, or nil if this message does not exist or was deleted.
func (p *person) message(ref chat.MessageRef) *message {
	i := slices.IndexFunc(p.messages, func(m *message) bool { return m.is(ref) })
	if i < 0 {
		return nil
	}
	return p.messages[i]
}

// keyed returns the message that a create call with this key has made. If there is no such message, or if it is older
// than the duration lately, keyed returns nil.
func (p *person) keyed(to chat.ChatID, key string, lately time.Duration) *message {
	for _, m := range p.messages {
		if m.chat == to && m.key() == key && time.Since(m.made) < lately {
			return m
		}
	}
	return nil
}

// The method of returns the messages of a turn's reply in the order in which the person received them.
func (p *person) of(turn string) (out []*message) {
	for _, m := range p.messages {
		if m.turn == turn && !apart(m.key()) {
			out = append(out, m)
		}
	}
	return out
}

// The method apart returns the separate question messages of a turn, which are not part of the turn's reply.
func (p *person) apart(turn string) (out []*message) {
	for _, m := range p.messages {
		if m.turn == turn && apart(m.key()) {
			out = append(out, m)
		}
	}
	return out
}

// newest returns the newest message in a chat that was not deleted, or nil.
func (p *person) newest(to chat.ChatID) *message {
	for _, m := range slices.Backward(p.messages) {
		if m.chat == to && m.stands() {
			return m
		}
	}
	return nil
}

// squeeze removes white space, so that it does not matter where a text was split.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }
