package app

import (
	"context"
	"errors"
	"log/slog"

	"telex/agent/tool"
	"telex/gateway"
	"telex/internal/chat"
)

// facts lets tools read and change the facts that the gateway stores about people. The command /memory shows people the same
// facts.
type facts struct {
	store      gateway.Facts
	log        *slog.Logger
	checkLease func(error) (lost bool) // the gateway's CheckLease
}

var _ tool.Facts = facts{}

// errFacts is the error that a model sees if the store fails. The model must not see the real error, which contains
// file names.
var errFacts = errors.New("the remembered facts can't be reached right now")

// Facts returns the facts about a person, oldest first.
func (f facts) Facts(ctx context.Context, person string) ([]tool.Fact, error) {
	return about(ctx, f, person, func(p chat.Person) (out []tool.Fact, err error) {
		known, err := f.store.Facts(ctx, p)
		for _, k := range known {
			out = append(out, tool.Fact(k))
		}
		return out, err
	})
}

// Add stores a fact about a person. Add stores nothing if the fact is already stored, or if the person already has the
// maximum number of facts.
func (f facts) Add(ctx context.Context, person, text string) (tool.Remembered, error) {
	return about(ctx, f, person, func(p chat.Person) (tool.Remembered, error) {
		r, err := f.store.Remember(ctx, p, text, tool.MaxFacts)
		return tool.Remembered{Fact: tool.Fact(r.Fact), Known: r.Known, Full: r.Full}, err
	})
}

// Remove deletes a fact about a person, and reports whether the fact existed.
func (f facts) Remove(ctx context.Context, person, id string) (bool, error) {
	return about(ctx, f, person, func(p chat.Person) (bool, error) { return f.store.ForgetFact(ctx, p, id) })
}

// about parses the person's id and calls the function ask, which uses the store. If the function ask fails while the turn still
// runs and the lease still holds, about logs the error, and returns another error that the model may see.
func about[T any](ctx context.Context, f facts, person string, ask func(chat.Person) (T, error)) (answer T, err error) {
	p, err := chat.ParsePerson(person)
	if err != nil {
		return answer, err
	}
	switch answer, err = ask(p); {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil: // the turn was stopped
		return answer, ctx.Err()
	case f.checkLease(err): // the lease of this replica is lost: the next owner of the chat runs the turn again
		<-ctx.Done() // the gateway does not end turns of the API server; for such a turn, the tool's timeout ends this wait
		return answer, ctx.Err()
	}
	f.log.Error("the remembered facts can't be read or stored", slog.Any("error", err))
	return answer, errFacts
}
