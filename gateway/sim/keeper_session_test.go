package sim

import (
	"context"
	"slices"

	"telex/internal/chat"
)

func (k *keeper) Join(ctx context.Context, turn string, ids ...chat.MessageID) error {
	return k.write(ctx, func() error { return k.store.Join(ctx, turn, ids...) }, func() {
		for _, id := range ids {
			if t, n := k.l.w.turns[turn], numberOf(id); t != nil {
				t.messages = append(t.messages, n)
				k.l.w.messages[n].joined = true
			}
		}
		k.l.w.note("turn %s takes %v in", turn, ids)
	})
}

func (k *keeper) Session(ctx context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error) {
	type session struct {
		chat.Session
		entries []chat.Entry
	}
	s, err := read(ctx, k, func() (s session, err error) {
		s.Session, s.entries, err = k.store.Session(ctx, c)
		return s, err
	})
	return s.Session, s.entries, err
}

func (k *keeper) Choose(ctx context.Context, c chat.Conversation, model string) error {
	return k.write(ctx, func() error { return k.store.Choose(ctx, c, model) }, nil)
}

func (k *keeper) Undo(ctx context.Context, c chat.Conversation, says chat.Turn) (undone []chat.Entry, err error) {
	err = k.write(ctx, func() error {
		stored := says
		stored.Ending = k.written(says.Ending)
		undone, err = k.store.Undo(ctx, c, stored)
		return err
	}, func() { k.begun(says); k.l.w.undone(undone, says) })
	return undone, err
}

func (k *keeper) Erase(ctx context.Context, c chat.Conversation, u chat.UserID) (n int, err error) {
	err = k.write(ctx, func() error {
		n, err = k.store.Erase(ctx, c, u)
		return err
	}, func() { k.l.w.forgotten(c, u) })
	return n, err
}

func (k *keeper) Used(ctx context.Context, of chat.UsageOf) (chat.Used, error) {
	return read(ctx, k, func() (chat.Used, error) { return k.store.Used(ctx, of) })
}

func (k *keeper) PairingRequests(ctx context.Context) ([]chat.PairingRequest, error) {
	return read(ctx, k, func() ([]chat.PairingRequest, error) { return k.store.PairingRequests(ctx) })
}

func (k *keeper) SavePairingRequest(ctx context.Context, p chat.PairingRequest) error {
	return k.write(ctx, func() error { return k.store.SavePairingRequest(ctx, p) }, nil)
}

func (k *keeper) Admit(ctx context.Context, a chat.Admission) error {
	return k.write(ctx, func() error { return k.store.Admit(ctx, a) }, nil)
}

func (k *keeper) Admitted(ctx context.Context) ([]chat.Admission, error) {
	return read(ctx, k, func() ([]chat.Admission, error) { return k.store.Admitted(ctx) })
}

func (k *keeper) Revoke(ctx context.Context, p chat.Person) (was bool, err error) {
	err = k.write(ctx, func() error {
		was, err = k.store.Revoke(ctx, p)
		return err
	}, nil)
	return was, err
}

func (k *keeper) Note(ctx context.Context, turn string, steps ...chat.Step) error {
	stored := slices.Clone(steps)
	for i, s := range stored {
		stored[i].Body = k.written(s.Body)
	}
	return k.write(ctx, func() error { return k.store.Note(ctx, turn, stored...) }, func() { k.noteSteps(turn, steps) })
}

func (k *keeper) Consent(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) error {
	return k.write(ctx, func() error { return k.store.Consent(ctx, c, u, tool) }, func() { k.l.w.noteConsent(c, u, tool) })
}

func (k *keeper) Consented(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) (bool, error) {
	return read(ctx, k, func() (bool, error) { return k.store.Consented(ctx, c, u, tool) })
}

func (k *keeper) Facts(ctx context.Context, p chat.Person) ([]chat.Fact, error) {
	return read(ctx, k, func() ([]chat.Fact, error) { return k.store.Facts(ctx, p) })
}

func (k *keeper) Remember(ctx context.Context, p chat.Person, text string, most int) (r chat.Remembered, err error) {
	err = k.write(ctx, func() error {
		r, err = k.store.Remember(ctx, p, text, most)
		return err
	}, nil)
	return r, err
}

func (k *keeper) ForgetFact(ctx context.Context, p chat.Person, id string) (was bool, err error) {
	err = k.write(ctx, func() error {
		was, err = k.store.ForgetFact(ctx, p, id)
		return err
	}, nil)
	return was, err
}

func (k *keeper) ForgetFacts(ctx context.Context, p chat.Person) (n int, err error) {
	err = k.write(ctx, func() error {
		n, err = k.store.ForgetFacts(ctx, p)
		return err
	}, nil)
	return n, err
}
