package store_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
)

// modelPeople is the part of the model that contains data about people, except for their messages.
type modelPeople struct {
	consents []modelConsent
	facts    map[chat.Person][]chat.Fact
	told     map[chat.Person]int
}

type modelConsent struct {
	in   chat.Conversation
	user chat.UserID
	tool string
}

func newModelPeople() modelPeople {
	return modelPeople{facts: map[chat.Person][]chat.Fact{}, told: map[chat.Person]int{}}
}

func (m *model) noteSteps(id string, steps []chat.Step) bool {
	t := m.turn(id)
	said := func(s chat.Step) bool { return s.Kind != chat.StepUsage }
	if t == nil || t.record.State != chat.TurnRunning || t.record.Void && (len(steps) == 0 || slices.ContainsFunc(steps, said)) {
		return false
	}
	t.record.Steps = append(t.record.Steps, steps...)
	return true
}

func (m *model) revoke(c chat.Conversation, u chat.UserID) {
	m.consents = slices.DeleteFunc(m.consents, func(x modelConsent) bool { return x.in == c && (u == "" || x.user == u) })
}

func (m *model) moveConsents(moved func(*chat.Conversation) bool) {
	for i := range m.consents {
		moved(&m.consents[i].in)
	}
}

func (p *player) person() chat.Person {
	return chat.Person{Endpoint: chat.EndpointID(rapid.SampledFrom([]string{"tg", "slack"}).Draw(p.T, "endpoint")), User: p.user()}
}

func (p *player) tool() string { return rapid.SampledFrom([]string{"buy", "sell"}).Draw(p.T, "tool") }

func (p *player) note(*rapid.T) {
	id, steps := p.turn(), []chat.Step{}
	for range rapid.IntRange(0, 3).Draw(p.T, "notes") {
		p.count++
		kind := rapid.SampledFrom([]chat.StepKind{chat.StepSaid, chat.StepBegun, chat.StepAnswered, chat.StepUsage}).Draw(p.T, "kind")
		steps = append(steps, step(kind, rapid.SampledFrom([]string{"", "a"}).Draw(p.T, "call"), strconv.Itoa(p.count)))
	}
	p.must(p.s.Note(p.t.Context(), id, steps...), p.m.noteSteps(id, steps))
}

func (p *player) consent(*rapid.T) {
	c, u, tool := p.conversation(), p.user(), p.tool()
	p.must(p.s.Consent(p.t.Context(), c, u, tool), true)
	p.m.consents = append(p.m.consents, modelConsent{p.m.now(c), u, tool})
}

func (p *player) remember(*rapid.T) {
	who, text := p.person(), rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a", "A", "b"})).Draw(p.T, "fact")
	most := rapid.IntRange(1, 5).Draw(p.T, "most")
	want := chat.Remembered{Full: len(p.m.facts[who]) >= most}
	for _, f := range p.m.facts[who] {
		if strings.EqualFold(f.Text, text) {
			want = chat.Remembered{Fact: f, Known: true}
			break
		}
	}
	if want == (chat.Remembered{}) {
		p.m.told[who]++
		want.Fact = chat.Fact{ID: strconv.Itoa(p.m.told[who]), Text: text, At: time.Now().UTC()}
		p.m.facts[who] = append(p.m.facts[who], want.Fact)
	}
	got, err := p.s.Remember(p.t.Context(), who, text, most)
	p.must(err, true)
	if got.At = got.At.UTC(); got != want {
		p.Fatalf("remembered: got %+v, want %+v", got, want)
	}
}

// forgetFacts deletes one fact of a person or, sometimes, all facts.
func (p *player) forgetFacts(*rapid.T) {
	who := p.person()
	if rapid.IntRange(0, 4).Draw(p.T, "all") == 0 {
		n, err := p.s.ForgetFacts(p.t.Context(), who)
		p.must(err, true)
		if want := len(p.m.facts[who]); n != want {
			p.Fatalf("forgotten: got %d, want %d", n, want)
		}
		delete(p.m.facts, who)
		return
	}
	id := strconv.Itoa(rapid.IntRange(0, p.m.told[who]+1).Draw(p.T, "fact"))
	was, err := p.s.ForgetFact(p.t.Context(), who, id)
	p.must(err, true)
	i := slices.IndexFunc(p.m.facts[who], func(f chat.Fact) bool { return f.ID == id })
	if was != (i >= 0) {
		p.Fatalf("forget fact %s of %s: got %v, want %v", id, who, was, i >= 0)
	}
	if was {
		p.m.facts[who] = slices.Delete(p.m.facts[who], i, i+1)
	}
}

func (p *player) compareConsents(ctx context.Context, c chat.Conversation) {
	for _, u := range []chat.UserID{"ada", "eve"} {
		for _, tool := range []string{"buy", "sell"} {
			got, err := p.s.Consented(ctx, c, u, tool)
			p.must(err, true)
			if want := slices.Contains(p.m.consents, modelConsent{p.m.now(c), u, tool}); got != want {
				p.Fatalf("%s may %s in %s: got %v, want %v", u, tool, c, got, want)
			}
		}
	}
}

func (p *player) compareFacts(ctx context.Context) {
	for _, e := range []chat.EndpointID{"tg", "slack"} {
		for _, u := range []chat.UserID{"ada", "eve"} {
			who := chat.Person{Endpoint: e, User: u}
			got, err := p.s.Facts(ctx, who)
			p.must(err, true)
			for i := range got {
				got[i].At = got[i].At.UTC()
			}
			if want := p.m.facts[who]; !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
				p.Fatalf("facts of %s: got %s, want %s", who, fmt.Sprint(got), fmt.Sprint(want))
			}
		}
	}
}
