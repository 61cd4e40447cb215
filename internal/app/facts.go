package app

import (
	"context"
	"errors"
	"log/slog"

	"telex/agent/tool"
	"telex/gateway"
	"telex/internal/chat"
)

// facts lets tools keep what people asked to be remembered where the gateway keeps it: /memory shows the same.
type facts struct {
	store gateway.Facts
	log   *slog.Logger
}

var _ tool.Facts = facts{}

// errFacts is all that a model is told: what went wrong names files.
var errFacts = errors.New("what is remembered can't be reached right now")

// Facts returns what is remembered for a person, oldest first.
func (f facts) Facts(ctx context.Context, person string) ([]tool.Fact, error) {
	return about(ctx, f, person, func(p chat.Person) (out []tool.Fact, err error) {
		known, err := f.store.Facts(ctx, p)
		for _, k := range known {
			out = append(out, tool.Fact(k))
		}
		return out, err
	})
}

// Add remembers a line for a person.
func (f facts) Add(ctx context.Context, person, text string) (tool.Fact, error) {
	return about(ctx, f, person, func(p chat.Person) (tool.Fact, error) {
		fact, err := f.store.Remember(ctx, p, text)
		return tool.Fact(fact), err
	})
}

// Remove forgets one and says whether it was there.
func (f facts) Remove(ctx context.Context, person, id string) (bool, error) {
	return about(ctx, f, person, func(p chat.Person) (bool, error) { return f.store.ForgetFact(ctx, p, id) })
}

// about asks the store about a person. It logs what the operator must know of a failure and returns what the model may.
func about[T any](ctx context.Context, f facts, person string, ask func(chat.Person) (T, error)) (answer T, err error) {
	p, err := chat.ParsePerson(person)
	if err != nil {
		return answer, err
	}
	switch answer, err = ask(p); {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil: // its turn was stopped
		return answer, ctx.Err()
	}
	f.log.Error("what people asked to be remembered can't be read or stored", slog.Any("error", err))
	return answer, errFacts
}
