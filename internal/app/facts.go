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
	p, err := chat.ParsePerson(person)
	if err != nil {
		return nil, err
	}
	known, err := f.store.Facts(ctx, p)
	if err != nil {
		return nil, f.failed(ctx, err)
	}
	var out []tool.Fact
	for _, k := range known {
		out = append(out, tool.Fact(k))
	}
	return out, nil
}

// Add remembers a line for a person.
func (f facts) Add(ctx context.Context, person, text string) (tool.Fact, error) {
	p, err := chat.ParsePerson(person)
	if err != nil {
		return tool.Fact{}, err
	}
	fact, err := f.store.Remember(ctx, p, text)
	if err != nil {
		return tool.Fact{}, f.failed(ctx, err)
	}
	return tool.Fact(fact), nil
}

// Remove forgets one and says whether it was there.
func (f facts) Remove(ctx context.Context, person, id string) (bool, error) {
	p, err := chat.ParsePerson(person)
	if err != nil {
		return false, err
	}
	was, err := f.store.ForgetFact(ctx, p, id)
	if err != nil {
		return false, f.failed(ctx, err)
	}
	return was, nil
}

// failed logs what the operator must know and returns what the model may.
func (f facts) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil { // its turn was stopped
		return ctx.Err()
	}
	f.log.Error("what people asked to be remembered can't be read or stored", slog.Any("error", err))
	return errFacts
}
