package sim

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/markup"
)

// adapter makes one process's calls to the simulated platform.
type adapter struct{ l *life }

func (a *adapter) Capabilities() chat.Capabilities { return a.l.w.s.kind.caps }

func (a *adapter) Profile(chat.Target) chat.Profile { return a.l.w.s.profile }

func (a *adapter) Dialect(chat.Target) markup.Dialect { return a.l.w.s.measure.dialect() }

// Run passes the updates that contain people's messages to the function accept. Like a real platform, Run first
// delivers some older updates again. If the gateway does not accept an update, Run delivers the update again.
func (a *adapter) Run(ctx context.Context, from chat.Resume, accept func(context.Context, chat.Inbound) error) error {
	w := a.l.w
	a.l.learn(from.Sent)
	if w.s.receivesBeside() {
		return a.runBeside(ctx, accept)
	}
	defer w.stopTaking(a.l)
	for i := w.repeat(a.l); ; {
		in, wait := w.update(i)
		if in == nil {
			select {
			case <-wait:
			case <-a.l.dead:
				<-ctx.Done()
				return ctx.Err()
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		if o := w.outageNow() || a.l.isCut(cutPlatform); o {
			return &chat.SendError{Kind: chat.Temporary}
		}
		if !a.l.wakes(ctx) {
			<-ctx.Done()
			return ctx.Err()
		}
		err := accept(ctx, *in)
		switch {
		case ctx.Err() != nil || a.l.isDead():
			<-ctx.Done()
			return ctx.Err()
		case err != nil:
			return &chat.SendError{Kind: chat.Temporary, Err: err}
		}
		w.acknowledge(a.l, i)
		i++
	}
}

// Learn implements gateway.Learner.
func (a *adapter) Learn(sent []chat.MessageRef) { a.l.learn(sent) }

// Forget implements gateway.Learner.
func (a *adapter) Forget() { a.l.forget() }

func (a *adapter) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	return a.create(ctx, &call{op: chat.OpSend, to: to, m: m}, nil)
}

// create makes a call that creates a message on the simulated platform.
func (a *adapter) create(ctx context.Context, c *call, f *chat.File) (chat.Receipt, error) {
	w := a.l.w
	r := chat.Receipt{Ref: chat.MessageRef{Target: c.to}}
	c.file = f
	if w.s.kind.probes {
		a.l.begin(c)
	}
	err := a.l.serve(ctx, c, func() *chat.SendError {
		if e := w.fits(c); e != nil {
			return e
		}
		w.create(c, c.op == chat.OpStart, f)
		if w.s.faults[c.n].kind == nameless && !w.s.kind.reconciles() {
			w.hit(c, nameless)
		}
		return nil
	})
	if err == nil && c.fault != nameless {
		r.Ref.ID = c.id
	}
	if w.s.kind.probes {
		return r, a.l.tell(c, err)
	}
	return r, err
}

type editing struct{ a *adapter }

func (e editing) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	c := &call{op: chat.OpEdit, to: ref.Target, id: ref.ID, m: m}
	if ref.ID == "" {
		e.a.l.w.mu.Lock()
		e.a.l.w.complain("edit of no message: %s", c.m.Text)
		e.a.l.w.mu.Unlock()
	}
	return chat.Receipt{Ref: ref}, e.a.l.serve(ctx, c, func() *chat.SendError {
		if e := e.a.l.w.fits(c); e != nil {
			return e
		}
		return e.a.l.w.change(c, false)
	})
}

type deleting struct{ a *adapter }

func (d deleting) Delete(ctx context.Context, ref chat.MessageRef) error {
	c := &call{op: chat.OpDelete, to: ref.Target, id: ref.ID}
	return d.a.l.serve(ctx, c, func() *chat.SendError {
		if m := d.a.l.w.person.message(ref); m != nil {
			m.deletedBy = "bot"
			d.a.l.w.judgeDeletion(m)
		}
		return nil
	})
}

type typing struct{ a *adapter }

func (t typing) Typing(ctx context.Context, to chat.Target) error {
	return t.a.l.serve(ctx, &call{op: chat.OpTyping, to: to}, func() *chat.SendError { return nil })
}

type filing struct{ a *adapter }

func (f filing) SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, file chat.File) (chat.Receipt, error) {
	return f.a.create(ctx, &call{op: chat.OpSend, to: to, m: m}, &file)
}

type drafting struct{ a *adapter }

func (d drafting) Draft(ctx context.Context, to chat.Target, id int64, m chat.Outgoing) error {
	c := &call{op: chat.OpDraft, to: to, m: m}
	w := d.a.l.w
	return d.a.l.serve(ctx, c, func() *chat.SendError {
		if id == 0 {
			w.complain("a draft without an id")
		}
		if e := w.fits(c); e != nil {
			return e
		}
		w.person.drafts[to], w.person.ids[to] = version{m, time.Now()}, id
		w.judgeDraft(m)
		return nil
	})
}

type streaming struct{ a *adapter }

func (s streaming) Start(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	return s.a.create(ctx, &call{op: chat.OpStart, to: to, m: m}, nil)
}

func (s streaming) Append(ctx context.Context, ref chat.MessageRef, text string) error {
	return s.grow(ctx, &call{op: chat.OpAppend, to: ref.Target, id: ref.ID}, text)
}

func (s streaming) Stop(ctx context.Context, ref chat.MessageRef, text string) error {
	return s.grow(ctx, &call{op: chat.OpStop, to: ref.Target, id: ref.ID}, text)
}

func (s streaming) grow(ctx context.Context, c *call, text string) error {
	c.m.Text = text
	return s.a.l.serve(ctx, c, func() *chat.SendError { return s.a.l.w.grow(c, text, c.op == chat.OpAppend) })
}

type finding struct{ a *adapter }

func (f finding) Newest(chat.Target) chat.MessageID { return "" }

func (f finding) Find(ctx context.Context, to chat.Target, create chat.Create, _ string) (chat.Found, error) {
	c := &call{op: chat.OpFind, to: to, m: chat.Outgoing{Key: create.Key}}
	r := chat.MessageRef{Target: to}
	err := f.a.l.serve(ctx, c, func() *chat.SendError {
		for _, m := range f.a.l.w.person.messages {
			if m.chat == to.Chat && m.key() == create.Key && m.stands() {
				r.ID = m.id
			}
		}
		return nil
	})
	if err != nil {
		return chat.Found{}, err
	}
	return chat.Found{Ref: r}, nil
}

// partOf returns the number of the part that the idempotency key of a create call names.
func partOf(key string) int {
	if apart(key) {
		return -1
	}
	before, _, _ := strings.Cut(key[strings.LastIndexByte(key, '.')+1:], "+")
	n, _ := strconv.Atoi(before)
	return n
}

func number(n int) string { return strconv.Itoa(n) }

// String describes a call for the log of a failed schedule.
func (c *call) String() string {
	name := map[chat.Op]string{
		chat.OpSend: "send", chat.OpEdit: "edit", chat.OpDelete: "delete", chat.OpTyping: "type",
		chat.OpDraft: "draft", chat.OpStart: "start", chat.OpAppend: "append", chat.OpStop: "stop", chat.OpFind: "find",
	}[c.op]
	at := c.at.Sub(c.life.w.began)
	line := fmt.Sprintf("%10.3f life %d call %d %s %s %s", at.Seconds(), c.life.n, c.n, name, c.to.Chat, c.id)
	if c.m.Key != "" {
		line += " " + c.m.Key
	}
	if c.m.Preview {
		line += " preview"
	}
	if c.m.Text != "" {
		line += fmt.Sprintf(" %q", c.m.Text)
	}
	switch {
	case c.done.IsZero():
		line += " -> never"
	case c.err != nil:
		line += fmt.Sprintf(" -> %.3f %v", c.done.Sub(c.life.w.began).Seconds(), c.err)
	default:
		line += fmt.Sprintf(" -> %.3f", c.done.Sub(c.life.w.began).Seconds())
	}
	if c.fault != "" {
		line += " [" + c.fault + "]"
	}
	return line
}
