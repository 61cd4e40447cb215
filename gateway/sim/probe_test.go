package sim

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
)

// This file simulates a platform like Telegram, on which each new message has a larger id than earlier ones. If the
// outcome of a create call is unknown, only a probe can find the message. A probe is an edit with the content of the
// create call, so a probe of the right message changes nothing. The adapter in this file does not probe ids whose
// messages it knows. The judge reports a violation if a probe changes a message whose id a process knows for certain.
// Create calls may take effect seconds after their connection was cut.

// lateFor is the maximum time between the cut of a connection and the late effect of the create call that used it.
const lateFor = 10 * time.Second

// knowledge is what one process knows about message ids.
type knowledge struct {
	begun   bool
	newest  int
	known   map[int]bool
	own     map[int]bool // ids that this process got from the response to a create call or a probe, and that may not be stored
	changed map[int]bool // ids whose messages a probe changed, or may have changed
	probing map[chat.ChatID]int
	creates map[chat.ChatID]int // number of running create calls in each chat
	doubts  map[string]bool     // keys of create calls whose outcome is unknown
}

func (k *knowledge) learn(id chat.MessageID) {
	n := idNumber(id)
	k.known[n], k.newest = true, max(k.newest, n)
}

func idNumber(id chat.MessageID) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(string(id), "b"))
	return n
}

// know returns what the process knows about message ids. The caller holds world.mu.
func (l *life) know() *knowledge {
	if l.ids.known == nil {
		l.ids = knowledge{known: map[int]bool{}, own: map[int]bool{}, changed: map[int]bool{}, probing: map[chat.ChatID]int{}, creates: map[chat.ChatID]int{}, doubts: map[string]bool{}}
	}
	return &l.ids
}

// learn records the ids of messages that earlier processes sent.
func (l *life) learn(sent []chat.MessageRef) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	k := l.know()
	for _, ref := range sent {
		k.learn(ref.ID)
		delete(k.own, idNumber(ref.ID))
	}
	k.begun = true
}

// forget is called when the process has lost its lease. forget removes the ids that the process learned but may not
// have stored.
func (l *life) forget() {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	k := l.know()
	for n := range k.own {
		delete(k.known, n)
	}
	clear(k.own)
	k.begun = false
}

// begin records that a create call has begun. Until the call has ended, no probe may begin in the same chat, because
// the probe could hit the new message.
func (l *life) begin(c *call) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.know().creates[c.to.Chat]++
}

// tell records how a create call ended. The outcome counts as unknown if a probe may have found or changed the new
// message at the same time.
func (l *life) tell(c *call, err error) error {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	k, n := l.know(), idNumber(c.id)
	k.creates[c.to.Chat]--
	switch {
	case err != nil && chat.AsSendError(err).Kind == chat.Uncertain, err == nil && (k.known[n] || k.changed[n] || k.probing[c.to.Chat] == n):
		k.doubts[c.m.Key] = true
		err = &chat.SendError{Kind: chat.Uncertain}
		c.err = err
	case err == nil:
		k.learn(c.id)
		k.own[n] = true
	}
	return err
}

// late makes a create call take effect after its connection was cut.
func (w *world) late(c *call, effect func() *chat.SendError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, moved := w.moved[c.to.Chat]; !moved && effect() == nil {
		c.effect = true
		w.note("the effect of call %d comes: %s", c.n, c.id)
	}
}

type probing struct{ a *adapter }

func (p probing) Newest(chat.Target) chat.MessageID {
	l := p.a.l
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return chat.MessageID(number(l.know().newest))
}

func (p probing) Find(ctx context.Context, to chat.Target, create chat.Create, next string) (chat.Found, error) {
	l := p.a.l
	m := create.Message
	m.Key = create.Key
	c := &call{op: chat.OpFind, to: to, m: m}
	n, ok := p.candidate(to, create, next)
	switch {
	case !ok:
		return chat.Found{}, l.w.putOff(l, c)
	case n == 0:
		return chat.Found{}, nil
	}
	ref := chat.MessageRef{Target: to, ID: chat.MessageID("b" + number(n))}
	matched, replaced := false, false
	err := l.serve(ctx, c, func() *chat.SendError {
		matched, replaced = l.w.probe(c, ref, m)
		return nil
	})
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	k := l.know()
	delete(k.probing, to.Chat)
	before := k.changed[n]
	switch {
	case err != nil:
		k.changed[n] = k.changed[n] || chat.AsSendError(err).Kind == chat.Uncertain
		return chat.Found{}, err
	case replaced:
		k.changed[n] = true
	case !matched:
		return chat.Found{Next: number(n)}, nil
	}
	k.learn(ref.ID)
	k.own[n] = true
	return chat.Found{Ref: ref, Taken: replaced || before}, nil
}

// putOff records that a search can't be made now. putOff returns the error for the gateway.
func (w *world) putOff(l *life, c *call) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.life, c.n, c.at, c.done, c.err = l, -1, time.Now(), time.Now(), &chat.SendError{Kind: chat.Temporary}
	c.turn, _, _ = strings.Cut(c.m.Key, ".")
	if !l.isDead() {
		w.calls = append(w.calls, c)
	}
	return c.err
}

// candidate returns the next id to probe, or 0 if all possible ids were probed. candidate returns false if no probe may
// begin now.
func (p probing) candidate(to chat.Target, create chat.Create, next string) (int, bool) {
	l := p.a.l
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	k := l.know()
	if !k.begun || k.probing[to.Chat] != 0 || k.creates[to.Chat] > 0 {
		return 0, false
	}
	k.doubts[create.Key] = true
	after := max(idNumber(create.After), idNumber(chat.MessageID(next)))
	for n := after + 1; n <= max(k.newest, idNumber(create.After))+2+len(k.doubts); n++ {
		if !k.known[n] {
			k.probing[to.Chat] = n
			return n, true
		}
	}
	return 0, true
}

// probe simulates an edit with the given content. probe reports whether the message already had this content, and
// otherwise whether the edit replaced the content.
func (w *world) probe(c *call, ref chat.MessageRef, content chat.Outgoing) (matched, replaced bool) {
	m := w.person.message(ref)
	if m == nil || m.file != nil {
		return false, false
	}
	if m.turn != c.turn {
		m.mixed = foundByOther
		defer func() { m.by = c }()
	}
	now := m.now()
	if now.Text == content.Text && slices.Equal(now.Spans, content.Spans) && slices.Equal(now.Actions, content.Actions) {
		// If two create calls had the same content, nobody can tell which one made the message.
		m.turn, m.part, m.versions[0].Key = c.turn, partOf(c.m.Key), c.m.Key
		return true, false
	}
	if m.known || w.recorded(ref) {
		w.complain("a search changes message %s, which a process knows: %q to %q", m.id, now.Text, content.Text)
	}
	w.counts.add("searches that took the message of another create", 1)
	if m.turn != c.turn {
		m.mixed = takenByOther
	}
	m.turn, m.part, m.versions = c.turn, partOf(c.m.Key), []version{{content, time.Now()}}
	return false, true
}

// recorded reports whether the store contains the id of a message.
func (w *world) recorded(ref chat.MessageRef) bool {
	from, _ := w.store.Resume(nil, endpoint) //nolint:staticcheck // the store in memory needs no context
	return slices.ContainsFunc(from.Sent, func(r chat.MessageRef) bool { return r.ID == ref.ID })
}
