package memory

import (
	"cmp"
	"context"
	"slices"

	"telex/internal/chat"
)

// PairingRequests implements access.Requests.
func (s *Store) PairingRequests(context.Context) ([]chat.PairingRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(s.requests), func(a, b chat.PairingRequest) int {
		return cmp.Or(a.At.Compare(b.At), inOrder(a.Person, b.Person))
	}), nil
}

// SavePairingRequest implements access.Requests.
func (s *Store) SavePairingRequest(_ context.Context, k chat.PairingRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deletePairingRequest(k.Person)
	s.requests = append(s.requests, k)
	return nil
}

func (s *Store) deletePairingRequest(p chat.Person) {
	s.requests = slices.DeleteFunc(s.requests, func(k chat.PairingRequest) bool { return k.Person == p })
}

// Admit implements access.Admissions.
func (s *Store) Admit(_ context.Context, a chat.Admission) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deletePairingRequest(a.Person)
	s.dropAdmission(a.Person)
	s.admitted = append(s.admitted, a)
	return nil
}

// Admitted implements access.Admissions.
func (s *Store) Admitted(context.Context) ([]chat.Admission, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(s.admitted), func(a, b chat.Admission) int {
		return cmp.Or(a.At.Compare(b.At), inOrder(a.Person, b.Person))
	}), nil
}

// Revoke implements access.Admissions.
func (s *Store) Revoke(_ context.Context, p chat.Person) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropAdmission(p), nil
}

func (s *Store) dropAdmission(p chat.Person) bool {
	before := len(s.admitted)
	s.admitted = slices.DeleteFunc(s.admitted, func(a chat.Admission) bool { return a.Person == p })
	return len(s.admitted) < before
}

// inOrder compares people, so that the order is one even among those of one instant.
func inOrder(a, b chat.Person) int {
	return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.User, b.User))
}
