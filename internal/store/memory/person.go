package memory

import (
	"context"
	"slices"
	"strconv"
	"time"

	"telex/internal/chat"
)

// consent is a permanent approval.
type consent struct {
	conversation chat.Conversation
	user         chat.UserID
	tool         string
}

// Consent implements approval.Store.
func (s *Store) Consent(_ context.Context, c chat.Conversation, u chat.UserID, tool string) error {
	defer s.lock()()
	if err := s.fence(c); err != nil {
		return err
	}
	s.consents[consent{s.now(c), u, tool}] = true
	return nil
}

// Consented implements approval.Store.
func (s *Store) Consented(_ context.Context, c chat.Conversation, u chat.UserID, tool string) (bool, error) {
	defer s.lock()()
	return s.consents[consent{s.now(c), u, tool}], nil
}

// revoke deletes the permanent approvals of a person in a conversation. If u is empty, revoke deletes the permanent
// approvals of everybody in the conversation.
func (s *Store) revoke(c chat.Conversation, u chat.UserID) {
	for k := range s.consents {
		if k.conversation == c && (u == "" || k.user == u) {
			delete(s.consents, k)
		}
	}
}

// Facts implements gateway.Facts.
func (s *Store) Facts(_ context.Context, p chat.Person) ([]chat.Fact, error) {
	defer s.lock()()
	return slices.Clone(s.facts[p]), nil
}

// Remember implements gateway.Facts.
func (s *Store) Remember(_ context.Context, p chat.Person, text string, most int) (chat.Remembered, error) {
	defer s.lock()()
	if err := s.fenceLease(); err != nil {
		return chat.Remembered{}, err
	}
	r := chat.Remember(s.facts[p], text, most)
	if r.IsNew() {
		s.told[p]++
		r.Fact = chat.Fact{ID: strconv.Itoa(s.told[p]), Text: text, At: time.Now()}
		s.facts[p] = append(s.facts[p], r.Fact)
	}
	return r, nil
}

// ForgetFact implements gateway.Facts.
func (s *Store) ForgetFact(_ context.Context, p chat.Person, id string) (bool, error) {
	defer s.lock()()
	if err := s.fenceLease(); err != nil {
		return false, err
	}
	before := len(s.facts[p])
	s.facts[p] = slices.DeleteFunc(s.facts[p], func(f chat.Fact) bool { return f.ID == id })
	return len(s.facts[p]) < before, nil
}

// ForgetFacts implements gateway.Facts.
func (s *Store) ForgetFacts(_ context.Context, p chat.Person) (int, error) {
	defer s.lock()()
	if err := s.fenceLease(); err != nil {
		return 0, err
	}
	n := len(s.facts[p])
	delete(s.facts, p)
	return n, nil
}
