package store_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store"
)

// model is the simplest possible implementation of a store: it searches lists. The tests check that each store returns
// the same results as this model.
type model struct {
	inbox  []*modelMessage
	turns  []*modelTurn
	said   []modelEntry
	resume map[chat.EndpointID]string
	moves  map[chat.ChatID]chat.ChatID // maps the old ids of chats of the endpoint tg to their new ids; other chats don't move
	blocks map[chat.Block]time.Time    // when each block ends; the key contains all other fields of the block
	kept   map[chat.Conversation]modelSession
	usage  []modelUsage
	modelPeople
}

// modelSession is a session. A modelSession needs no entry ids, because each modelEntry records whether a summary
// covers it.
type modelSession struct {
	model, summary string
	folds          int
	at             time.Time
}

type modelUsage struct {
	in     chat.Conversation
	user   chat.UserID
	tokens int
	at     time.Time
}

type modelMessage struct {
	key      chat.Conversation // the conversation, with the chat's id at the time of acceptance
	in       chat.Conversation // the conversation, with the chat's current id
	id       chat.MessageID
	state    string
	attempts int
	turn     string
	accepted time.Time
	done     time.Time
}

type modelTurn struct {
	record chat.Turn
	stale  bool // the history has changed since the turn began
	begun  time.Time
	ended  time.Time
}

type modelEntry struct {
	in     chat.Conversation
	turn   string
	user   chat.UserID
	body   string
	at     time.Time
	folded bool // a summary covers this entry
}

func newModel() *model {
	return &model{
		resume: map[chat.EndpointID]string{}, moves: map[chat.ChatID]chat.ChatID{}, blocks: map[chat.Block]time.Time{},
		kept: map[chat.Conversation]modelSession{}, modelPeople: newModelPeople(),
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

// find returns the unfinished message with the given id. If two messages have this id, find prefers a message that
// belongs to no turn.
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

// begin reports whether the turn may begin.
func (m *model) begin(turn chat.Turn, ids []chat.MessageID, at time.Time) bool {
	id, c, ending := turn.ID, turn.Conversation, string(turn.Ending)
	if t := m.turn(id); t != nil {
		if t.record.State != chat.TurnRunning || t.record.Void {
			return false
		}
		t.record.Runs++
		for _, x := range m.inbox {
			if x.turn == id && x.state == "running" {
				x.attempts++
			}
		}
		return true
	}
	oldest := at
	for _, id := range ids {
		x := m.find(c, id)
		if x == nil {
			return false
		}
		if x.accepted.Before(oldest) {
			oldest = x.accepted
		}
	}
	for _, message := range ids {
		x := m.find(c, message)
		x.state, x.turn = "running", id
		x.attempts++
	}
	r := turnOf(id, c)
	r.User, r.Replaces = turn.User, turn.Replaces
	if now := m.now(c); now != c && r.To.Chat == c.Chat {
		r.To.Chat, r.ReplyTo = now.Chat, ""
	}
	r.Conversation, r.State, r.Runs, r.Began, r.Ending = m.now(c), chat.TurnRunning, 1, oldest, []byte(ending)
	if ending != "" {
		r.State = chat.TurnDecided
	}
	m.turns = append(m.turns, &modelTurn{record: r, begun: at})
	return true
}

func (m *model) decide(id string, d chat.Decision, at time.Time) bool {
	t := m.turn(id)
	switch {
	case t == nil:
		return false
	case t.record.State == chat.TurnDecided:
		return true
	case t.record.State != chat.TurnRunning, t.record.Void:
		return false
	}
	t.record.State, t.record.Ending, t.record.Steps = chat.TurnDecided, d.Ending, nil
	m.grow(t, d.Growth, at)
	return true
}

func (t *modelTurn) unfinished() bool {
	return t.record.State == chat.TurnRunning || t.record.State == chat.TurnDecided
}

func (m *model) end(id string, g chat.Growth, at time.Time) bool {
	t := m.turn(id)
	if t == nil || !t.unfinished() {
		return t != nil
	}
	if t.record.Void {
		g.History, g.Compaction = nil, nil
	}
	if t.record.State == chat.TurnRunning {
		g.Usage = slices.Concat(g.Usage, g.Undecided)
	}
	m.grow(t, g, at)
	t.record.State, t.ended = chat.TurnDone, at
	for _, x := range m.inbox {
		if x.turn == id && x.state == "running" {
			x.state, x.done = "done", at
		}
	}
	return true
}

func (m *model) release(id string, at time.Time) bool {
	t := m.turn(id)
	switch {
	case t == nil:
		return false
	case !t.unfinished():
		return true
	case t.record.State == chat.TurnDecided:
		return false
	}
	t.record.State, t.ended = "released", at
	for _, x := range m.inbox {
		if x.turn == id && x.state == "running" {
			x.state, x.turn = "pending", ""
			x.attempts--
		}
	}
	return true
}

func (m *model) record(id string, p chat.Part) bool {
	t := m.turn(id)
	switch {
	case t == nil:
		return false
	case !t.unfinished():
		return p.State != chat.PartIntended
	}
	p.Steps = len(t.record.Steps)
	if i := slices.IndexFunc(t.record.Parts, func(x chat.Part) bool { return x.Index == p.Index && x.Source == p.Source }); i >= 0 {
		p.Steps = t.record.Parts[i].Steps // the part's text has not changed, so it still contains the same steps
	}
	parts := slices.DeleteFunc(t.record.Parts, func(x chat.Part) bool { return x.Index == p.Index })
	t.record.Parts = append(parts, p)
	slices.SortFunc(t.record.Parts, func(a, b chat.Part) int { return a.Index - b.Index })
	return true
}

func (m *model) forget(c chat.Conversation) {
	c = m.now(c)
	m.said = slices.DeleteFunc(m.said, func(e modelEntry) bool { return e.in == c })
	m.dropSummary(c)
	m.outdate(c)
	m.revoke(c, "")
	for _, t := range m.turns {
		if t.record.Conversation == c && t.record.State == chat.TurnRunning {
			t.record.Void = true
		}
	}
}

func (m *model) move(from, to chat.ChatID) {
	if from == to {
		return
	}
	if now, ok := m.moves[to]; ok && now != from {
		to = now
	}
	if now, ok := m.moves[from]; from == to || ok && now == to { // if this move is already stored, it changes nothing
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
	m.moveSessions(moved)
	m.moveConsents(moved)
	for b, until := range m.blocks {
		if b.Chat == from {
			delete(m.blocks, b)
			b.Chat = to
			m.blocks[b] = time.UnixMilli(max(until.UnixMilli(), m.blocks[b].UnixMilli()))
		}
	}
	for _, t := range m.turns {
		if moved(&t.record.Conversation) && t.record.To.Chat == from && t.unfinished() {
			t.record.To.Chat, t.record.ReplyTo = to, ""
		}
		if c := t.record.Conversation; c.Endpoint == "tg" && c.Chat == to {
			t.stale = true
		}
	}
}

func (m *model) sweep(now time.Time, retention time.Duration) {
	over := now.Add(-7*24*time.Hour - time.Hour)
	m.inbox = slices.DeleteFunc(m.inbox, func(x *modelMessage) bool { return x.state == "done" && x.done.Before(over) })
	m.turns = slices.DeleteFunc(m.turns, func(t *modelTurn) bool { return !t.unfinished() && t.ended.Before(over) })
	if retention > 0 {
		m.said = slices.DeleteFunc(m.said, func(e modelEntry) bool { return e.at.Before(now.Add(-retention)) })
		for c, s := range m.kept {
			if s.at.Before(now.Add(-retention)) {
				m.dropSummary(c)
			}
		}
	}
}

// The methods pending, unfinished and history return the results that a store must return.
func (m *model) pending() (list []string) {
	for _, x := range m.inbox {
		if x.state == "pending" {
			list = append(list, fmt.Sprint(x.in, x.in.Chat, x.id, x.attempts, x.accepted.UnixMilli()))
		}
	}
	return list
}

func (m *model) unfinished() (list []chat.Turn) {
	for _, t := range m.turns {
		if !t.unfinished() {
			continue
		}
		r := t.record
		for _, x := range m.inbox {
			if x.turn == r.ID && x.state == "running" {
				in := message(x.in, x.id)
				r.Messages = append(r.Messages, in)
			}
		}
		r.Void = r.Void || len(r.Messages) == 0
		list = append(list, plain(r))
	}
	return list
}

// TestModel makes the same random calls on a store and on the model, and sometimes reopens the store (F37, F41, F43,
// F54).
func TestModel(t *testing.T) {
	t.Parallel()
	template := empty(t)
	for name, place := range map[string]func(*testing.T, *rapid.T) opener{
		"SQLite": func(t *testing.T, rt *rapid.T) opener {
			dir, err := os.MkdirTemp(t.TempDir(), "")
			if err != nil {
				rt.Fatal(err)
			}
			write(t, store.File(dir), template)
			return sqliteOpener(dir)
		},
		"Memory": func(*testing.T, *rapid.T) opener { return memoryOpener() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkModel(t, place)
		})
	}
}

// checkModel compares stores with the model. The function place returns a function that opens an empty store.
func checkModel(t *testing.T, place func(*testing.T, *rapid.T) opener) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		open := place(t, rt)
		var failure any
		synctest.Test(t, func(t *testing.T) {
			defer func() { failure = recover() }() // pass a panic on to rapid outside of synctest's bubble
			play(t, rt, open)
		})
		if failure != nil {
			panic(failure)
		}
	})
}

func play(t *testing.T, rt *rapid.T, open opener) {
	s, err := open(t.Context())
	if err != nil {
		rt.Fatal(err)
	}
	p := &player{T: rt, t: t, s: s, open: open, m: newModel()}
	defer p.close()
	rt.Repeat(map[string]func(*rapid.T){
		"accept": p.accept, "accept more": p.accept, "drop": p.drop, "begin": p.begin, "begin more": p.begin,
		"decide": p.decide, "end": p.end, "release": p.release, "part": p.part, "forget": p.forget,
		"join": p.join, "undo": p.undo, "erase": p.erase, "choose": p.choose,
		"note": p.note, "consent": p.consent, "remember": p.remember, "forget facts": p.forgetFacts,
		"move": p.move, "block": p.block, "sweep": p.sweep, "restart": p.restart,
		"": p.compare,
	})
	p.compareAll()
}

// player makes the same calls on the store and on the model.
type player struct {
	*rapid.T
	t     *testing.T
	s     gateway.Store
	open  opener
	m     *model
	count int // a number that is added to each text, so that all texts differ
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

// turn returns the id of a turn: usually the id of an unfinished turn, sometimes any id.
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

// must fails the test if a call of the store succeeded but should fail, or failed but should succeed.
func (p *player) must(err error, succeeds bool) {
	if (err == nil) != succeeds {
		p.Fatalf("got error %v, want success %v", err, succeeds)
	}
}

func (p *player) accept(*rapid.T) {
	c := p.conversation()
	in := message(c, p.message())
	in.Resume = rapid.SampledFrom([]string{"", "a", "b"}).Draw(p.T, "resume")
	fresh, err := p.s.Accept(p.t.Context(), c, in)
	p.must(err, true)
	if want := p.m.accept(c, in.ID, in.Resume, time.Now()); fresh != want {
		p.Fatalf("accept %s of %s: got fresh %v, want %v", in.ID, c, fresh, want)
	}
	time.Sleep(time.Millisecond)
}

func (p *player) drop(*rapid.T) {
	c, id := p.conversation(), p.message()
	p.must(p.s.Drop(p.t.Context(), c, id), true)
	p.m.drop(c, id, time.Now())
}

// begin starts a turn with some of the waiting messages. The list of calls from which rapid chooses contains begin
// twice, so that there are enough turns.
func (p *player) begin(*rapid.T) {
	c, ids := p.conversation(), []chat.MessageID{}
	for range rapid.IntRange(1, 2).Draw(p.T, "messages") {
		if id := p.message(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	ids = slices.DeleteFunc(ids, func(id chat.MessageID) bool {
		return p.m.find(c, id) == nil && rapid.IntRange(0, 9).Draw(p.T, "unknown") > 0
	})
	turn := turnOf(fmt.Sprintf("t%02d", rapid.IntRange(0, 19).Draw(p.T, "turn")), c, ids...)
	turn.User, turn.Replaces = p.user(), fmt.Sprintf("t%02d", rapid.IntRange(0, 19).Draw(p.T, "replaces"))
	turn.Ending = []byte(rapid.SampledFrom([]string{"", "", "", "known"}).Draw(p.T, "ending"))
	p.must(p.s.Begin(p.t.Context(), turn), p.m.begin(turn, ids, time.Now()))
	time.Sleep(time.Millisecond)
}

func (p *player) decide(*rapid.T) {
	id, d := p.turn(), decision("final")
	d.Growth = p.growth(id)
	p.must(p.s.Decide(p.t.Context(), id, d), p.m.decide(id, d, time.Now()))
}

func (p *player) end(*rapid.T) {
	id := p.turn()
	g := p.growth(id)
	p.must(p.s.End(p.t.Context(), id, g), p.m.end(id, g, time.Now()))
}

func (p *player) release(*rapid.T) {
	id := p.turn()
	p.must(p.s.Release(p.t.Context(), id), p.m.release(id, time.Now()))
}

func (p *player) part(*rapid.T) {
	id := p.turn()
	part := chat.Part{
		Index: rapid.IntRange(-1, 2).Draw(p.T, "index"), State: rapid.SampledFrom([]chat.PartState{
			chat.PartIntended, chat.PartStands, chat.PartSealed, chat.PartResent, chat.PartGone, chat.PartFrozen,
		}).Draw(p.T, "part state"),
		Text: rapid.String().Draw(p.T, "text"), Cursor: rapid.Bool().Draw(p.T, "cursor"), Key: "k",
		Ref: chat.MessageRef{ID: p.message(), Target: chat.Target{Chat: "1", Kind: chat.Group}},
	}
	p.must(p.s.Record(p.t.Context(), id, part), p.m.record(id, part))
}

func (p *player) forget(*rapid.T) {
	c := p.conversation()
	p.must(p.s.Forget(p.t.Context(), c), true)
	p.m.forget(c)
}

func (p *player) move(*rapid.T) {
	from, to := p.conversation().Chat, p.conversation().Chat
	if rapid.IntRange(0, 2).Draw(p.T, "rare") > 0 {
		return // skip most moves, so that other calls are tested too
	}
	p.must(p.s.Move(p.t.Context(), "tg", from, to), true)
	p.m.move(from, to)
}

func (p *player) block(*rapid.T) {
	b := chat.Block{Scope: chat.ScopeChat, Chat: p.conversation().Chat}
	until := time.Now().Add(time.Duration(rapid.IntRange(-10, 100).Draw(p.T, "seconds")) * time.Second)
	timed := b
	timed.Until = until
	p.must(p.s.SaveBlock(p.t.Context(), "tg", timed), true)
	if until.After(p.m.blocks[b]) {
		p.m.blocks[b] = until
	}
}

// sweep lets time pass, and deletes expired rows in stores that support this.
func (p *player) sweep(*rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(0, 96).Draw(p.T, "hours")) * time.Hour)
	retention := time.Duration(rapid.IntRange(0, 5).Draw(p.T, "retention")) * 24 * time.Hour
	if s, ok := p.s.(durable); ok {
		_, err := s.Sweep(p.t.Context(), time.Now(), retention)
		p.must(err, true)
		p.m.sweep(time.Now(), retention)
	}
}

func (p *player) close() {
	if s, ok := p.s.(durable); ok {
		p.must(s.Close(), true)
	}
}

func (p *player) restart(*rapid.T) {
	p.close()
	s, err := p.open(p.t.Context())
	p.must(err, true)
	p.s = s
	p.compareAll()
}

// compare reads all data back, but only after every fourth step, because reading takes most of the time of this test.
func (p *player) compare(*rapid.T) {
	if p.steps++; p.steps%4 == 0 {
		p.compareAll()
	}
}

func (p *player) compareAll() {
	ctx := p.t.Context()
	pending, err := p.s.Pending(ctx)
	p.must(err, true)
	var waiting []string
	for _, x := range pending {
		waiting = append(waiting, fmt.Sprint(x.Conversation, x.Message.To.Chat, x.Message.ID, x.Begun, x.Accepted.UnixMilli()))
	}
	if want := p.m.pending(); !slices.Equal(waiting, want) {
		p.Fatalf("pending: got %v, want %v", waiting, want)
	}
	turns, err := p.s.Unfinished(ctx)
	p.must(err, true)
	for i := range turns {
		turns[i] = plain(turns[i])
		for k := range turns[i].Messages { // ignore the field Resume, because the model's messages have none
			if m := &turns[i].Messages[k]; m.ID != "" {
				m.Resume = ""
			}
		}
	}
	if want := p.m.unfinished(); !reflect.DeepEqual(turns, want) {
		p.Fatalf("unfinished: got %+v, want %+v", turns, want)
	}
	p.compareHistory(ctx)
	p.compareBlocks(ctx)
	p.compareFacts(ctx)
}

func (p *player) compareHistory(ctx context.Context) {
	for _, e := range []chat.EndpointID{"tg", "slack"} {
		if got, err := p.s.Resume(ctx, e); err != nil || got.Cursor != p.m.resume[e] {
			p.Fatalf("cursor of %s: got %q, %v, want %q", e, got.Cursor, err, p.m.resume[e])
		}
		for _, ch := range []chat.ChatID{"1", "2", "3"} {
			for _, th := range []chat.ThreadID{"", "t"} {
				c := chat.Conversation{Endpoint: e, Chat: ch, Thread: th}
				p.compareSession(ctx, c)
				p.compareConsents(ctx, c)
			}
		}
	}
}

func (p *player) compareBlocks(ctx context.Context) {
	blocks, err := p.s.Blocks(ctx, "tg")
	p.must(err, true)
	got, want := map[chat.Block]int64{}, map[chat.Block]int64{}
	for _, b := range blocks {
		got[chat.Block{Scope: b.Scope, Chat: b.Chat, Message: b.Message}] = b.Until.UnixMilli()
	}
	for b, until := range p.m.blocks {
		if until.After(time.Now()) {
			want[b] = until.UnixMilli()
		}
	}
	if !maps.Equal(got, want) {
		p.Fatalf("blocks: got %v, want %v", got, want)
	}
}
