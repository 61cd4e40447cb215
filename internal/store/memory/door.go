package memory

import (
	"cmp"
	"context"
	"slices"

	"telex/internal/chat"
)

// Knocking implements access.Store.
func (s *Store) Knocking(context.Context) ([]chat.Knocking, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(s.knocking), func(a, b chat.Knocking) int {
		return cmp.Or(a.At.Compare(b.At), inOrder(a.Person, b.Person))
	}), nil
}

// Knock implements access.Store.
func (s *Store) Knock(_ context.Context, k chat.Knocking) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknock(k.Person)
	s.knocking = append(s.knocking, k)
	return nil
}

// Unknock implements access.Store.
func (s *Store) Unknock(_ context.Context, ps ...chat.Person) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range ps {
		s.unknock(p)
	}
	return nil
}

func (s *Store) unknock(p chat.Person) {
	s.knocking = slices.DeleteFunc(s.knocking, func(k chat.Knocking) bool { return k.Person == p })
}

// Admit implements access.Store.
func (s *Store) Admit(_ context.Context, a chat.Admission) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknock(a.Person)
	s.dismiss(a.Person)
	s.admitted = append(s.admitted, a)
	return nil
}

// Admitted implements access.Store.
func (s *Store) Admitted(context.Context) ([]chat.Admission, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(s.admitted), func(a, b chat.Admission) int {
		return cmp.Or(a.At.Compare(b.At), inOrder(a.Person, b.Person))
	}), nil
}

// Dismiss implements access.Store.
func (s *Store) Dismiss(_ context.Context, p chat.Person) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dismiss(p), nil
}

func (s *Store) dismiss(p chat.Person) bool {
	before := len(s.admitted)
	s.admitted = slices.DeleteFunc(s.admitted, func(a chat.Admission) bool { return a.Person == p })
	return len(s.admitted) < before
}

// inOrder compares people, so that the order is one even among those of one instant.
func inOrder(a, b chat.Person) int {
	return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.User, b.User))
}
