package chat

import (
	"fmt"
	"strings"
)

// EndpointID names one configured bot account; it is the account's key in the config.
type EndpointID string

// ChatID, ThreadID, UserID and MessageID are a platform's own ids. Only the adapter that
// made one may parse it; to everybody else they are opaque and comparable.
type (
	ChatID    string
	ThreadID  string
	UserID    string
	MessageID string
)

// Kind says what sort of place a chat is.
type Kind uint8

// The kinds of chat. The zero value is Private, the place with the fewest listeners.
const (
	Private Kind = iota
	Group
)

// String returns the kind as it stands in logs.
func (k Kind) String() string {
	if k == Group {
		return "group"
	}
	return "private"
}

// Target is a place that a message can be sent to, as one adapter understands it.
type Target struct {
	Chat   ChatID
	Thread ThreadID // empty outside threads and forum topics
	Kind   Kind
}

// MessageRef names a message that exists on the platform.
type MessageRef struct {
	Target Target
	ID     MessageID // empty when the platform returned no id: then the message can't be edited
}

// Person is somebody on one endpoint.
type Person struct {
	Endpoint EndpointID
	User     UserID
}

// String returns the person as "endpoint:user:ID", which is how config.yaml writes them.
func (p Person) String() string { return string(p.Endpoint) + ":user:" + string(p.User) }

// ParsePerson reads what Person.String wrote.
func ParsePerson(s string) (Person, error) {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) != 3 || parts[0] == "" || parts[1] != "user" || parts[2] == "" {
		return Person{}, fmt.Errorf("invalid person %q: write endpoint:user:ID, such as telegram:user:1234", s)
	}
	return Person{Endpoint: EndpointID(parts[0]), User: UserID(parts[2])}, nil
}

// Conversation is the unit of order: endpoint, chat and thread.
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

// ParseConversation reads what Conversation.String wrote. Chat ids contain no colon, and
// none begins like a pattern of config.yaml.
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
