package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"telex/gateway"
	"telex/internal/chat"
	"telex/internal/store/memory"
)

// keeper gives one simulated process access to the store. After the death of the process, its keeper stores nothing. A
// schedule can kill the process exactly before or after a write. The keeper also records the stored data for the judge.
type keeper struct {
	l     *life
	store *memory.Store
}

var errFull = errors.New("the disk is full")

// turnLog is the judge's record of a turn.
type turnLog struct {
	id       string
	place    int
	messages []int // the messages that the turn answers
	first    int   // number of messages that the turn answered when it began; later messages joined the running turn
	replaces string
	void     bool // a person erased the turn's messages while the turn ran
	undone   bool // the turn was removed from the history
	undoneBy int  // number of the message with the command /undo that removed the turn
	begun    []beginning
	runs     []*run
	decided  time.Time
	decider  *life // the process that stored the last decision
	ended    time.Time
	released time.Time
	calls    []*call
	edited   chat.MessageID // the message that the newest preview edited
	lastEdit time.Time
	lastRun  int  // which run of the turn made the newest preview edit
	asks     bool // people were asked to approve a tool call of the turn
	steps    int  // number of stored steps with tool calls
	revised  int  // how often an edited question restarted the turn
	usage    []chat.Usage
	line     string
	states   map[partOfLife]chat.PartState // the state that each process stored last for each message
	taken    map[*life][]time.Time         // when each replica took the turn over
}

// partOfLife identifies one message of a reply and the process that stored its state.
type partOfLife struct {
	life *life
	key  string
}

type beginning struct {
	life *life
	at   time.Time
}

func (t *turnLog) over() bool { return !t.ended.IsZero() || !t.released.IsZero() }

// write makes one write to the store. write fails if the process is dead, or if the schedule kills the process at this
// write.
func (k *keeper) write(ctx context.Context, do func() error, note func()) error {
	w := k.l.w
	if err := k.reach(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if k.l.isDead() {
		return errDead
	}
	n := w.writes
	w.writes++
	if d := w.killLocked(n, beforeWrite); d != nil {
		k.l.dieLocked(d)
		return errDead
	}
	err := do()
	if err == nil && note != nil {
		note()
	}
	if d := w.killLocked(n, afterWrite); d != nil {
		k.l.dieLocked(d)
		return errDead
	}
	return err
}

// read makes one read from the store. If several processes share the store, a schedule can kill a process at a read,
// too.
func read[T any](ctx context.Context, k *keeper, do func() (T, error)) (v T, err error) {
	if k.l.w.s.replicas > 0 {
		err = k.write(ctx, func() error {
			v, err = do()
			return err
		}, nil)
		return v, err
	}
	if err := k.reach(ctx); err != nil {
		var none T
		return none, err
	}
	return do()
}

func (k *keeper) Accept(ctx context.Context, c chat.Conversation, m chat.Inbound) (fresh bool, err error) {
	w := k.l.w
	err = k.agree(ctx, func() error {
		if time.Since(w.began) < w.fullUntil {
			w.counts.add("fault: store full", 1)
			return errFull
		}
		fresh, err = k.store.Accept(ctx, c, m)
		return err
	}, func() {
		if fresh {
			w.accepted(m)
			w.messages[numberOf(m.ID)].receiver = k.l
		}
	})
	return fresh, err
}

func (k *keeper) Drop(ctx context.Context, c chat.Conversation, ids ...chat.MessageID) error {
	return k.write(ctx, func() error { return k.store.Drop(ctx, c, ids...) }, func() {
		for _, id := range ids {
			m := k.l.w.messages[numberOf(id)]
			m.dropped, m.droppedBy = time.Now(), k.l
			k.l.w.note("m%d is dropped", numberOf(id))
		}
	})
}

func (k *keeper) Begin(ctx context.Context, t chat.Turn) error {
	stored := t
	stored.Ending = k.written(t.Ending)
	return k.write(ctx, func() error { return k.store.Begin(ctx, stored) }, func() { k.begun(t) })
}

// begun records for the judge that a process has begun a turn.
func (k *keeper) begun(t chat.Turn) {
	w := k.l.w
	tl := w.turns[t.ID]
	if tl == nil {
		tl = &turnLog{id: t.ID, replaces: t.Replaces, place: w.placeOf(t.To.Chat, t.To.Thread), states: map[partOfLife]chat.PartState{}, taken: map[*life][]time.Time{}}
		for _, m := range t.Messages {
			n := numberOf(m.ID)
			tl.place = w.messages[n].place
			tl.messages = append(tl.messages, n)
		}
		tl.first, tl.line = len(tl.messages), string(t.Ending)
		w.turns[t.ID], w.order = tl, append(w.order, tl)
	}
	tl.begun = append(tl.begun, beginning{k.l, time.Now()})
	k.judgeWrite(tl)
	w.note("turn %s begins, it answers %v", t.ID, tl.messages)
}

func (k *keeper) Decide(ctx context.Context, turn string, d chat.Decision) error {
	stored := d
	stored.Ending = k.written(d.Ending)
	return k.write(ctx, func() error { return k.store.Decide(ctx, turn, stored) }, func() {
		t := k.l.w.turns[turn]
		if t.decided.IsZero() {
			t.usage = append(t.usage, d.Usage...)
		}
		t.decided, t.decider = time.Now(), k.l
		k.judgeWrite(t)
		k.l.w.note("turn %s is decided: %s", turn, d.Ending)
	})
}

func (k *keeper) Cut(ctx context.Context, turn string, ending []byte) error {
	return k.write(ctx, func() error { return k.store.Cut(ctx, turn, k.written(ending)) }, func() {
		k.l.w.note("turn %s is cut", turn)
	})
}

func (k *keeper) End(ctx context.Context, turn string, g chat.Growth) error {
	return k.write(ctx, func() error { return k.store.End(ctx, turn, g) }, func() {
		if t := k.l.w.turns[turn]; t != nil && t.ended.IsZero() {
			if t.usage = append(t.usage, g.Usage...); t.decided.IsZero() {
				t.usage = append(t.usage, g.Undecided...)
			}
			t.ended = time.Now()
			k.judgeWrite(t)
			k.l.w.note("turn %s ended", turn)
		}
	})
}

func (k *keeper) Release(ctx context.Context, turn string, used ...chat.Usage) error {
	return k.write(ctx, func() error { return k.store.Release(ctx, turn, used...) }, func() {
		t := k.l.w.turns[turn]
		if !t.ended.IsZero() {
			return // another process has already ended the turn, so the store releases nothing
		}
		t.usage = append(t.usage, used...)
		t.released = time.Now()
		k.judgeWrite(t)
		k.l.w.note("turn %s is released", turn)
	})
}

func (k *keeper) Revise(ctx context.Context, c chat.Conversation, in chat.Inbound) error {
	return k.write(ctx, func() error { return k.store.Revise(ctx, c, in) }, func() {
		k.l.w.note("%s is revised", in.ID)
		for _, t := range k.l.w.order {
			if !t.over() && slices.Contains(t.messages, numberOf(in.ID)) {
				t.steps = 0
				t.revised++
			}
		}
	})
}

func (k *keeper) Record(ctx context.Context, turn string, parts ...chat.Part) error {
	return k.write(ctx, func() error { return k.store.Record(ctx, turn, parts...) }, func() {
		if t := k.l.w.turns[turn]; t != nil {
			for _, p := range parts {
				t.states[partOfLife{k.l, p.Key}] = p.State
			}
			if !t.over() { // after the end of the turn, the record only says that the message exists
				k.judgeWrite(t)
			}
		}
	})
}

func (k *keeper) Forget(ctx context.Context, c chat.Conversation) error {
	return k.write(ctx, func() error { return k.store.Forget(ctx, c) }, func() { k.l.w.forgotten(c, "") })
}

func (k *keeper) SaveBlock(ctx context.Context, e chat.EndpointID, b chat.Block) error {
	w := k.l.w
	return k.write(ctx, func() error { return k.store.SaveBlock(ctx, e, b) }, func() { w.blocks = append(w.blocks, b) })
}

func (k *keeper) Moves(ctx context.Context) ([]chat.Move, error) {
	return read(ctx, k, func() ([]chat.Move, error) { return k.store.Moves(ctx) })
}

func (k *keeper) Knows(ctx context.Context, e chat.EndpointID, c chat.ChatID) (bool, error) {
	return read(ctx, k, func() (bool, error) { return k.store.Knows(ctx, e, c) })
}

func (k *keeper) Move(ctx context.Context, e chat.EndpointID, from, to chat.ChatID) error {
	return k.write(ctx, func() error { return k.store.Move(ctx, e, from, to) }, nil)
}

func (k *keeper) Resume(ctx context.Context, e chat.EndpointID) (chat.Resume, error) {
	return read(ctx, k, func() (chat.Resume, error) { return k.store.Resume(ctx, e) })
}

func (k *keeper) Pending(ctx context.Context) ([]chat.Pending, error) {
	return read(ctx, k, func() ([]chat.Pending, error) { return k.store.Pending(ctx) })
}

func (k *keeper) Unfinished(ctx context.Context) ([]chat.Turn, error) {
	return read(ctx, k, func() ([]chat.Turn, error) {
		turns, err := k.store.Unfinished(ctx)
		return k.readTurns(turns), err
	})
}

func (k *keeper) Blocks(ctx context.Context, e chat.EndpointID) ([]chat.Block, error) {
	list, err := read(ctx, k, func() ([]chat.Block, error) { return k.store.Blocks(ctx, e) })
	if err == nil {
		k.l.w.mu.Lock()
		defer k.l.w.mu.Unlock()
		k.l.blocks = time.Now()
	}
	return list, err
}

var _ gateway.Store = (*keeper)(nil)

// saved reports whether a rate-limit block was stored, so that the next process must obey it.
func (w *world) saved(b block) bool {
	return slices.ContainsFunc(w.blocks, func(s chat.Block) bool {
		if s.Until.Before(b.until) {
			return false
		}
		switch s.Scope {
		case chat.ScopeEndpoint:
			return b.scope == chat.ScopeEndpoint
		case chat.ScopeMessage:
			return b.scope == chat.ScopeMessage && s.Message == b.call.id
		default:
			return b.scope != chat.ScopeEndpoint && s.Chat == b.call.to.Chat
		}
	})
}
