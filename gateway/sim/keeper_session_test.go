package sim

import (
	"context"

	"telex/internal/chat"
)

func (k *keeper) Join(ctx context.Context, turn string, ids ...chat.MessageID) error {
	return k.write(func() error { return k.l.w.store.Join(ctx, turn, ids...) }, func() {
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
	return k.l.w.store.Session(ctx, c)
}

func (k *keeper) Choose(ctx context.Context, c chat.Conversation, model string) error {
	return k.write(func() error { return k.l.w.store.Choose(ctx, c, model) }, nil)
}

func (k *keeper) Undo(ctx context.Context, c chat.Conversation, says chat.Turn) (undone []chat.Entry, err error) {
	err = k.write(func() error {
		undone, err = k.l.w.store.Undo(ctx, c, says)
		return err
	}, func() { k.begun(says); k.l.w.undone(undone, says) })
	return undone, err
}

func (k *keeper) Erase(ctx context.Context, c chat.Conversation, u chat.UserID) (n int, err error) {
	err = k.write(func() error {
		n, err = k.l.w.store.Erase(ctx, c, u)
		return err
	}, func() { k.l.w.forgotten(c, u) })
	return n, err
}

func (k *keeper) Used(ctx context.Context, of chat.UsageOf) (chat.Used, error) {
	return k.l.w.store.Used(ctx, of)
}

func (k *keeper) PairingRequests(ctx context.Context) ([]chat.PairingRequest, error) {
	return k.l.w.store.PairingRequests(ctx)
}

func (k *keeper) SavePairingRequest(ctx context.Context, p chat.PairingRequest) error {
	return k.write(func() error { return k.l.w.store.SavePairingRequest(ctx, p) }, nil)
}

func (k *keeper) Admit(ctx context.Context, a chat.Admission) error {
	return k.write(func() error { return k.l.w.store.Admit(ctx, a) }, nil)
}

func (k *keeper) Admitted(ctx context.Context) ([]chat.Admission, error) {
	return k.l.w.store.Admitted(ctx)
}

func (k *keeper) Revoke(ctx context.Context, p chat.Person) (was bool, err error) {
	err = k.write(func() error {
		was, err = k.l.w.store.Revoke(ctx, p)
		return err
	}, nil)
	return was, err
}

func (k *keeper) Note(ctx context.Context, turn string, steps ...chat.Step) error {
	return k.write(func() error { return k.l.w.store.Note(ctx, turn, steps...) }, func() { k.l.w.noteSteps(turn, steps) })
}

func (k *keeper) Consent(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) error {
	return k.write(func() error { return k.l.w.store.Consent(ctx, c, u, tool) }, func() { k.l.w.noteConsent(c, u, tool) })
}

func (k *keeper) Consented(ctx context.Context, c chat.Conversation, u chat.UserID, tool string) (bool, error) {
	return k.l.w.store.Consented(ctx, c, u, tool)
}

func (k *keeper) Facts(ctx context.Context, p chat.Person) ([]chat.Fact, error) {
	return k.l.w.store.Facts(ctx, p)
}

func (k *keeper) Remember(ctx context.Context, p chat.Person, text string) (f chat.Fact, err error) {
	err = k.write(func() error {
		f, err = k.l.w.store.Remember(ctx, p, text)
		return err
	}, nil)
	return f, err
}

func (k *keeper) ForgetFact(ctx context.Context, p chat.Person, id string) (was bool, err error) {
	err = k.write(func() error {
		was, err = k.l.w.store.ForgetFact(ctx, p, id)
		return err
	}, nil)
	return was, err
}

func (k *keeper) ForgetFacts(ctx context.Context, p chat.Person) (n int, err error) {
	err = k.write(func() error {
		n, err = k.l.w.store.ForgetFacts(ctx, p)
		return err
	}, nil)
	return n, err
}
