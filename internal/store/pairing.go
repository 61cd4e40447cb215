package store

import (
	"context"
	"database/sql"

	"telex/internal/chat"
)

// PairingRequests returns everybody who was given a code, oldest first, however long ago.
func (r *Reader) PairingRequests(ctx context.Context) (list []chat.PairingRequest, err error) {
	err = r.viewCurrent(ctx, "list codes", func(t *tx) error {
		list = nil
		return t.each(ctx, func(rows *sql.Rows) error {
			var k chat.PairingRequest
			var at int64
			err := rows.Scan(&k.Endpoint, &k.User, &k.Name, &k.Code, &at)
			k.At = instant(at)
			list = append(list, k)
			return err
		}, listPairingRequests)
	})
	return list, err
}

// SavePairingRequest stores a code in place of the one that the person was given before.
func (s *Store) SavePairingRequest(ctx context.Context, k chat.PairingRequest) error {
	return s.update(ctx, "store code", func(t *tx) error {
		_, err := t.exec(ctx, savePairingRequest, k.Endpoint, k.User, k.Name, k.Code, millis(k.At))
		return err
	})
}

// Admit stores that a person is let in, in place of what was stored of them, and deletes their code.
func (s *Store) Admit(ctx context.Context, a chat.Admission) error {
	return s.update(ctx, "admit person", func(t *tx) error {
		if _, err := t.exec(ctx, saveAdmission, a.Endpoint, a.User, a.Name, a.By, millis(a.At)); err != nil {
			return err
		}
		_, err := t.exec(ctx, deletePairingRequest, a.Endpoint, a.User)
		return err
	})
}

// Admitted returns everybody who was let in, oldest first.
func (r *Reader) Admitted(ctx context.Context) (list []chat.Admission, err error) {
	err = r.viewCurrent(ctx, "list admitted people", func(t *tx) error {
		list = nil
		return t.each(ctx, func(rows *sql.Rows) error {
			var a chat.Admission
			var at int64
			err := rows.Scan(&a.Endpoint, &a.User, &a.Name, &a.By, &at)
			a.At = instant(at)
			list = append(list, a)
			return err
		}, listAdmitted)
	})
	return list, err
}

// Revoke deletes the admission of a person, and reports whether there was one.
func (s *Store) Revoke(ctx context.Context, p chat.Person) (was bool, err error) {
	err = s.update(ctx, "revoke admission", func(t *tx) error {
		n, err := t.exec(ctx, deleteAdmission, p.Endpoint, p.User)
		was = n > 0
		return err
	})
	return was && err == nil, err
}
