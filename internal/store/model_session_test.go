package store_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
)

func (m *model) grow(t *modelTurn, g chat.Growth, at time.Time) {
	c := t.record.Conversation
	if len(g.History) > 0 {
		m.said = slices.DeleteFunc(m.said, func(e modelEntry) bool { return e.in == c && e.turn == t.record.Replaces })
	}
	if f := g.Compaction; f != nil && !t.stale {
		s := m.kept[c]
		s.summary, s.at = f.Summary, at
		s.folds++
		m.kept[c] = s
		for i := range m.said { // a summary covers all entries that the history contains when the summary is stored
			m.said[i].folded = m.said[i].folded || m.said[i].in == c
		}
	}
	for _, h := range g.History {
		m.said = append(m.said, modelEntry{in: c, turn: t.record.ID, user: t.record.User, body: string(h), at: at})
	}
	for _, u := range g.Usage {
		m.usage = append(m.usage, modelUsage{c, t.record.User, u.Prompt, at})
	}
}

func (m *model) dropSummary(c chat.Conversation) {
	m.kept[c] = modelSession{model: m.kept[c].model}
	for i := range m.said {
		m.said[i].folded = m.said[i].folded && m.said[i].in != c
	}
}

func (m *model) outdate(c chat.Conversation) {
	for _, t := range m.turns {
		t.stale = t.stale || t.record.Conversation == c
	}
}

// moveSessions merges the data of one chat into that of another chat.
func (m *model) moveSessions(moved func(*chat.Conversation) bool) {
	for from, s := range m.kept {
		to := from
		if !moved(&to) {
			continue
		}
		delete(m.kept, from)
		if into, both := m.kept[to]; both {
			if s.at.After(into.at) {
				s.summary, into.summary, into.at = into.summary, s.summary, s.at
			}
			if s.summary != "" && into.summary != "" {
				s.summary += "\n\n"
			}
			into.summary = s.summary + into.summary
			into.folds += s.folds
			if into.model == "" {
				into.model = s.model
			}
			s = into
		}
		m.kept[to] = s
	}
	for i := range m.said {
		moved(&m.said[i].in)
	}
	for i := range m.usage {
		moved(&m.usage[i].in)
	}
}

// undo deletes the entries of the newest turn, unless a summary covers them, and returns these entries.
func (m *model) undo(c chat.Conversation) (undone []string) {
	c = m.now(c)
	turn := ""
	for _, e := range m.said {
		if e.in == c && !e.folded {
			turn = e.turn
		}
	}
	m.said = slices.DeleteFunc(m.said, func(e modelEntry) bool {
		gone := e.in == c && !e.folded && e.turn == turn
		if gone {
			undone = append(undone, e.body)
		}
		return gone
	})
	if len(undone) > 0 {
		m.outdate(c)
	}
	return undone
}

func (m *model) erase(c chat.Conversation, u chat.UserID) int {
	c = m.now(c)
	before := len(m.said)
	m.said = slices.DeleteFunc(m.said, func(e modelEntry) bool { return e.in == c && (e.user == u || e.user == "") })
	for _, t := range m.turns {
		if t.record.Conversation != c || t.record.User != u && t.record.User != "" {
			continue
		}
		t.record.Void = t.record.Void || t.record.State == chat.TurnRunning
	}
	m.dropSummary(c)
	m.outdate(c)
	m.revoke(c, u)
	return before - len(m.said)
}

func (m *model) join(id string, message chat.MessageID) bool {
	t := m.turn(id)
	if t == nil || t.record.State != chat.TurnRunning || t.record.Void {
		return false
	}
	if x := m.find(t.record.Conversation, message); x != nil && x.state == "pending" {
		x.state, x.turn = "running", id
		x.attempts++
	}
	return true
}

func (p *player) user() chat.UserID {
	return chat.UserID(rapid.SampledFrom([]string{"ada", "eve"}).Draw(p.T, "user"))
}

// growth draws the data that a turn adds to its session. If growth draws a summary, the summary covers all entries
// that the history contains at this time.
func (p *player) growth(id string) (g chat.Growth) {
	for range rapid.IntRange(0, 2).Draw(p.T, "entries") {
		p.count++
		g.History = append(g.History, fmt.Append(nil, p.count))
	}
	for range rapid.IntRange(0, 2).Draw(p.T, "models") {
		g.Usage = append(g.Usage, chat.Usage{Prompt: rapid.IntRange(1, 9).Draw(p.T, "tokens")})
	}
	if rapid.Bool().Draw(p.T, "undecided") {
		g.Undecided = g.Usage
	}
	t := p.m.turn(id)
	if t == nil || rapid.IntRange(0, 2).Draw(p.T, "fold") > 0 {
		return g
	}
	_, entries, err := p.s.Session(p.t.Context(), t.record.Conversation)
	p.must(err, true)
	if len(entries) > 0 && !slices.ContainsFunc(entries, func(e chat.Entry) bool { return e.Turn == t.record.Replaces }) {
		p.count++
		g.Compaction = &chat.Compaction{Summary: fmt.Sprint("summary ", p.count), Upto: entries[len(entries)-1].ID}
	}
	return g
}

func (p *player) join(*rapid.T) {
	id, message := p.turn(), p.message()
	p.must(p.s.Join(p.t.Context(), id, message), p.m.join(id, message))
}

func (p *player) undo(*rapid.T) {
	c := p.conversation()
	entries, err := p.s.Undo(p.t.Context(), c, chat.Turn{})
	p.must(err, true)
	if got, want := bodies(entries), p.m.undo(c); !slices.Equal(got, want) {
		p.Fatalf("undone: got %q, want %q", got, want)
	}
}

func bodies(entries []chat.Entry) (list []string) {
	for _, e := range entries {
		list = append(list, string(e.Body))
	}
	return list
}

func (p *player) erase(*rapid.T) {
	c, u := p.conversation(), p.user()
	n, err := p.s.Erase(p.t.Context(), c, u)
	p.must(err, true)
	if want := p.m.erase(c, u); n != want {
		p.Fatalf("erased: got %d, want %d", n, want)
	}
}

func (p *player) choose(*rapid.T) {
	c, name := p.conversation(), rapid.SampledFrom([]string{"", "m", "n"}).Draw(p.T, "model")
	p.must(p.s.Choose(p.t.Context(), c, name), true)
	s := p.m.kept[p.m.now(c)]
	s.model = name
	p.m.kept[p.m.now(c)] = s
}

func (p *player) compareSession(ctx context.Context, c chat.Conversation) {
	s, entries, err := p.s.Session(ctx, c)
	p.must(err, true)
	var want []string
	for _, e := range p.m.said {
		if e.in == p.m.now(c) && !e.folded {
			want = append(want, e.body)
		}
	}
	if got := bodies(entries); !slices.Equal(got, want) {
		p.Fatalf("history of %s: got %v, want %v", c, got, want)
	}
	kept := p.m.kept[p.m.now(c)]
	if s.Model != kept.model || s.Summary != kept.summary || s.Compactions != kept.folds || !s.At.Equal(kept.at) {
		p.Fatalf("session of %s: got %+v, want %+v", c, s, kept)
	}
	for _, of := range []chat.UsageOf{{Conversation: c}, {Conversation: c, Person: chat.Person{User: "ada"}}} {
		used, err := p.s.Used(ctx, of)
		p.must(err, true)
		tokens := 0
		for _, u := range p.m.usage {
			if u.in == p.m.now(c) && (of.Person.User == "" || of.Person.User == u.user) {
				tokens += u.tokens
			}
		}
		if used.Prompt != tokens {
			p.Fatalf("used in %s: got %+v, want %d tokens", c, used, tokens)
		}
	}
}
