package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"telex/agent"
)

type (
	rememberArgs struct {
		Fact string `json:"fact" jsonschema:"the fact, in one short sentence that will be understood without this conversation"`
	}
	recallArgs struct {
		About string `json:"about,omitempty" jsonschema:"words to look for; left out: everything that is remembered"`
	}
	forgetArgs struct {
		Fact string `json:"fact" jsonschema:"the whole text of the fact, as recall lists it, without its id and date"`
	}
)

type memory struct{ facts Facts }

// newMemory returns the tools remember, recall and forget. These three tools count as read-only, because they change only the
// notes about the person who asks, and a repeated call has the same result.
func newMemory(facts Facts) ([]agent.ToolDef, error) {
	if facts == nil {
		return nil, errors.New("no store for facts")
	}
	m := memory{facts}
	const timeout = 10 * time.Second
	remember, err := define(agent.ToolDef{
		Name: "remember",
		Description: "Remembers a fact about the person you talk to, for all later conversations with them. " +
			"Use it when they ask you to remember something, or tell you a lasting preference.",
		ReadOnly: true, Timeout: timeout, Outside: agent.OutsideNothing, Asks: asksOutside,
		Show:    func(string) string { return "Remembering" },
		Propose: func(arguments string) string { return proposal("Remember", arguments, "fact") },
	}, nil, m.remember)
	if err != nil {
		return nil, err
	}
	recall, err := define(agent.ToolDef{
		Name:        "recall",
		Description: "Lists what you were asked to remember about the person you talk to.",
		ReadOnly:    true, Timeout: timeout, Outside: agent.OutsideNothing, Asks: asksShared, Personal: true,
		Propose: func(string) string { return "Show in this conversation what is remembered of you" },
		Show:    func(string) string { return "Remembering what you told me" },
	}, nil, m.recall)
	if err != nil {
		return nil, err
	}
	forget, err := define(agent.ToolDef{
		Name:        "forget",
		Description: "Forgets one fact about the person you talk to. Use recall first to find its text.",
		ReadOnly:    true, Timeout: timeout, Outside: agent.OutsideNothing, Asks: asksOutside,
		Show:    func(string) string { return "Forgetting" },
		Propose: func(arguments string) string { return proposal("Forget", arguments, "fact") },
	}, nil, m.forget)
	return []agent.ToolDef{remember, recall, forget}, err
}

// proposal describes a call to the person who must approve it. If the argument is missing, proposal returns an empty text,
// and the person sees the JSON of the call.
func proposal(what, arguments, name string) string {
	value, _ := partial(arguments, name)
	if value = agent.OneLine(value); value == "" {
		return ""
	}
	return fmt.Sprintf("%s: %q", what, value)
}

// asksOutside reports whether a call needs approval. A call needs approval if the model had read outside content, because such
// content must not change what is remembered about a person.
func asksOutside(_ agent.ToolCall, callContext agent.CallContext) bool { return callContext.Outside() }

// asksShared reports whether a call needs approval. A call needs approval if other people would read the facts about the asker.
func asksShared(_ agent.ToolCall, callContext agent.CallContext) bool { return callContext.Shared }

var errNobody = errors.New("no person to remember this for")

// known returns the facts that are remembered about a person.
func (m memory) known(ctx context.Context, person string) ([]Fact, error) {
	if person == "" {
		return nil, errNobody
	}
	known, err := m.facts.Facts(ctx, person)
	if err != nil {
		return nil, fmt.Errorf("read the remembered facts: %w", err)
	}
	return known, nil
}

func (m memory) remember(ctx context.Context, in agent.Input, args rememberArgs) (agent.Output, error) {
	text := agent.OneLine(args.Fact)
	switch {
	case text == "":
		return agent.Output{}, errors.New("the fact is empty")
	case in.Person == "":
		return agent.Output{}, errNobody
	case len(text) > MaxFact:
		return agent.Output{}, fmt.Errorf("the fact has %d bytes, and %d is the most; say it shorter", len(text), MaxFact)
	}
	switch fact, err := m.facts.Add(ctx, in.Person, text); {
	case err != nil:
		return agent.Output{}, fmt.Errorf("remember: %w", err)
	case fact.Full:
		return agent.Output{}, fmt.Errorf("%d facts are remembered, and that is the most; forget some first", MaxFacts)
	case fact.Known: // this also happens if the call is repeated after a crash
		return agent.Output{Text: "Remembered already, with the id " + fact.ID + "."}, nil
	default:
		return agent.Output{Text: "Remembered, with the id " + fact.ID + "."}, nil
	}
}

func (m memory) recall(ctx context.Context, in agent.Input, args recallArgs) (agent.Output, error) {
	known, err := m.known(ctx, in.Person)
	if err != nil {
		return agent.Output{}, err
	}
	if len(known) == 0 {
		return agent.Output{Text: "Nothing is remembered about this person."}, nil
	}
	found := matching(known, args.About)
	if len(found) == 0 {
		return agent.Output{Text: fmt.Sprintf("None of the %d facts has these words; recall without words lists them all.", len(known))}, nil
	}
	var text strings.Builder
	for _, f := range found {
		fmt.Fprintf(&text, "%s: %s (%s)\n", f.ID, f.Text, f.At.UTC().Format(time.DateOnly))
	}
	return agent.Output{Text: strings.TrimSpace(text.String())}, nil
}

// matching returns the facts that contain any of the words. If words is empty, matching returns all facts.
func matching(facts []Fact, words string) []Fact {
	wanted := strings.Fields(strings.ToLower(words))
	if len(wanted) == 0 {
		return facts
	}
	var found []Fact
	for _, f := range facts {
		text := strings.ToLower(f.Text)
		if slices.ContainsFunc(wanted, func(w string) bool { return strings.Contains(text, w) }) {
			found = append(found, f)
		}
	}
	return found
}

// forget takes the text of a fact, not its id, because the person who approves the call must see what will be deleted.
func (m memory) forget(ctx context.Context, in agent.Input, args forgetArgs) (agent.Output, error) {
	known, err := m.known(ctx, in.Person)
	if err != nil {
		return agent.Output{}, err
	}
	there := false
	if i := index(known, agent.OneLine(args.Fact)); i >= 0 {
		if there, err = m.facts.Remove(ctx, in.Person, known[i].ID); err != nil {
			return agent.Output{}, fmt.Errorf("forget: %w", err)
		}
	}
	if !there {
		return agent.Output{Text: "No fact with this text is remembered."}, nil
	}
	return agent.Output{Text: "Forgotten."}, nil
}

// index returns the index of the fact with the given text, or -1.
func index(known []Fact, text string) int {
	return slices.IndexFunc(known, func(f Fact) bool { return strings.EqualFold(f.Text, text) })
}
