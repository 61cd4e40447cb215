package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"telex/internal/chat"
	"telex/internal/store"
)

// model is what a store must be seen to do, in the simplest way: lists that are searched.
type model struct {
	inbox  []*modelMessage
	turns  []*modelTurn
	said   []modelEntry
	resume map[chat.EndpointID]string
	moves  map[chat.ChatID]chat.ChatID // of the one endpoint whose chats move
	blocks map[store.Block]time.Time   // by everything but Until
}

type modelMessage struct {
	key      chat.Conversation // as accepted
	in       chat.Conversation // as it is now
	id       chat.MessageID
	state    string
	attempts int
	turn     string
	accepted time.Time
	done     time.Time
}

type modelTurn struct {
	record store.TurnRecord
	ended  time.Time
}

type modelEntry struct {
	in   chat.Conversation
	body string
	at   time.Time
}

func newModel() *model {
	return &model{
		resume: map[chat.EndpointID]string{}, moves: map[chat.ChatID]chat.ChatID{}, blocks: map[store.Block]time.Time{},
	}
}

func (m *model) now(c chat.Conversation) chat.Conversation {
	if to, ok := m.moves[c.Chat]; ok && c.Endpoint == "tg" {
		c.Chat = to
	}
	return c
}

func (m *model) accept(c chat.Conversation, id chat.MessageID, resume string, at time.Time) bool {
	if resume != "" {
		m.resume[c.Endpoint] = resume
	}
	if slices.ContainsFunc(m.inbox, func(x *modelMessage) bool { return x.key == c && x.id == id }) {
		return false
	}
	m.inbox = append(m.inbox, &modelMessage{key: c, in: m.now(c), id: id, state: "pending", accepted: at})
	return true
}

// find returns the unfinished message that id means: one that waits before one that a turn has.
func (m *model) find(c chat.Conversation, id chat.MessageID) *modelMessage {
	for _, state := range []string{"pending", "running"} {
		for _, x := range m.inbox {
			if x.in == m.now(c) && x.id == id && x.state == state {
				return x
			}
		}
	}
	return nil
}

func (m *model) drop(c chat.Conversation, id chat.MessageID, at time.Time) {
	if x := m.find(c, id); x != nil && x.state == "pending" {
		x.state, x.done = "done", at
	}
}

func (m *model) turn(id string) *modelTurn {
	for _, t := range m.turns {
		if t.record.ID == id {
			return t
		}
	}
	return nil
}

func (m *model) begin(id string, c chat.Conversation, ids []chat.MessageID, at time.Time) error {
	if t := m.turn(id); t != nil {
		if t.record.State != store.Running || t.record.Fenced {
			return store.ErrFenced
		}
		t.record.Runs++
		for _, x := range m.inbox {
			if x.turn == id && x.state == "running" {
				x.attempts++
			}
		}
		return nil
	}
	oldest := at
	for _, id := range ids {
		x := m.find(c, id)
		if x == nil {
			return store.ErrUnknown
		}
		if x.accepted.Before(oldest) {
			oldest = x.accepted
		}
	}
	m.fence(c)
	for _, message := range ids {
		x := m.find(c, message)
		x.state, x.turn = "running", id
		x.attempts++
	}
	r := turnOf(id, c)
	r.Conversation, r.State, r.Runs, r.AcceptedAt, r.BegunAt = m.now(c), store.Running, 1, oldest, at
	r.Ending, r.Usage = []byte{}, []byte{}
	m.turns = append(m.turns, &modelTurn{record: r})
	return nil
}

func (m *model) fence(c chat.Conversation) {
	for _, t := range m.turns {
		if t.record.Conversation == m.now(c) && t.record.State == store.Running {
			t.record.Fenced = true
		}
	}
}

func (m *model) decide(id string, d store.Decision, at time.Time) error {
	t := m.turn(id)
	switch {
	case t == nil:
		return store.ErrUnknown
	case t.record.State == store.Decided:
		return nil
	case t.record.State != store.Running, t.record.Fenced:
		return store.ErrFenced
	}
	t.record.State, t.record.Ending, t.record.Usage = store.Decided, d.Ending, d.Usage
	for _, h := range d.History {
		m.said = append(m.said, modelEntry{t.record.Conversation, string(h), at})
	}
	return nil
}

func (t *modelTurn) unfinished() bool {
	return t.record.State == store.Running || t.record.State == store.Decided
}

func (m *model) end(id string, as store.TurnState, at time.Time) error {
	t := m.turn(id)
	switch {
	case t == nil:
		return store.ErrUnknown
	case !t.unfinished():
		return nil
	case as == store.Released && t.record.State == store.Decided:
		return store.ErrFenced
	}
	t.record.State, t.ended = as, at
	for i := range t.record.Parts {
		t.record.Parts[i].Text = ""
	}
	for _, x := range m.inbox {
		switch {
		case x.turn != id || x.state != "running":
		case as == store.Released:
			x.state, x.turn = "pending", ""
			x.attempts--
		default:
			x.state, x.done = "done", at
		}
	}
	return nil
}

func (m *model) record(id string, p store.Part, intent bool) error {
	t := m.turn(id)
	switch {
	case t == nil:
		return store.ErrUnknown
	case t.unfinished():
	case intent:
		return store.ErrFenced
	default:
		p.Text = ""
	}
	if intent {
		p.State = store.Intended
	}
	parts := slices.DeleteFunc(t.record.Parts, func(x store.Part) bool { return x.Index == p.Index })
	t.record.Parts = append(parts, p)
	slices.SortFunc(t.record.Parts, func(a, b store.Part) int { return a.Index - b.Index })
	return nil
}

func (m *model) forget(c chat.Conversation) {
	m.said = slices.DeleteFunc(m.said, func(e modelEntry) bool { return e.in == m.now(c) })
	m.fence(c)
}

func (m *model) move(from, to chat.ChatID) {
	if from == to {
		return
	}
	if now, ok := m.moves[to]; ok && now != from {
		to = now
	}
	if from == to {
		return
	}
	delete(m.moves, to)
	m.moves[from] = to
	for old, now := range m.moves {
		if now == from {
			m.moves[old] = to
		}
	}
	moved := func(c *chat.Conversation) bool {
		if c.Endpoint != "tg" || c.Chat != from {
			return false
		}
		c.Chat = to
		return true
	}
	for _, x := range m.inbox {
		moved(&x.in)
	}
	for i := range m.said {
		moved(&m.said[i].in)
	}
	for _, t := range m.turns {
		if moved(&t.record.Conversation) && t.record.To.Chat == from && t.unfinished() {
			t.record.To.Chat, t.record.ReplyTo = to, ""
		}
	}
}

func (m *model) sweep(now time.Time, retention time.Duration) {
	over := now.Add(-7*24*time.Hour - time.Hour)
	m.inbox = slices.DeleteFunc(m.inbox, func(x *modelMessage) bool { return x.state == "done" && x.done.Before(over) })
	m.turns = slices.DeleteFunc(m.turns, func(t *modelTurn) bool { return !t.unfinished() && t.ended.Before(over) })
	if retention > 0 {
		m.said = slices.DeleteFunc(m.said, func(e modelEntry) bool { return e.at.Before(now.Add(-retention)) })
	}
}

// pending, unfinished and history are what the store must return.
func (m *model) pending() (list []string) {
	for _, x := range m.inbox {
		if x.state != "done" {
			list = append(list, fmt.Sprint(x.in, x.in.Chat, x.id, x.attempts, x.turn, x.accepted))
		}
	}
	return list
}

func (m *model) unfinished() (list []store.TurnRecord) {
	for _, t := range m.turns {
		if !t.unfinished() {
			continue
		}
		r := t.record
		for _, x := range m.inbox {
			if x.turn == r.ID {
				r.Messages = append(r.Messages, x.id)
			}
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b store.TurnRecord) int { return a.BegunAt.Compare(b.BegunAt) })
	return list
}

func (m *model) history(c chat.Conversation) (list []string) {
	for _, e := range m.said {
		if e.in == m.now(c) {
			list = append(list, e.body)
		}
	}
	return list
}

// TestModel does the same random things to a store and to the model, with restarts in between (F37, F41, F43, F54).
func TestModel(t *testing.T) {
	t.Parallel()
	template := empty(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "telex.db"), template, 0o600); err != nil {
			rt.Fatal(err)
		}
		c := &clock{}
		open := sqliteOpener(dir, c)
		b, err := open(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		p := &player{T: rt, t: t, b: b, open: open, clock: c, m: newModel()}
		defer func() {
			if p.b != nil {
				p.same(p.b.Close(), nil)
			}
		}()
		actions := map[string]func(*rapid.T){
			"accept": p.accept, "accept more": p.accept, "drop": p.drop, "begin": p.begin, "begin more": p.begin,
			"decide": p.decide, "end": p.end, "part": p.part, "append": p.append, "forget": p.forget,
			"move": p.move, "block": p.block, "sweep": p.sweep, "restart": p.restart,
			"": p.compare,
		}
		rt.Repeat(actions)
		p.compareAll()
	})
}

// player plays on both sides.
type player struct {
	*rapid.T
	t     *testing.T
	b     backend
	open  opener
	clock *clock
	m     *model
	count int // makes texts different
	steps int
}

func (p *player) conversation() chat.Conversation {
	return chat.Conversation{
		Endpoint: chat.EndpointID(rapid.SampledFrom([]string{"tg", "tg", "tg", "slack"}).Draw(p.T, "endpoint")),
		Chat:     chat.ChatID(rapid.SampledFrom([]string{"1", "2", "3"}).Draw(p.T, "chat")),
		Thread:   chat.ThreadID(rapid.SampledFrom([]string{"", "", "t"}).Draw(p.T, "thread")),
	}
}

func (p *player) message() chat.MessageID {
	return chat.MessageID(rapid.SampledFrom([]string{"1", "2", "3", "4"}).Draw(p.T, "message"))
}

// turn names a turn that is there, most often an unfinished one, or any.
func (p *player) turn() string {
	var ids []string
	for _, t := range p.m.unfinished() {
		ids = append(ids, t.ID)
	}
	if len(ids) > 0 && rapid.IntRange(0, 4).Draw(p.T, "any turn") > 0 {
		return rapid.SampledFrom(ids).Draw(p.T, "unfinished turn")
	}
	return fmt.Sprintf("t%02d", rapid.IntRange(0, 9).Draw(p.T, "turn"))
}

func (p *player) same(got, want error) {
	if !errors.Is(got, want) || (want == nil) != (got == nil) {
		p.Fatalf("got error %v, want %v", got, want)
	}
}

func (p *player) accept(*rapid.T) {
	c := p.conversation()
	in := message(c, p.message())
	in.Resume = rapid.SampledFrom([]string{"", "a", "b"}).Draw(p.T, "resume")
	fresh, err := p.b.Accept(p.t.Context(), c, in)
	p.same(err, nil)
	if want := p.m.accept(c, in.ID, in.Resume, p.clock.now()); fresh != want {
		p.Fatalf("accept %s of %s: got fresh %v, want %v", in.ID, c, fresh, want)
	}
	p.clock.advance(time.Millisecond)
}

func (p *player) drop(*rapid.T) {
	c, id := p.conversation(), p.message()
	p.same(p.b.Drop(p.t.Context(), c, id), nil)
	p.m.drop(c, id, p.clock.now())
}

// begin takes some of what waits, most often, so that turns get on.
func (p *player) begin(*rapid.T) {
	c, ids := p.conversation(), []chat.MessageID{}
	for range rapid.IntRange(0, 2).Draw(p.T, "messages") {
		if id := p.message(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	ids = slices.DeleteFunc(ids, func(id chat.MessageID) bool {
		return p.m.find(c, id) == nil && rapid.IntRange(0, 9).Draw(p.T, "unknown") > 0
	})
	id := fmt.Sprintf("t%02d", rapid.IntRange(0, 19).Draw(p.T, "turn"))
	p.same(p.b.Begin(p.t.Context(), turnOf(id, c, ids...)), p.m.begin(id, c, ids, p.clock.now()))
	p.clock.advance(time.Millisecond)
}

func (p *player) decide(*rapid.T) {
	p.count++
	id, d := p.turn(), decision("final", fmt.Sprint("q", p.count), fmt.Sprint("a", p.count))
	p.same(p.b.Decide(p.t.Context(), id, d), p.m.decide(id, d, p.clock.now()))
}

func (p *player) end(*rapid.T) {
	id, as := p.turn(), rapid.SampledFrom([]store.TurnState{store.Done, store.Closed, store.Released}).Draw(p.T, "state")
	p.same(p.b.End(p.t.Context(), id, as), p.m.end(id, as, p.clock.now()))
}

func (p *player) part(*rapid.T) {
	id, intent := p.turn(), rapid.Bool().Draw(p.T, "intent")
	part := store.Part{
		Index: rapid.IntRange(0, 2).Draw(p.T, "index"), State: rapid.SampledFrom([]store.PartState{store.Stands, store.Sealed, store.Gone, store.Doubtful}).Draw(p.T, "part state"),
		Text: rapid.String().Draw(p.T, "text"), Cursor: rapid.Bool().Draw(p.T, "cursor"), Key: "k",
		Ref: chat.MessageRef{ID: p.message(), Target: chat.Target{Chat: "1", Kind: chat.Group}},
	}
	if intent {
		p.same(p.b.Intend(p.t.Context(), id, part), p.m.record(id, part, true))
	} else {
		p.same(p.b.Record(p.t.Context(), id, part), p.m.record(id, part, false))
	}
	got, err := p.b.Parts(p.t.Context(), id)
	p.same(err, nil)
	var want []store.Part
	if t := p.m.turn(id); t != nil {
		want = t.record.Parts
	}
	if !reflect.DeepEqual(got, want) {
		p.Fatalf("parts of %s: got %+v, want %+v", id, got, want)
	}
}

func (p *player) append(*rapid.T) {
	c := p.conversation()
	p.count++
	body := fmt.Sprint("said ", p.count)
	p.same(p.b.Append(p.t.Context(), c, []byte(body)), nil)
	p.m.said = append(p.m.said, modelEntry{p.m.now(c), body, p.clock.now()})
}

func (p *player) forget(*rapid.T) {
	c := p.conversation()
	p.same(p.b.Forget(p.t.Context(), c), nil)
	p.m.forget(c)
}

func (p *player) move(*rapid.T) {
	from, to := p.conversation().Chat, p.conversation().Chat
	if rapid.IntRange(0, 2).Draw(p.T, "rare") > 0 {
		return // chats that move all the time leave nothing else to see
	}
	p.same(p.b.Move(p.t.Context(), "tg", from, to), nil)
	p.m.move(from, to)
}

func (p *player) block(*rapid.T) {
	b := store.Block{Scope: chat.ScopeChat, Chat: p.conversation().Chat}
	until := p.clock.now().Add(time.Duration(rapid.IntRange(-10, 100).Draw(p.T, "seconds")) * time.Second)
	p.same(p.b.SaveBlock(p.t.Context(), "tg", b.Scope, b.Chat, b.Message, until), nil)
	if until.After(p.m.blocks[b]) {
		p.m.blocks[b] = until
	}
}

func (p *player) sweep(*rapid.T) {
	p.clock.advance(time.Duration(rapid.IntRange(0, 96).Draw(p.T, "hours")) * time.Hour)
	retention := time.Duration(rapid.IntRange(0, 5).Draw(p.T, "retention")) * 24 * time.Hour
	_, err := p.b.Sweep(p.t.Context(), p.clock.now(), retention)
	p.same(err, nil)
	p.m.sweep(p.clock.now(), retention)
}

func (p *player) restart(*rapid.T) {
	closing := p.b
	p.b = nil
	p.same(closing.Close(), nil)
	b, err := p.open(p.t.Context())
	p.same(err, nil)
	p.b = b
	p.compareAll()
}

// compare reads everything back, often enough: reading is what this test spends its time with.
func (p *player) compare(*rapid.T) {
	if p.steps++; p.steps%4 == 0 {
		p.compareAll()
	}
}

func (p *player) compareAll() {
	ctx := p.t.Context()
	pending, err := p.b.Pending(ctx)
	p.same(err, nil)
	var waiting []string
	for _, x := range pending {
		waiting = append(waiting, fmt.Sprint(x.Conversation, x.Inbound.To.Chat, x.Inbound.ID, x.Attempts, x.Turn, x.AcceptedAt))
	}
	if want := p.m.pending(); !slices.Equal(waiting, want) {
		p.Fatalf("pending: got %v, want %v", waiting, want)
	}
	turns, err := p.b.Unfinished(ctx)
	p.same(err, nil)
	if want := p.m.unfinished(); !reflect.DeepEqual(turns, want) {
		p.Fatalf("unfinished: got %+v, want %+v", turns, want)
	}
	for _, e := range []chat.EndpointID{"tg", "slack"} {
		if got, err := p.b.Resume(ctx, e); err != nil || got != p.m.resume[e] {
			p.Fatalf("cursor of %s: got %q, %v, want %q", e, got, err, p.m.resume[e])
		}
		for _, ch := range []chat.ChatID{"1", "2", "3"} {
			for _, th := range []chat.ThreadID{"", "t"} {
				c := chat.Conversation{Endpoint: e, Chat: ch, Thread: th}
				entries, err := p.b.History(ctx, c)
				p.same(err, nil)
				var got []string
				for _, e := range entries {
					got = append(got, string(e))
				}
				if want := p.m.history(c); !slices.Equal(got, want) {
					p.Fatalf("history of %s: got %v, want %v", c, got, want)
				}
			}
		}
	}
	blocks, err := p.b.Blocks(ctx, "tg")
	p.same(err, nil)
	got, want := map[store.Block]time.Time{}, map[store.Block]time.Time{}
	for _, b := range blocks {
		got[store.Block{Scope: b.Scope, Chat: b.Chat, Message: b.Message}] = b.Until
	}
	for b, until := range p.m.blocks {
		if until.After(p.clock.now()) {
			want[b] = until
		}
	}
	if !reflect.DeepEqual(got, want) {
		p.Fatalf("blocks: got %v, want %v", got, want)
	}
}
