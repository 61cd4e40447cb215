package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"telex/internal/chat"
)

// call is one call of a process to the simulated platform.
type call struct {
	n      int
	life   *life
	op     chat.Op
	to     chat.Target
	id     chat.MessageID // id of the created or changed message
	m      chat.Outgoing
	turn   string
	at     time.Time // when the process made the call
	took   time.Time // when the call arrived at the platform; zero: never
	done   time.Time // when the process learned the result; zero: never
	err    error
	file   *chat.File
	fault  string
	effect bool
}

func (c *call) creates() bool { return c.op == chat.OpSend || c.op == chat.OpStart }

// failed reports whether the process received an error of kind k for the call.
func (c *call) failed(k chat.ErrorKind) bool {
	return c.err != nil && chat.AsSendError(c.err).Kind == k
}

// unknown reports whether the process can't know if the call took effect, because no response arrived or the process
// died before it could store the response.
func (c *call) unknown() bool {
	return c.done.IsZero() || c.failed(chat.Uncertain) || c.life.diedAt(c.done) || c.life.silent(c.done)
}

// learned returns when the process received the response to the call. If there was no response, learned returns when
// the call was made.
func (c *call) learned() time.Time {
	if c.done.IsZero() {
		return c.at
	}
	return c.done
}

var errDead = errors.New("the process is dead")

// arrival tells whether a call arrived at the platform, or its response at the process.
type arrival uint8

const (
	arrives arrival = iota
	givesUp         // the context of the call ended
	dies            // the process that made the call died
)

// travel waits for d, the time that a call needs to reach the platform, or that a response needs to reach the process.
func (l *life) travel(ctx context.Context, d time.Duration) arrival {
	if l.isDead() {
		return dies
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		if l.isDead() {
			return dies
		}
		return arrives
	case <-l.dead:
		return dies
	case <-ctx.Done():
		return givesUp
	}
}

// serve simulates a call: it waits for the latency of the network, applies the effect of the call at the platform, and
// injects the call's fault.
func (l *life) serve(ctx context.Context, c *call, effect func() *chat.SendError) error {
	if l.isDead() {
		<-ctx.Done()
		return ctx.Err()
	}
	w := l.w
	if err := l.reachPlatform(ctx); err != nil {
		return w.unsent(l, c, err)
	}
	f := w.depart(l, c)
	if w.stormy() {
		<-ctx.Done()
		return ctx.Err()
	}
	k := w.killAt(c.n, beforeCall)
	extra := time.Duration(0)
	if f.kind == slowAnswer {
		extra = f.after % (15 * time.Second)
	}
	there := time.Now().Add(w.s.latency/2 + extra)
	switch l.travel(ctx, w.s.latency/2+extra) {
	case dies:
		if l.ghost && k == nil && f.kind == "" {
			time.Sleep(time.Until(there))    // the call was already sent, so it arrives at the usual time
			_ = w.arrive(c, fault{}, effect) // the process is dead, so nobody receives the response
		}
		<-ctx.Done()
		return ctx.Err()
	case givesUp:
		return w.leave(c, ctx.Err())
	}
	if k != nil {
		l.die(k)
		<-ctx.Done()
		return ctx.Err()
	}
	err := w.arrive(c, f, effect)
	if k := w.killAt(c.n, afterCall); k != nil {
		l.die(k)
	}
	if f.kind == hangBefore || f.kind == hangAfter || w.swallowed() {
		select {
		case <-ctx.Done():
		case <-l.dead:
			<-ctx.Done()
			return ctx.Err()
		}
		return w.leave(c, ctx.Err())
	}
	switch l.travel(ctx, w.s.latency-w.s.latency/2) {
	case dies:
		<-ctx.Done()
		return ctx.Err()
	case givesUp:
		err = ctx.Err()
	}
	if k := w.killAt(c.n, afterAnswer); k != nil {
		l.die(k)
	}
	l.wakes(ctx)
	return w.leave(c, err)
}

// mostCalls is a number of calls that a correct gateway never reaches in a schedule.
const mostCalls = 5000

// stormy reports whether the gateway has made so many calls that it probably makes them in an endless loop. After
// mostCalls calls, no further call is served, so that the schedule ends.
func (w *world) stormy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.texts == mostCalls {
		w.complain("F19: a storm of calls")
	}
	return w.texts >= mostCalls
}

// depart records a call when a process makes it, checks whether the call is allowed, and returns the call's fault.
func (w *world) depart(l *life, c *call) fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.begin(l)
	w.judgeLease(c)
	w.judgeDeparture(c)
	w.calls = append(w.calls, c)
	if c.op == chat.OpTyping {
		c.n = -1
		w.indicators++
		return w.s.typing[w.indicators-1]
	}
	c.n = w.texts
	w.texts++
	return w.s.faults[c.n]
}

// begin records which process makes a call, and for which turn. The caller holds world.mu.
func (c *call) begin(l *life) {
	c.life, c.at = l, time.Now()
	if m := l.w.person.message(chat.MessageRef{Target: c.to, ID: c.id}); m != nil {
		c.turn, m.known = m.turn, true
	}
	if i := strings.LastIndexByte(c.m.Key, '.'); i > 0 {
		c.turn = c.m.Key[:i]
	}
}

// arrive is called when a call arrives at the platform. arrive applies the effect of the call, unless a fault, an
// outage or the platform's rules prevent the effect.
func (w *world) arrive(c *call, f fault, effect func() *chat.SendError) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.outage(); o != nil {
		w.hit(c, "outage")
		if o.hangs {
			return nil
		}
		return &chat.SendError{Kind: chat.Temporary}
	}
	c.took = time.Now()
	w.weigh(c)
	if e := w.refuses(c, f); e != nil {
		return e
	}
	if e := w.accident(c, f); e != nil {
		return e
	}
	switch f.kind {
	case cutLate:
		w.hit(c, f.kind)
		if c.creates() {
			time.AfterFunc(f.after%(lateFor-time.Second), func() { w.late(c, effect) })
		}
		return &chat.SendError{Kind: chat.Uncertain}
	case cutBefore:
		w.hit(c, f.kind)
		return &chat.SendError{Kind: chat.Uncertain}
	case hangBefore:
		w.hit(c, f.kind)
		return nil
	}
	if e := effect(); e != nil {
		return e
	}
	c.effect = true
	if f.kind == cutAfter || f.kind == hangAfter {
		w.hit(c, f.kind)
		return &chat.SendError{Kind: chat.Uncertain}
	}
	if f.kind == slowAnswer {
		w.hit(c, f.kind)
	}
	return nil
}

// accident returns the error that a call gets because of its fault or because of the state of its chat.
func (w *world) accident(c *call, f fault) *chat.SendError {
	if to, moved := w.moved[c.to.Chat]; moved {
		return &chat.SendError{Kind: chat.Moved, Moved: to}
	}
	m := w.person.message(chat.MessageRef{Target: c.to, ID: c.id})
	text := c.creates() && !w.known(c) || c.op == chat.OpEdit || c.op == chat.OpDraft
	switch {
	case f.kind == refused:
		w.hit(c, f.kind)
		return &chat.SendError{Kind: chat.Temporary}
	case f.kind == badMarkup && text && len(c.m.Spans) > 0:
		w.hit(c, f.kind)
		return &chat.SendError{Kind: chat.Rejected}
	case f.kind == badContent && text:
		w.hit(c, f.kind)
		return &chat.SendError{Kind: chat.Rejected}
	case f.kind == tooLong && text && w.grows(m, c.m.Text):
		w.hit(c, f.kind)
		return &chat.SendError{Kind: chat.TooLong}
	case f.kind == isFrozen && c.op == chat.OpEdit && m != nil:
		w.hit(c, f.kind)
		m.frozen = true
	case f.kind == isForbidden:
		w.hit(c, f.kind)
		return &chat.SendError{Kind: chat.Forbidden}
	case f.kind == isAuth:
		w.hit(c, f.kind)
		return &chat.SendError{Kind: chat.Auth}
	case f.kind == isBad && (c.creates() || c.op == chat.OpEdit):
		w.hit(c, f.kind)
		w.bad[badName(c)] = time.Now().Add(min(f.after, mostBad))
	}
	if time.Now().Before(w.bad[badName(c)]) && !w.known(c) {
		c.fault = isBad
		return &chat.SendError{Kind: chat.Uncertain}
	}
	if m != nil && m.frozen && c.op == chat.OpEdit {
		return &chat.SendError{Kind: chat.Frozen}
	}
	return nil
}

// mostBad is the maximum time for which the platform fails for one message. mostBad is longer than the time for which
// the gateway tries to show a final.
const mostBad = 40 * time.Minute

// badName identifies the message that a call creates or edits.
func badName(c *call) string {
	if c.creates() {
		return "create " + c.m.Key
	}
	return fmt.Sprint("change ", c.op, " ", c.to.Chat, " ", c.id)
}

// leave records the result that the process received for a call.
func (w *world) leave(c *call, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.done, c.err = time.Now(), err
	if e, ok := errors.AsType[*chat.SendError](err); ok && e.Kind == chat.RateLimited {
		w.told = append(w.told, block{scope: e.Scope, call: c, from: c.done, until: c.done.Add(e.RetryAfter)})
	}
	return err
}

// hit records that a fault of a call occurred.
func (w *world) hit(c *call, fault string) {
	c.fault = fault
	w.counts.add("fault: "+fault, 1)
}

// outage returns the current outage, or nil.
func (w *world) outage() *outage {
	at := time.Since(w.began)
	for i, o := range w.s.outages {
		if at >= o.from && at < o.until {
			return &w.s.outages[i]
		}
	}
	return nil
}

func (w *world) swallowed() bool {
	o := w.outage()
	return o != nil && o.hangs
}

// known reports whether c is a create call whose key has already created a message. The platform then ignores the
// content of the call.
func (w *world) known(c *call) bool {
	return c.creates() && w.s.profile.KeyFor > 0 && w.person.keyed(c.to.Chat, c.m.Key, w.s.profile.KeyFor+keySlack) != nil
}

// create creates a message. If the key of the call has already created a message, create returns that message's id
// instead.
func (w *world) create(c *call, live bool, f *chat.File) {
	delete(w.person.drafts, c.to)
	if w.s.profile.KeyFor > 0 {
		if old := w.person.keyed(c.to.Chat, c.m.Key, w.s.profile.KeyFor+keySlack); old != nil {
			c.id = old.id
			return
		}
	}
	w.ids++
	c.id = chat.MessageID("b" + number(w.ids))
	made := &message{
		id: c.id, chat: c.to.Chat, turn: c.turn, part: partOf(c.m.Key), by: c, made: time.Now(),
		versions: []version{{c.m, time.Now()}}, live: live, file: f,
	}
	w.person.messages = append(w.person.messages, made)
	w.judgeVersion(made)
}

// change replaces the content of a message.
func (w *world) change(c *call, live bool) *chat.SendError {
	m := w.person.message(chat.MessageRef{Target: c.to, ID: c.id})
	switch {
	case m == nil:
		return &chat.SendError{Kind: chat.Gone}
	case m.live:
		w.complain("D13: edit of a stream that was not stopped: %s", m.id)
		return &chat.SendError{Kind: chat.Rejected}
	case m.file != nil:
		w.complain("edit of a file: %s", m.id)
		return &chat.SendError{Kind: chat.Rejected}
	}
	m.versions, m.live = append(m.versions, version{c.m, time.Now()}), live
	w.judgeVersion(m)
	return nil
}

// grow appends text to a stream. If live is false, grow also ends the stream.
func (w *world) grow(c *call, text string, live bool) *chat.SendError {
	m := w.person.message(chat.MessageRef{Target: c.to, ID: c.id})
	switch {
	case m == nil:
		return &chat.SendError{Kind: chat.Gone}
	case !m.live && text == "" && !live:
		return nil
	case !m.live:
		return &chat.SendError{Kind: chat.Rejected}
	case time.Since(m.made) > w.s.profile.StreamFor+expiry:
		m.live = false // the platform ended the stream
		return &chat.SendError{Kind: chat.Rejected}
	}
	v := version{m.now().Outgoing, time.Now()}
	v.Text += text
	m.versions, m.live = append(m.versions, v), live
	if over := w.s.measure.length(v.Text) > w.s.real; over {
		m.versions = m.versions[:len(m.versions)-1]
		m.live = true
		if w.s.measure.length(v.Text) > w.s.profile.TextLimit {
			w.complain("D8: a stream grows over the limit: %q", v.Text)
		}
		return &chat.SendError{Kind: chat.TooLong}
	}
	w.judgeVersion(m)
	return nil
}

// keySlack is how much longer the platform remembers a key than Profile.KeyFor says. The gateway may repeat a create
// call until KeyFor has passed since the start of the first call. The platform must still know the key when the
// repeated call arrives.
const keySlack = 20 * time.Second

// expiry is how much longer the platform keeps a stream open than Profile.StreamFor says.
const expiry = time.Minute

// fits checks that the text of a call is not empty and not too long (D8).
func (w *world) fits(c *call) *chat.SendError {
	switch n := w.s.measure.length(c.m.Text); {
	case w.known(c):
	case strings.TrimSpace(c.m.Text) == "":
		w.complain("an empty text is sent")
		return &chat.SendError{Kind: chat.Rejected}
	case n > w.s.profile.TextLimit:
		w.complain("D8: %d %s, the limit is %d: %q", n, w.s.measure, w.s.profile.TextLimit, c.m.Text)
		return &chat.SendError{Kind: chat.TooLong}
	case n > w.s.real:
		w.hit(c, tooLong)
		return &chat.SendError{Kind: chat.TooLong}
	}
	return nil
}

// grows reports whether the platform may refuse a text as too long. The platform accepts short texts, and texts that
// are no longer than the current text of the message.
func (w *world) grows(m *message, text string) bool {
	n := w.s.measure.length(text)
	return n > 40 && (m == nil || n > w.s.measure.length(m.text()))
}

// story returns the calls, except typing indicators, and the notes of the schedule in order of time, for the report of
// a failure.
func (w *world) story() []string {
	var out []string
	for _, c := range w.calls {
		if c.op != chat.OpTyping {
			out = append(out, c.String())
		}
	}
	out = append(out, w.notes...)
	slices.Sort(out)
	return out
}
