package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// person is an in-memory platform together with the person who looks at it. The type keeps every version of every
// message, enforces the usual limits of platforms, and records calls that no platform should get.
type person struct {
	profile chat.Profile
	dialect markup.Dialect
	cursor  string
	latency time.Duration // duration of each call; the call arrives after half of this time
	fate    func(c *call) fate

	mu       sync.Mutex
	began    time.Time
	arrivals []*call // calls in the order of their arrival, in which the platform counts them
	calls    []*call
	messages []*onScreen
	refused  []block // the 429s, each with the time at which its caller received it
	drafts   []chat.Outgoing
	draftAt  time.Time // when the visible draft was sent; zero if no draft is visible
	wrong    []string
	reborn   int // number of calls that earlier processes made; the current process does not know their outcomes
}

// call is one call to the platform.
type call struct {
	op       chat.Op
	to       chat.ChatID
	id       chat.MessageID // id of the message; empty for a create call that made no message
	m        chat.Outgoing
	at, done time.Time // when the call was made, and when its caller got the result
	took     time.Time // when the call arrived
	err      error
	nameless bool
	file     bool
	attempt  int // number of earlier calls with the same op
}

// onScreen is one message in the chat, with all its versions.
type onScreen struct {
	id       chat.MessageID
	to       chat.ChatID
	versions []chat.Outgoing
	deleted  bool
	made     time.Time
	live     bool // the message is a stream that was not stopped
	told     bool // the create call that made the message got a response
	file     *chat.File
}

func (m *onScreen) now() chat.Outgoing { return m.versions[len(m.versions)-1] }

// block is a 429 that a caller has received.
type block struct {
	from, until time.Time
	to          chat.ChatID
}

// fate is the result that a test chooses for a call. The zero value means success.
type fate struct {
	err      *chat.SendError
	applied  bool          // the call takes effect although it fails
	nameless bool          // the call succeeds without a message id
	hang     bool          // the call never gets a response
	latency  time.Duration // added to the platform's latency
}

func fail(kind chat.ErrorKind) fate { return fate{err: &chat.SendError{Kind: kind}} }

func tooMany(d time.Duration) fate {
	return fate{err: &chat.SendError{Kind: chat.RateLimited, RetryAfter: d}}
}

// newPerson returns a person whose platform counts code points and accepts every call.
func newPerson() *person {
	return &person{
		profile: chat.Profile{TextLimit: 4096, EditInterval: time.Second},
		dialect: markup.Plain{}, cursor: " ▌", began: time.Now(),
	}
}

func (p *person) Profile(chat.Target) chat.Profile { return p.profile }

func (p *person) Dialect(chat.Target) markup.Dialect { return p.dialect }

func (p *person) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	c := &call{op: chat.OpSend, to: to.Chat, m: m}
	r := chat.Receipt{Ref: chat.MessageRef{Target: to}}
	f, err := p.serve(ctx, c, func() *chat.SendError {
		p.create(c, m)
		return nil
	})
	if c.nameless = f.nameless; err == nil && !f.nameless {
		r.Ref.ID = c.id
	}
	return r, err
}

func (p *person) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	c := &call{op: chat.OpEdit, to: ref.Target.Chat, id: ref.ID, m: m}
	_, err := p.serve(ctx, c, func() *chat.SendError {
		old := p.message(ref)
		if old == nil {
			return &chat.SendError{Kind: chat.Gone}
		}
		if old.live {
			p.complain("edit of a stream that was not stopped")
			return &chat.SendError{Kind: chat.Rejected}
		}
		if old.file != nil {
			p.complain("edit of a file")
			return &chat.SendError{Kind: chat.Rejected}
		}
		old.versions = append(old.versions, m)
		return nil
	})
	return chat.Receipt{Ref: ref}, err
}

func (p *person) Delete(ctx context.Context, ref chat.MessageRef) error {
	_, err := p.serve(ctx, &call{op: chat.OpDelete, to: ref.Target.Chat, id: ref.ID}, func() *chat.SendError {
		if old := p.message(ref); old != nil {
			old.deleted = true
		}
		return nil
	})
	return err
}

func (p *person) Typing(ctx context.Context, to chat.Target) error {
	_, err := p.serve(ctx, &call{op: chat.OpTyping, to: to.Chat}, func() *chat.SendError { return nil })
	return err
}

// serve simulates a call: it waits for the latency, and applies the call's effect and fate.
func (p *person) serve(ctx context.Context, c *call, effect func() *chat.SendError) (fate, error) {
	f := p.arrive(c)
	if err := pause(ctx, p.latency/2+f.latency); err != nil {
		return f, p.leave(c, err)
	}
	err := p.take(c, f, effect)
	if f.hang {
		<-ctx.Done()
		return f, p.leave(c, ctx.Err())
	}
	if e := pause(ctx, p.latency-p.latency/2); e != nil {
		err = e
	}
	return f, p.leave(c, err)
}

func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arrive records the start of a call, and reports an error if the call should not be made.
func (p *person) arrive(c *call) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.at = time.Now()
	for _, b := range p.refused {
		if b.to == c.to && c.at.After(b.from) && c.at.Before(b.until) {
			p.complain("%s at %v, blocked until %v", opName(c.op), c.at.Sub(p.began), b.until.Sub(p.began))
		}
	}
	for _, old := range p.calls {
		if old.op == c.op {
			c.attempt++
		}
	}
	p.calls = append(p.calls, c)
	if p.fate == nil {
		return fate{}
	}
	return p.fate(c)
}

// take applies the effect of a call, unless the call's fate or the platform's rules prevent the effect.
func (p *person) take(c *call, f fate, effect func() *chat.SendError) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weigh(c)
	text := c.op == chat.OpSend || c.op == chat.OpEdit || c.op == chat.OpDraft || c.op == chat.OpStart
	switch {
	case f.err != nil && !f.applied:
		return f.err
	case f.hang && !f.applied:
		return nil
	case text && p.dialect.Len(markup.Rendered{Text: c.m.Text}) > p.profile.TextLimit:
		p.complain("%s of a text over the limit", opName(c.op))
		return &chat.SendError{Kind: chat.TooLong}
	case text && strings.TrimSpace(c.m.Text) == "" && !c.file:
		p.complain("%s of nothing", opName(c.op))
		return &chat.SendError{Kind: chat.Rejected}
	}
	if e := effect(); e != nil {
		return e
	}
	if f.err != nil {
		return f.err
	}
	return nil
}

// weigh reports an error if a time window contains more calls than the published limit allows (D3).
func (p *person) weigh(c *call) {
	c.took = time.Now()
	p.arrivals = append(p.arrivals, c)
	for _, l := range p.profile.Limits {
		n := 0
		for _, a := range p.arrivals {
			if a.op&l.Ops != 0 && (a.to == c.to || l.Scope == chat.ScopeEndpoint) && c.took.Sub(a.took) < l.Window {
				n++
			}
		}
		if c.op&l.Ops != 0 && n > l.Count {
			p.complain("%d calls within %v at %v, limit %d", n, l.Window, c.took.Sub(p.began), l.Count)
		}
	}
}

// leave records the result of a call and returns it. If the result is a 429, leave also records when the caller
// received it.
func (p *person) leave(c *call, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.done, c.err = time.Now(), err
	if e, ok := errors.AsType[*chat.SendError](err); ok && e.Kind == chat.RateLimited {
		p.refused = append(p.refused, block{c.done, c.done.Add(e.RetryAfter), c.to})
	}
	return err
}

func (p *person) complain(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// message returns the message with this reference, or nil if it was deleted.
func (p *person) message(ref chat.MessageRef) *onScreen {
	for _, m := range p.messages {
		if m.id == ref.ID && m.to == ref.Target.Chat && !m.deleted {
			return m
		}
	}
	return nil
}

// removes makes the person delete a message.
func (p *person) removes(id chat.MessageID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.messages {
		m.deleted = m.deleted || m.id == id
	}
}

// sees returns the visible texts, in order.
func (p *person) sees() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, m := range p.messages {
		if !m.deleted {
			out = append(out, m.now().Text)
		}
	}
	return out
}

// log returns all calls except typing indicators.
func (p *person) log() []string { return p.logOf(chat.OpAll &^ chat.OpTyping) }

func (p *person) logOf(ops chat.Op) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, c := range p.calls {
		if c.op&ops == 0 {
			continue
		}
		line := fmt.Sprintf("%v %s", c.at.Sub(p.began), opName(c.op))
		if c.id != "" {
			line += " " + string(c.id)
		}
		if c.m.Text != "" {
			line += ": " + c.m.Text
		}
		if c.err != nil {
			line += " (" + c.err.Error() + ")"
		}
		out = append(out, line)
	}
	return out
}

// count returns the number of calls of the kinds in ops.
func (p *person) count(ops chat.Op) int { return len(p.logOf(ops)) }

// repeats returns the calls that sent a payload although the platform had just acknowledged the same payload for the
// same message.
func (p *person) repeats() []string {
	type key struct {
		to chat.ChatID
		id chat.MessageID
	}
	last := map[key]chat.Outgoing{}
	// Keys of create calls that got no response. If a call with such a key later returns an existing message, the content
	// of the message is unknown.
	doubted := map[string]bool{}
	var out []string
	for i, c := range p.calls {
		if i == p.reborn {
			clear(last)
		}
		unknown := c.err != nil && chat.AsSendError(c.err).Kind == chat.Uncertain
		if c.creates() && unknown {
			doubted[c.m.Key] = true
		}
		if c.op != chat.OpSend && c.op != chat.OpEdit {
			continue
		}
		k := key{c.to, c.id}
		old, known := last[k]
		if known && old.Text == c.m.Text && slices.Equal(old.Spans, c.m.Spans) && slices.Equal(old.Actions, c.m.Actions) {
			out = append(out, fmt.Sprintf("%v: %q again", c.at.Sub(p.began), c.m.Text))
		}
		switch {
		case c.op == chat.OpSend && doubted[c.m.Key]:
		case c.err == nil:
			last[k] = c.m
		case unknown:
			delete(last, k) // a call without a response may be repeated at any time
		}
	}
	return out
}

func opName(op chat.Op) string {
	return map[chat.Op]string{
		chat.OpSend: "send", chat.OpEdit: "edit", chat.OpDelete: "delete", chat.OpTyping: "type",
		chat.OpDraft: "draft", chat.OpStart: "start", chat.OpAppend: "append", chat.OpStop: "stop", chat.OpFind: "find",
	}[op]
}
