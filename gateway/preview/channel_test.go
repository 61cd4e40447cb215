package preview

import (
	"context"
	"fmt"
	"strings"
	"time"

	"telex/internal/chat"
)

// channel is a platform that supports drafts, streams, files, and searches for the messages of create calls without a
// response.
type channel struct{ *person }

// draftLife is how long people see a draft after it was sent.
const draftLife = 30 * time.Second

// fullPlatform returns a platform with every feature, and an endpoint with all its interfaces.
func fullPlatform() (*person, Endpoint) {
	p := newPerson()
	p.profile.DraftFor, p.profile.StreamFor = 25*time.Second, 4*time.Minute
	e := p.endpoint()
	c := channel{p}
	e.Filer, e.Drafter, e.Streamer = c, c, c
	return p, e
}

// creates reports whether a call creates a message.
func (c *call) creates() bool { return c.op == chat.OpSend || c.op == chat.OpStart }

// create creates a message, or returns the one that was already created with the key.
func (p *person) create(c *call, m chat.Outgoing) *onScreen {
	p.draftAt = time.Time{}
	for _, old := range p.messages {
		if old.to == c.to && old.versions[0].Key == m.Key && time.Since(old.made) < p.profile.KeyFor {
			c.id = old.id
			return old
		}
	}
	c.id = chat.MessageID(fmt.Sprint(len(p.messages) + 1))
	made := &onScreen{id: c.id, to: c.to, versions: []chat.Outgoing{m}, made: time.Now()}
	p.messages = append(p.messages, made)
	return made
}

func (ch channel) SendFile(ctx context.Context, to chat.Target, m chat.Outgoing, f chat.File) (chat.Receipt, error) {
	c := &call{op: chat.OpSend, to: to.Chat, m: m, file: true}
	r := chat.Receipt{Ref: chat.MessageRef{Target: to}}
	_, err := ch.serve(ctx, c, func() *chat.SendError {
		ch.create(c, m).file = &f
		return nil
	})
	if err == nil {
		r.Ref.ID = c.id
	}
	return r, err
}

func (ch channel) Draft(ctx context.Context, to chat.Target, id int64, m chat.Outgoing) error {
	_, err := ch.serve(ctx, &call{op: chat.OpDraft, to: to.Chat, m: m}, func() *chat.SendError {
		if id == 0 {
			ch.complain("draft without an id")
		}
		if !ch.draftAt.IsZero() && time.Since(ch.draftAt) > draftLife {
			ch.complain("a draft vanished for %v", time.Since(ch.draftAt)-draftLife)
		}
		ch.drafts, ch.draftAt = append(ch.drafts, m), time.Now()
		return nil
	})
	return err
}

func (ch channel) Start(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	c := &call{op: chat.OpStart, to: to.Chat, m: m}
	r := chat.Receipt{Ref: chat.MessageRef{Target: to}}
	var made *onScreen
	_, err := ch.serve(ctx, c, func() *chat.SendError {
		made = ch.create(c, m)
		made.live = true
		return nil
	})
	if err == nil {
		r.Ref.ID = c.id
		ch.mu.Lock()
		defer ch.mu.Unlock()
		made.told = true
	}
	return r, err
}

func (ch channel) Append(ctx context.Context, ref chat.MessageRef, text string) error {
	_, err := ch.serve(ctx, &call{op: chat.OpAppend, to: ref.Target.Chat, id: ref.ID, m: chat.Outgoing{Text: text}}, func() *chat.SendError {
		return ch.add(ref, text, true)
	})
	return err
}

func (ch channel) Stop(ctx context.Context, ref chat.MessageRef, text string) error {
	_, err := ch.serve(ctx, &call{op: chat.OpStop, to: ref.Target.Chat, id: ref.ID, m: chat.Outgoing{Text: text}}, func() *chat.SendError {
		return ch.add(ref, text, false)
	})
	return err
}

// add appends text to a stream, or ends the stream.
func (p *person) add(ref chat.MessageRef, text string, live bool) *chat.SendError {
	old := p.message(ref)
	switch {
	case old == nil:
		return &chat.SendError{Kind: chat.Gone}
	case !old.live && text == "":
		return nil
	case !old.live:
		return &chat.SendError{Kind: chat.Rejected}
	case old.told && time.Since(old.made) > p.profile.StreamFor+2*time.Minute:
		p.complain("a stream of %v", time.Since(old.made))
	case live && text == "":
		p.complain("nothing was appended")
	}
	m := old.now()
	m.Text += text
	old.versions, old.live = append(old.versions, m), live
	if n := len([]rune(m.Text)); n > p.profile.TextLimit {
		p.complain("a stream of %d characters", n)
	}
	if strings.Contains(m.Text, p.cursor) && p.cursor != "" {
		p.complain("a cursor in a stream: %q", m.Text)
	}
	return nil
}

func (ch channel) Newest(chat.Target) chat.MessageID { return "" }

func (ch channel) Find(ctx context.Context, to chat.Target, create chat.Create, _ string) (chat.Found, error) {
	r := chat.MessageRef{Target: to}
	_, err := ch.serve(ctx, &call{op: chat.OpFind, to: to.Chat}, func() *chat.SendError {
		for _, m := range ch.messages {
			if m.to == to.Chat && m.versions[0].Key == create.Key && !m.deleted {
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
