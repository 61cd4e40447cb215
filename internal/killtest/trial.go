package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"telex/standin/fault"
	"telex/standin/telegram"
)

// finalPatience is the maximum time that the last daemon may need until every answer is complete.
const finalPatience = 45 * time.Second

// plan describes a trial: what people ask, and when the daemons are killed.
type plan struct {
	questions  []question // questions that people ask before the first daemon starts
	strikes    []strike   // one strike, which determines when to kill, for each daemon except the last
	unstreamed bool
	queue      bool // configures busy: queue, so a second question waits until the bot has answered the first
	closed     bool // too many daemons are killed during the reply, so telex must give up the reply
	cuts       int  // number of creates that take effect although the daemon gets no response
}

// trial runs several daemons with the same directory, one after the other. The trial kills all of these daemons except the last
// one.
type trial struct {
	plan
	world  *world
	lives  []*life
	left   []left        // for each killed daemon: the unfinished work in its store
	before string        // text of the first reply that people saw when the last daemon started, as far as it could be stored
	struck chan struct{} // closed when the platform's stand-in may continue the call that it holds
}

// outcome is the result of a trial.
type outcome struct {
	verdict
	kills   int
	hit     bool // each intended situation for a kill occurred
	missed  int  // number of earlier attempts in which a situation for a kill did not occur
	answers int
}

// run runs the trial: it kills all daemons except the last one, which must complete the answers.
func (p plan) run(ctx context.Context, binary string) (o outcome, err error) {
	w, err := newWorld(ctx)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	h, err := newHome(binary, w, p)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, h.remove()) }()
	if err := w.ask(p.questions); err != nil {
		return o, err
	}
	t := &trial{plan: p, world: w}
	if p.cuts > 0 {
		w.Telegram.Fault(telegram.Fault{Method: sendCall, Action: fault.CutAfter, Times: p.cuts})
	}
	if o.hit, err = t.strike(ctx, h, &o); err != nil || !o.hit || o.bad() {
		return o, err
	}
	o.kills = len(t.lives)
	return o, t.finish(ctx, h, &o)
}

// strike starts and kills the daemons. strike returns false if an intended situation for a kill did not occur.
func (t *trial) strike(ctx context.Context, h home, o *outcome) (bool, error) {
	for i, s := range t.strikes {
		wait := s(t)
		l, err := h.start(i)
		if err != nil {
			return false, err
		}
		hit, err := wait(ctx, l)
		l.Kill() // usually the daemon is already dead, and Kill does nothing
		t.world.Telegram.ClearFaults()
		err = errors.Join(err, l.CloseLog())
		if died := l.Sound(); err == nil && died != nil {
			o.add(verdict{Other: 1, What: died.Error()})
			return true, nil
		}
		if err != nil || !hit {
			return false, err
		}
		t.lives, t.left = append(t.lives, l), append(t.left, l.left(ctx))
		if err := t.world.settle(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// finish starts the last daemon, waits for the answers, and compares them with the expected answers.
func (t *trial) finish(ctx context.Context, h home, o *outcome) error {
	t.before = t.known(t.questions[0].chat)
	last, err := h.start(len(t.strikes))
	if err != nil {
		return err
	}
	t.lives = append(t.lives, last)
	_, err = await(ctx, finalPatience, last.Exited, func() bool {
		return t.complete() && t.world.polled(last.Started) && !t.world.searching(last.Started)
	})
	if err != nil {
		last.Kill()
		return errors.Join(err, last.CloseLog())
	}
	if err := last.Stop(); err != nil {
		o.add(verdict{Other: 1, What: err.Error()})
	}
	err = h.check(ctx)
	if err == nil && !t.closed {
		err = t.memory(ctx, h)
	}
	if err != nil {
		o.add(verdict{Other: 1, What: err.Error()})
	}
	t.judge(o)
	return nil
}

// recordLag is the maximum time from an edit until the daemon has stored the edit. A daemon stores an edit only after
// the call (D15), when people already see the new text.
const recordLag = 500 * time.Millisecond

// known returns the text of a chat that people saw and that the killed daemons had time to store. The returned text contains no
// cursors.
func (t *trial) known(c int64) string {
	known := t.shown(c)
	for i, m := range t.world.standing(c) {
		for n := len(m.Versions) - 1; n > 0 && t.unstored(m.Versions[n].At); n-- {
			known[i].text = m.Versions[n-1].Text
		}
	}
	known = slices.DeleteFunc(known, func(m shown) bool { return m.nameless })
	for i := range known {
		known[i].text = strings.TrimSuffix(known[i].text, cursor)
	}
	return join(known)
}

// unstored reports whether a daemon was killed during an edit, or so soon afterwards that the daemon may not have
// stored the edit.
func (t *trial) unstored(edited time.Time) bool {
	return slices.ContainsFunc(t.lives, func(l *life) bool { return l.Killed.Sub(edited).Abs() < recordLag })
}

// complete reports whether every answer is complete.
func (t *trial) complete() bool {
	return !slices.ContainsFunc(t.chats(), func(c int64) bool { return t.verdict(c).bad() })
}

// chats returns the ids of the trial's chats, without duplicates.
func (t *trial) chats() []int64 {
	var list []int64
	for _, q := range t.questions {
		list = append(list, q.chat)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// judge counts the mistakes that people saw, and the violations that the platform counted.
func (t *trial) judge(o *outcome) {
	o.answers = len(t.questions)
	for _, c := range t.chats() {
		o.add(t.verdict(c))
	}
	if list := t.blockedCalls(); len(list) > 0 {
		o.add(verdict{Limits: len(list), What: fmt.Sprintf("calls while a 429 had closed their chat: %v", list)})
	}
	if v := t.world.Telegram.Stats().Violations; v.OverLimit > 0 {
		o.add(verdict{Limits: v.OverLimit, What: fmt.Sprintf("calls beyond the limits: %+v", v.Details)})
	}
	for i, l := range t.left {
		if o.bad() && l.err != nil {
			o.What += fmt.Sprintf("\nthe store of daemon %d could not be read: %v", i, l.err)
		}
	}
	if n := t.cut(); n < t.cuts {
		o.add(verdict{Other: 1, What: fmt.Sprintf("%d creates were cut, want %d", n, t.cuts)})
	}
	if n := t.touched(); n > 0 {
		o.add(verdict{Other: 1, What: fmt.Sprintf("%d messages of people were deleted", n)})
	}
	if asked := t.world.Model.Stats().Requests; t.closed && asked != len(t.strikes) {
		o.add(verdict{Other: 1, What: fmt.Sprintf("the model was asked %d times, want %d", asked, len(t.strikes))})
	}
}

// cut returns the number of creates that took effect although the daemon got no response.
func (t *trial) cut() (n int) {
	for _, c := range t.world.Telegram.Calls() {
		if c.Fault == fault.CutAfter {
			n++
		}
	}
	return n
}

// touched returns how many messages from people a daemon has deleted by mistake.
func (t *trial) touched() (n int) {
	for _, c := range t.chats() {
		for _, m := range t.world.Telegram.History(c) {
			if !m.FromBot && !m.Alive() {
				n++
			}
		}
	}
	return n
}

// verdict compares the messages of one chat with the expected answers.
func (t *trial) verdict(c int64) verdict {
	var texts []string
	for _, q := range t.questions {
		if q.chat == c {
			texts = append(texts, q.want)
		}
	}
	want := strings.Join(texts, " ")
	if t.closed {
		return judgeClosed(want, t.before, t.shown(c))
	}
	return judge(want, t.shown(c))
}

// seeded returns the random generator of one trial. For the same arguments, seeded always generates the same numbers.
func seeded(seed uint64, kind string, number int) *rand.Rand {
	mix := uint64(number)
	for _, r := range kind {
		mix = mix*131 + uint64(r)
	}
	return rand.New(rand.NewPCG(seed, mix))
}
