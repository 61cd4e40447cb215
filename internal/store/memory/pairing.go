package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"telex/internal/chat"
)

// PairingRequests implements access.Requests.
func (s *Store) PairingRequests(context.Context) ([]chat.PairingRequest, error) {
	defer s.lock()()
	return oldestFirst(s.requests, func(k chat.PairingRequest) time.Time { return k.At }), nil
}

// SavePairingRequest implements access.Requests.
func (s *Store) SavePairingRequest(_ context.Context, k chat.PairingRequest) error {
	defer s.lock()()
	if err := s.fenceLease(); err != nil {
		return err
	}
	others := 0
	for p, other := range s.requests {
		if p.Endpoint == k.Endpoint && p != k.Person && k.At.Sub(other.At) < chat.PairingLife {
			others++
		}
	}
	if others >= chat.MaxPairingRequests {
		return fmt.Errorf("store code: %w", chat.ErrManyRequests)
	}
	s.requests[k.Person] = k
	s.signal(chat.SignalAccess)
	return nil
}

// Admit implements access.Admissions.
func (s *Store) Admit(_ context.Context, a chat.Admission) error {
	defer s.lock()()
	if err := s.fenceLease(); err != nil {
		return err
	}
	delete(s.requests, a.Person)
	s.admitted[a.Person] = a
	s.signal(chat.SignalAccess)
	return nil
}

// Admitted implements access.Admissions.
func (s *Store) Admitted(context.Context) ([]chat.Admission, error) {
	defer s.lock()()
	return oldestFirst(s.admitted, func(a chat.Admission) time.Time { return a.At }), nil
}

// Revoke implements access.Admissions.
func (s *Store) Revoke(_ context.Context, p chat.Person) (bool, error) {
	defer s.lock()()
	if err := s.fenceLease(); err != nil {
		return false, err
	}
	_, was := s.admitted[p]
	delete(s.admitted, p)
	s.signal(chat.SignalAccess)
	return was, nil
}

// oldestFirst returns the values ordered by time. Values with the same time are ordered by person.
func oldestFirst[T any](of map[chat.Person]T, at func(T) time.Time) (list []T) {
	for _, p := range slices.SortedFunc(maps.Keys(of), func(a, b chat.Person) int {
		return cmp.Or(at(of[a]).Compare(at(of[b])), cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.User, b.User))
	}) {
		list = append(list, of[p])
	}
	return list
}
