package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
	"telex/standin/telegram"
)

// finalPatience is how long the last daemon may take until every answer stands.
const finalPatience = 45 * time.Second

// plan says what happens in a trial.
type plan struct {
	questions  []question // asked before the first daemon starts
	strikes    []strike   // one for each daemon but the last
	unstreamed bool
	queue      bool // a second question waits until the first is answered
	closed     bool // the reply is given up, since it killed the daemon too often
}

// trial is one home of daemons that are killed one after the other, but for the last.
type trial struct {
	plan
	world  *world
	lives  []*life
	left   [][]store.TurnRecord // what each of them left unfinished
	before string               // what the first person saw when the last daemon was started
	struck chan struct{}        // closed when a call that is held may go on
}

// outcome is what came of a trial.
type outcome struct {
	verdict
	kills     int
	hit       bool // all strikes found their instant
	answers   int
	overLimit int // calls beyond the published limits
}

// run runs the trial: kill upon kill, then a daemon that may live.
func (p plan) run(ctx context.Context, binary string) (o outcome, err error) {
	w, err := newWorld(ctx)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	h, err := newHome(binary, w, p)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, h.remove()) }()
	if err := w.ask(p.questions); err != nil {
		return o, err
	}
	t := &trial{plan: p, world: w}
	if o.hit, err = t.strike(ctx, h); err != nil || !o.hit {
		return o, err
	}
	o.kills = len(t.lives)
	return o, t.finish(ctx, h, &o)
}

// strike starts and kills the daemons.
func (t *trial) strike(ctx context.Context, h home) (bool, error) {
	for i, s := range t.strikes {
		wait := s(t)
		l, err := h.start(i)
		if err != nil {
			return false, err
		}
		hit, err := wait(ctx, l)
		l.kill() // mostly it is dead already
		t.world.telegram.ClearFaults()
		if err = errors.Join(err, l.log.Close(), l.sound()); err != nil || !hit {
			return false, err
		}
		turns, err := l.left(ctx)
		if err != nil {
			return false, err
		}
		t.lives, t.left = append(t.lives, l), append(t.left, turns)
	}
	return true, nil
}

// finish starts the last daemon, waits for the answers, and judges.
func (t *trial) finish(ctx context.Context, h home, o *outcome) error {
	t.before = t.world.seen(t.questions[0].chat)
	last, err := h.start(len(t.strikes))
	if err != nil {
		return err
	}
	t.lives = append(t.lives, last)
	_, err = await(ctx, finalPatience, last.exited, func() bool { return t.complete() && t.world.polled(last.started) })
	if err != nil {
		last.kill()
		return errors.Join(err, last.log.Close())
	}
	if err := errors.Join(last.stop(), last.log.Close()); err != nil {
		o.add(verdict{Other: 1, What: err.Error()})
	}
	if err := h.check(ctx); err != nil {
		o.add(verdict{Other: 1, What: err.Error()})
	}
	t.judge(o)
	return nil
}

// complete says that every answer stands as it must.
func (t *trial) complete() bool {
	return !slices.ContainsFunc(t.chats(), func(c int64) bool { return t.verdict(c).bad() })
}

// chats returns the chats of the trial, each once.
func (t *trial) chats() []int64 {
	var list []int64
	for _, q := range t.questions {
		list = append(list, q.chat)
	}
	return slices.Compact(list)
}

// judge counts what people were left with, and what the platform complains about.
func (t *trial) judge(o *outcome) {
	o.answers = len(t.questions)
	for _, c := range t.chats() {
		o.add(t.verdict(c))
	}
	stats := t.world.telegram.Stats()
	o.overLimit = stats.Violations.OverLimit
	if n := t.blockedCalls(); n > 0 {
		o.add(verdict{Other: n, What: fmt.Sprintf("%d calls while a 429 blocked their chat: %v", n, stats.Violations.Details)})
	}
	if asked := t.world.model.Stats().Requests; t.closed && asked != len(t.strikes) {
		o.add(verdict{Other: 1, What: fmt.Sprintf("the model was asked %d times, want %d", asked, len(t.strikes))})
	}
}

// verdict judges one chat.
func (t *trial) verdict(c int64) verdict {
	want := ""
	for _, q := range t.questions {
		if q.chat == c {
			want += " " + q.want
		}
	}
	if t.closed {
		return judgeClosed(want, t.before, t.shown(c))
	}
	return judge(want, t.shown(c))
}

// blockedCalls counts the calls that came in the time that a 429 had closed.
func (t *trial) blockedCalls() int {
	type window struct {
		chat       int64
		from, till time.Time
	}
	var windows []window
	n := 0
	for _, c := range t.world.telegram.Calls() {
		if slices.ContainsFunc(windows, func(w window) bool { return w.chat == c.Chat && c.At.After(w.from) && c.At.Before(w.till) }) {
			n++
		}
		if c.RetryAfter > 0 && shows(c) {
			windows = append(windows, window{c.Chat, c.Done, c.Done.Add(time.Duration(c.RetryAfter) * time.Second)})
		}
	}
	return n
}

// shown returns the bot's messages in a chat.
func (t *trial) shown(c int64) []shown {
	var list []shown
	calls := t.world.telegram.Calls()
	for _, m := range t.world.standing(c) {
		list = append(list, shown{id: m.ID, text: m.Text(), nameless: t.nameless(calls, c, m.ID)})
	}
	return list
}

// nameless says that the id of a message was never learned: it was made by the last create in its
// chat of a daemon that was killed before the create's answer had come, or so soon after it that the
// store still held no more than the intent.
func (t *trial) nameless(calls []telegram.Call, c int64, message int) bool {
	for i, turns := range t.left {
		from, till := t.lives[i].started, time.Now()
		if i+1 < len(t.lives) {
			till = t.lives[i+1].started
		}
		var last telegram.Call
		for _, call := range calls {
			if call.Chat == c && call.At.After(from) && call.At.Before(till) && creates(call) && call.Effect {
				last = call
			}
		}
		if last.MessageID != message {
			continue
		}
		inTime := last.Done.IsZero() || last.Done.After(t.lives[i].killed.Add(-learnedWithin))
		return inTime && intended(turns, c) && !learned(turns, message)
	}
	return false
}

// learnedWithin is how long a daemon on a busy machine may take to store the answer of a create.
const learnedWithin = 300 * time.Millisecond

func creates(c telegram.Call) bool {
	return c.Method == "sendMessage" || c.Method == "sendDocument"
}

// intended says that a turn of the chat had begun to create a message and not learned of its end.
func intended(turns []store.TurnRecord, c int64) bool {
	return slices.ContainsFunc(turns, func(r store.TurnRecord) bool {
		return r.Conversation.Chat == chat.ChatID(strconv.FormatInt(c, 10)) &&
			slices.ContainsFunc(r.Parts, func(p store.Part) bool { return p.Ref.ID == "" })
	})
}

func learned(turns []store.TurnRecord, message int) bool {
	id := chat.MessageID(strconv.Itoa(message))
	return slices.ContainsFunc(turns, func(r store.TurnRecord) bool {
		return slices.ContainsFunc(r.Parts, func(p store.Part) bool { return p.Ref.ID == id })
	})
}

// seeded returns what draws the instants of one trial.
func seeded(seed uint64, kind string, number int) *rand.Rand {
	mix := uint64(number)
	for _, r := range kind {
		mix = mix*131 + uint64(r)
	}
	return rand.New(rand.NewPCG(seed, mix))
}
