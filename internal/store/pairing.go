package store

import (
	"context"

	"telex/internal/chat"
)

// PairingRequests returns all pairing requests, oldest first, including expired ones.
func (r *Reader) PairingRequests(ctx context.Context) ([]chat.PairingRequest, error) {
	return resultOf(ctx, r.viewCurrent, "list codes", func(t *tx) []chat.PairingRequest {
		return rows(t, func(k *chat.PairingRequest) []any {
			return []any{&k.Endpoint, &k.User, &k.Name, &k.Code, (*storedTime)(&k.At)}
		}, listPairingRequests)
	})
}

// SavePairingRequest stores a request, which replaces an earlier request of the same person. SavePairingRequest fails
// with chat.ErrManyRequests if other people already have the maximum number of valid requests for the endpoint.
func (s *Store) SavePairingRequest(ctx context.Context, k chat.PairingRequest) error {
	return s.update(ctx, "store code", func(t *tx) {
		if t.exec(savePairingRequest, k.Endpoint, k.User, k.Name, k.Code, millis(k.At), millis(k.At.Add(-chat.PairingLife)), chat.MaxPairingRequests) == 0 {
			t.fail(chat.ErrManyRequests)
		}
	})
}

// Admit stores an admission, which replaces an earlier admission of the same person. Admit also deletes the pairing
// request of the admitted person.
func (s *Store) Admit(ctx context.Context, a chat.Admission) error {
	return s.update(ctx, "admit person", func(t *tx) {
		t.exec(saveAdmission, a.Endpoint, a.User, a.Name, a.By, millis(a.At))
		t.exec(deletePairingRequest, a.Endpoint, a.User)
	})
}

// Admitted returns all admissions, oldest first.
func (r *Reader) Admitted(ctx context.Context) ([]chat.Admission, error) {
	return resultOf(ctx, r.viewCurrent, "list admitted people", func(t *tx) []chat.Admission {
		return rows(t, func(a *chat.Admission) []any {
			return []any{&a.Endpoint, &a.User, &a.Name, &a.By, (*storedTime)(&a.At)}
		}, listAdmitted)
	})
}

// Revoke deletes the admission of a person, and reports whether the person was admitted.
func (s *Store) Revoke(ctx context.Context, p chat.Person) (bool, error) {
	return resultOf(ctx, s.update, "revoke admission", func(t *tx) bool { return t.exec(deleteAdmission, p.Endpoint, p.User) > 0 })
}
