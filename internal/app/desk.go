package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"telex/gateway/access"
	"telex/internal/chat"
	"telex/internal/store"
)

// Pairing is who waits to be let in, and who was let in by a code, oldest first.
type Pairing struct {
	Waiting  []Waiting  `json:"waiting"`
	Admitted []Admitted `json:"admitted"`
}

// Waiting is somebody with a valid code.
type Waiting struct {
	Code   string    `json:"code"`
	Person string    `json:"person"` // as config.yaml writes people
	Name   string    `json:"name"`
	At     time.Time `json:"at"`
}

// Admitted is somebody who was let in by a code.
type Admitted struct {
	Person string    `json:"person"`
	Name   string    `json:"name"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// Deletion says what is to be deleted: a conversation's session, or everything of a person. The other is empty.
type Deletion struct {
	Conversation string `json:"conversation,omitempty"`
	Person       string `json:"person,omitempty"`
}

// Deleted says how much went.
type Deleted struct {
	Messages int  `json:"messages"` // of histories, and such as waited for an answer
	Code     bool `json:"code"`     // a code that they were given, or that had let them in
}

// ParsePerson reads a person as the command line takes them.
func ParsePerson(s string) (chat.Person, error) { return chat.ParsePerson(s) }

// ParseConversation reads a conversation as the command line takes it.
func ParseConversation(s string) (chat.Conversation, error) { return chat.ParseConversation(s) }

// operator is how approvals are signed that were made on the machine.
const operator = "operator"

// operations are what an operator may do. A *desk does them, a remote has them done.
type operations interface {
	pairing(ctx context.Context) (Pairing, error)
	approve(ctx context.Context, code string) (Admitted, error)
	revoke(ctx context.Context, p chat.Person) error
	delete(ctx context.Context, d Deletion) (Deleted, error)
}

// desk does what an operator asks for, in the process that holds the store.
type desk struct {
	store *store.Store
	door  *access.Door
	// forget deletes a conversation's session, and ends what runs there. erase ends what runs for a person,
	// deletes what they said there, and says how much that was; nil: nothing runs.
	forget func(context.Context, chat.Conversation) error
	erase  func(context.Context, chat.Person) (int, error)
}

func (d *desk) pairing(context.Context) (Pairing, error) {
	p := Pairing{Waiting: []Waiting{}, Admitted: []Admitted{}}
	for _, k := range d.door.Knocking() {
		p.Waiting = append(p.Waiting, Waiting{Code: k.Code, Person: k.String(), Name: k.Name, At: k.At})
	}
	for _, a := range d.door.Admitted() {
		p.Admitted = append(p.Admitted, admitted(a))
	}
	return p, nil
}

func (d *desk) approve(ctx context.Context, code string) (Admitted, error) {
	a, err := d.door.Approve(ctx, code, operator)
	return admitted(a), err
}

func admitted(a chat.Admission) Admitted {
	return Admitted{Person: a.String(), Name: a.Name, By: a.By, At: a.At}
}

func (d *desk) revoke(ctx context.Context, p chat.Person) error {
	err := d.door.Dismiss(ctx, p, operator)
	if errors.Is(err, access.ErrNobody) {
		return fmt.Errorf("%w: whom access names in the configuration is dismissed there", err)
	}
	return err
}

func (d *desk) delete(ctx context.Context, what Deletion) (Deleted, error) {
	if what.Person != "" {
		p, err := chat.ParsePerson(what.Person)
		if err != nil {
			return Deleted{}, err
		}
		return d.deletePerson(ctx, p)
	}
	c, err := chat.ParseConversation(what.Conversation)
	if err != nil {
		return Deleted{}, err
	}
	return d.deleteConversation(ctx, c)
}

func (d *desk) deleteConversation(ctx context.Context, c chat.Conversation) (Deleted, error) {
	s, entries, err := d.store.Transcript(ctx, c)
	if err != nil {
		return Deleted{}, err
	}
	// What runs there is ended even where nothing is kept yet.
	if err := d.forget(ctx, c); err != nil {
		return Deleted{}, err
	}
	if s.Model != "" {
		if err := d.store.Choose(ctx, c, ""); err != nil {
			return Deleted{}, err
		}
	}
	if len(entries) == 0 && s.Model == "" && s.Summary == "" {
		return Deleted{}, errNoSession(c)
	}
	return Deleted{Messages: len(entries)}, nil
}

// deletePerson first shuts the door, so that nothing new comes while the rest goes.
func (d *desk) deletePerson(ctx context.Context, p chat.Person) (Deleted, error) {
	err := d.door.Dismiss(ctx, p, operator)
	if err != nil && !errors.Is(err, access.ErrNobody) {
		return Deleted{}, err
	}
	code := err == nil || slices.ContainsFunc(d.door.Knocking(), func(k chat.Knocking) bool { return k.Person == p })
	n := 0
	if d.erase != nil {
		var err error
		if n, err = d.erase(ctx, p); err != nil {
			return Deleted{}, err
		}
	}
	rest, err := d.store.DeletePerson(ctx, p)
	if err != nil {
		return Deleted{}, err
	}
	d.door.Leaves(p)
	return Deleted{Messages: n + rest, Code: code}, nil
}

func errNoSession(c chat.Conversation) error {
	return fmt.Errorf("nothing is kept of a conversation %s: telex sessions list shows those that are", c)
}
