package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"telex/gateway/access"
	"telex/internal/chat"
)

// Pairing lists the pairing requests and the people whose codes were approved, oldest first.
type Pairing struct {
	Waiting  []Waiting  `json:"waiting"`
	Admitted []Admitted `json:"admitted"`
}

// Waiting is a person whose code is valid and has not been approved yet.
type Waiting struct {
	Code   string    `json:"code"`
	Person string    `json:"person"` // in the form that config.yaml uses
	Name   string    `json:"name"`
	At     time.Time `json:"at"`
}

// Admitted is a person whose code was approved.
type Admitted struct {
	Person string    `json:"person"`
	Name   string    `json:"name"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// Deletion says what to delete: the session of a conversation, or the data of a person. Exactly one of the fields of a
// Deletion is set.
type Deletion struct {
	Conversation string `json:"conversation,omitempty"`
	Person       string `json:"person,omitempty"`
}

// Deleted says how much data was deleted.
type Deleted struct {
	Messages int  `json:"messages"` // number of deleted history entries and waiting messages
	Code     bool `json:"code"`     // a pairing request or an admission was deleted
}

// ParsePerson parses a person's id from the command line.
func ParsePerson(s string) (chat.Person, error) { return chat.ParsePerson(s) }

// ParseConversation parses a conversation's id from the command line.
func ParseConversation(s string) (chat.Conversation, error) { return chat.ParseConversation(s) }

// operator is stored as the approver if a person is admitted by a command on this machine.
const operator = "operator"

// operations are what an operator can do with commands. A *localAdmin does the operator's operations in this process. A remote
// asks the daemon to do the operator's operations.
type operations interface {
	pairing(ctx context.Context) (Pairing, error)
	approve(ctx context.Context, code string) (Admitted, error)
	revoke(ctx context.Context, p chat.Person) error
	delete(ctx context.Context, d Deletion) (Deleted, error)
}

// localAdmin does an operator's operations in the process that has opened the store.
type localAdmin struct {
	store  keptStore
	policy *access.Policy
	// forget deletes a conversation's session and its chosen model, and stops its turns. erase stops a person's turns,
	// deletes the person's entries in the conversations of these turns, and returns how many entries it has deleted.
	// erase is nil if no turn can be running.
	forget func(context.Context, chat.Conversation) error
	erase  func(context.Context, chat.Person) (int, error)
}

func (l *localAdmin) pairing(context.Context) (Pairing, error) {
	p := Pairing{Waiting: []Waiting{}, Admitted: []Admitted{}}
	for _, k := range l.policy.PairingRequests() {
		p.Waiting = append(p.Waiting, Waiting{Code: k.Code, Person: k.String(), Name: k.Name, At: k.At})
	}
	for _, a := range l.policy.Admitted() {
		p.Admitted = append(p.Admitted, admitted(a))
	}
	return p, nil
}

func (l *localAdmin) approve(ctx context.Context, code string) (Admitted, error) {
	a, err := l.policy.Approve(ctx, code, operator)
	return admitted(a), err
}

func admitted(a chat.Admission) Admitted {
	return Admitted{Person: a.String(), Name: a.Name, By: a.By, At: a.At}
}

func (l *localAdmin) revoke(ctx context.Context, p chat.Person) error {
	err := l.policy.Revoke(ctx, p, operator)
	if errors.Is(err, access.ErrNobody) {
		return fmt.Errorf("%w; if access in the configuration names this person, remove them there", err)
	}
	return err
}

func (l *localAdmin) delete(ctx context.Context, what Deletion) (Deleted, error) {
	if what.Person != "" {
		p, err := chat.ParsePerson(what.Person)
		if err != nil {
			return Deleted{}, err
		}
		return l.deletePerson(ctx, p)
	}
	c, err := chat.ParseConversation(what.Conversation)
	if err != nil {
		return Deleted{}, err
	}
	return l.deleteConversation(ctx, c)
}

func (l *localAdmin) deleteConversation(ctx context.Context, c chat.Conversation) (Deleted, error) {
	s, entries, err := l.store.Transcript(ctx, c)
	if err != nil {
		return Deleted{}, err
	}
	// A turn may be running in the conversation even if nothing is stored yet. So call forget, which stops the turn.
	if err := l.forget(ctx, c); err != nil {
		return Deleted{}, err
	}
	if len(entries) == 0 && s.Model == "" && s.Summary == "" {
		return Deleted{}, errNoSession(c)
	}
	return Deleted{Messages: len(entries)}, nil
}

// deletePerson deletes the data of a person. deletePerson first revokes the admission, so that the bot stores no new
// data of the person meanwhile.
func (l *localAdmin) deletePerson(ctx context.Context, p chat.Person) (Deleted, error) {
	err := l.policy.Revoke(ctx, p, operator)
	if err != nil && !errors.Is(err, access.ErrNobody) {
		return Deleted{}, err
	}
	code := err == nil || slices.ContainsFunc(l.policy.PairingRequests(), func(k chat.PairingRequest) bool { return k.Person == p })
	n := 0
	if l.erase != nil {
		var err error
		if n, err = l.erase(ctx, p); err != nil {
			return Deleted{}, err
		}
	}
	rest, err := l.store.DeletePerson(ctx, p)
	if err != nil {
		return Deleted{}, err
	}
	l.policy.Withdraw(p)
	return Deleted{Messages: n + rest, Code: code}, nil
}

func errNoSession(c chat.Conversation) error {
	return fmt.Errorf("unknown conversation %s: telex sessions list shows all of them", c)
}
