package gateway

import (
	"context"
	"fmt"
	"strings"

	"telex/internal/chat"
)

// Facts stores what people asked the bot to remember. The facts about a person are the same in all of the person's
// conversations.
type Facts interface {
	// Facts returns the facts about a person, oldest first.
	Facts(ctx context.Context, p chat.Person) ([]chat.Fact, error)
	// Remember stores a fact with an id and the time. Remember stores nothing if the store already contains a fact about
	// the person with this text. Remember also stores nothing if the number of stored facts about the person has already
	// reached the limit most. Calls of Remember for one person run one after the other, even calls of different processes.
	Remember(ctx context.Context, p chat.Person, text string, most int) (chat.Remembered, error)
	// ForgetFact deletes one fact and reports whether it existed.
	ForgetFact(ctx context.Context, p chat.Person, id string) (bool, error)
	// ForgetFacts deletes all facts about a person and returns their number.
	ForgetFacts(ctx context.Context, p chat.Person) (int, error)
}

// cmdMemory is the name of a command that exists only if models have the memory tool.
const cmdMemory = "memory"

// asksForMemory reports whether the words after /memory are valid arguments.
func asksForMemory(args []string) bool {
	return len(args) == 2 && strings.EqualFold(args[0], forgetWord)
}

// forgetWord is the argument of /memory that deletes facts.
const forgetWord = "forget"

// memory lists or deletes the facts about a person.
func (a *actor) memory(in chat.Inbound) {
	me, args := a.person(in), words(in)
	forgets := asksForMemory(args)
	switch {
	case !forgets && in.To.Kind != chat.Private:
		a.say(in, a.g.texts()[TextPrivateOnly]) // other people in the chat must not read the facts
	case !forgets:
		a.listFacts(in, me) // the list explains how to delete facts
	case strings.EqualFold(args[1], "all"):
		if _, err := a.g.store.facts.ForgetFacts(a.g.deliveries, me); err != nil {
			a.fail(in, "facts could not be forgotten", err)
			return
		}
		a.say(in, a.g.texts()[TextAllFactsGone])
	default:
		a.forgetFact(in, me, args[1])
	}
}

func (a *actor) listFacts(in chat.Inbound, p chat.Person) {
	facts, err := a.g.store.facts.Facts(a.g.deliveries, p)
	if err != nil {
		a.fail(in, "facts could not be read", err)
		return
	}
	if len(facts) == 0 {
		a.say(in, a.g.texts()[TextNoMemory])
		return
	}
	var list []string
	for _, f := range facts {
		list = append(list, fmt.Sprintf("%s: %s", f.ID, inCode(strings.Join(strings.Fields(f.Text), " "))))
	}
	a.say(in, a.g.texts().fill(TextMemory, "facts", strings.Join(list, "\n"), "slash", a.slash(in.To)))
}

func (a *actor) forgetFact(in chat.Inbound, p chat.Person, id string) {
	was, err := a.g.store.facts.ForgetFact(a.g.deliveries, p, id)
	switch {
	case err != nil:
		a.fail(in, "a fact could not be forgotten", err)
	case !was:
		a.say(in, a.g.texts().fill(TextNoFact, "slash", a.slash(in.To)))
	default:
		a.say(in, a.g.texts()[TextFactGone])
	}
}
