package chat

import (
	"fmt"
	"strings"
)

// EndpointID is the name of a configured bot account: the account's key in the configuration.
type EndpointID string

// ChatID, ThreadID, UserID and MessageID are ids on a platform. Only the platform's adapter may parse these ids. All
// other packages may only compare them.
type (
	ChatID    string
	ThreadID  string
	UserID    string
	MessageID string
)

// Kind is the kind of a chat.
type Kind uint8

// These are the kinds of chats. The zero value is Private.
const (
	Private Kind = iota
	Group
)

// String returns the name of the kind in logs.
func (k Kind) String() string {
	if k == Group {
		return "group"
	}
	return "private"
}

// Target is a place on a platform to which the bot can send messages.
type Target struct {
	Chat   ChatID
	Thread ThreadID // empty outside threads and forum topics
	Kind   Kind
}

// MessageRef refers to a message on the platform.
type MessageRef struct {
	Target Target
	ID     MessageID // empty if the platform returned no id; the bot can't edit the message then
}

// Person identifies a person who writes to one endpoint.
type Person struct {
	Endpoint EndpointID
	User     UserID
}

// String returns the person as "endpoint:user:ID", the form in config.yaml.
func (p Person) String() string { return string(p.Endpoint) + ":user:" + string(p.User) }

// ParsePerson parses the result of Person.String.
func ParsePerson(s string) (Person, error) {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) != 3 || parts[0] == "" || parts[1] != "user" || parts[2] == "" {
		return Person{}, fmt.Errorf("invalid person %q: write endpoint:user:ID, such as telegram:user:1234", s)
	}
	return Person{Endpoint: EndpointID(parts[0]), User: UserID(parts[2])}, nil
}

// Conversation identifies a chat, or a thread of a chat, on one endpoint. The bot answers the messages of a
// conversation in order.
type Conversation struct {
	Endpoint EndpointID
	Chat     ChatID
	Thread   ThreadID
}

// String returns the conversation as "endpoint:chat" or "endpoint:chat:thread".
func (c Conversation) String() string {
	parts := []string{string(c.Endpoint), string(c.Chat)}
	if c.Thread != "" {
		parts = append(parts, string(c.Thread))
	}
	return strings.Join(parts, ":")
}

// ParseConversation parses the result of Conversation.String. Chat ids contain no colon. No chat id is "user" or "chat", the
// words by which config.yaml distinguishes kinds of patterns.
func ParseConversation(s string) (Conversation, error) {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) < 2 || parts[0] == "" || parts[1] == "" || len(parts) == 3 && parts[2] == "" {
		return Conversation{}, fmt.Errorf("invalid conversation %q: write endpoint:chat or endpoint:chat:thread, such as telegram:-1001234:42", s)
	}
	c := Conversation{Endpoint: EndpointID(parts[0]), Chat: ChatID(parts[1])}
	if len(parts) == 3 {
		if parts[1] == "user" || parts[1] == "chat" {
			return Conversation{}, fmt.Errorf("%q is a pattern, not a conversation: write endpoint:chat, such as %s:%s", s, parts[0], parts[2])
		}
		c.Thread = ThreadID(parts[2])
	}
	return c, nil
}
