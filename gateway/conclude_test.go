package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
)

// attentive is a platform that is told when messages have been answered. attentive records the current Markdown of
// its messages, and the calls of Concluded.
type attentive struct {
	*platform
	order []chat.MessageID
	state map[chat.MessageID]chat.Outgoing
	told  []string
	after []string // the Markdown of all messages, joined, after each call
}

func (p *attentive) Capabilities() chat.Capabilities {
	c := p.platform.Capabilities()
	c.Concludes = true
	return c
}

func (p *attentive) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	r, err := p.platform.Send(ctx, to, m)
	p.note(r.Ref.ID, m, err)
	return r, err
}

func (p *attentive) Edit(ctx context.Context, ref chat.MessageRef, m chat.Outgoing) (chat.Receipt, error) {
	r, err := p.platform.Edit(ctx, ref, m)
	p.note(ref.ID, m, err)
	return r, err
}

func (p *attentive) note(id chat.MessageID, m chat.Outgoing, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		return
	}
	if _, known := p.state[id]; !known {
		p.order = append(p.order, id)
	}
	p.state[id] = m
	source, _ := p.origin()
	p.after = append(p.after, source)
}

func (p *attentive) Concluded(to chat.Target, messages []chat.MessageID, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, fmt.Sprint(to.Chat, messages, failed))
}

func (p *attentive) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.told)
}

// origin returns the Markdown of all messages, joined, and the notes of all messages, joined. The caller holds mu, or
// no other goroutine runs.
func (p *attentive) origin() (source, note string) {
	for _, id := range p.order {
		source, note = source+p.state[id].Source, note+p.state[id].Note
	}
	return source, note
}

func openAttentive(t *testing.T) (house, *attentive) {
	t.Helper()
	p := &attentive{state: make(map[chat.MessageID]chat.Outgoing)}
	h := house{platform: newPlatform(), script: &script{answers: map[string]string{}, stop: map[string]agent.StopReason{}}}
	p.platform = h.platform
	return openWith(t, h, func(o *gateway.Options) { o.Endpoints[0].Platform = p }), p
}

func TestMessagesAreConcludedOnce(t *testing.T) {
	long := strings.Repeat("word ", 60) + "end"
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, h house)
		want []string
	}{
		{"answered", func(t *testing.T, h house) { h.say(t, ask("hi")) }, []string{"7[1] false"}},
		{"a command", func(t *testing.T, h house) { h.say(t, command("help")) }, []string{"7[1] false"}},
		{"failed", func(t *testing.T, h house) {
			h.script.stop["hi"] = agent.StopSilence
			h.say(t, ask("hi"))
		}, []string{"7[1] true"}},
		{"a panic", func(t *testing.T, h house) {
			h.script.panics = true
			h.say(t, ask("hi"))
		}, []string{"7[1] true"}},
		{"nothing to answer", func(t *testing.T, h house) { h.say(t, ask("")) }, []string{"7[1] true"}},
		{"stopped", func(t *testing.T, h house) {
			h.answers["hi"] = long
			h.say(t, ask("hi"))
			later(3 * time.Second)
			h.say(t, command("stop"))
		}, []string{"7[1] false", "7[2] false"}},
		{"interrupted before anything was shown", func(t *testing.T, h house) {
			h.say(t, ask("one"))
			h.say(t, ask("two"))
		}, []string{"7[1 2] false"}},
		{"interrupted", func(t *testing.T, h house) {
			h.answers["one"] = long
			h.say(t, ask("one"))
			later(3 * time.Second)
			h.say(t, ask("two"))
		}, []string{"7[1] false", "7[2] false"}},
		{"not delivered", func(t *testing.T, h house) {
			h.fail = &chat.SendError{Kind: chat.Forbidden}
			h.say(t, ask("hi"))
		}, []string{"7[1] true"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, p := openAttentive(t)
				tt.do(t, h)
				later(20 * time.Minute) // the gateway tries to deliver a reply for this long
				equal(t, "told", p.told, tt.want)
			})
		})
	}
}

// The bot has answered a message, and then the platform delivers this message again. The gateway must tell the adapter
// again that the message was answered, because an earlier process may not have told the adapter.
func TestConcludedAgainForARepeatedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := openAttentive(t)
		h.answers["hi"] = strings.Repeat("word ", 60)
		in := ask("hi")
		in.ID = "hi"
		h.say(t, in)
		later(3 * time.Second)
		h.say(t, in)
		equal(t, "told while it is answered", p.heard(), nil)
		later(time.Minute)
		equal(t, "told", p.heard(), []string{"7[hi] false"})
		h.say(t, in)
		later(time.Minute)
		equal(t, "told once more", p.told, []string{"7[hi] false", "7[hi] false"})
		if n := len(p.order); n != 1 {
			t.Errorf("%d messages stand, want the answer alone", n)
		}
	})
}

// A shutdown interrupts a turn. The gateway must not call Concluded for the message, because the next process will
// answer this message.
func TestShutdownConcludesNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := openAttentive(t)
		h.answers["hi"] = strings.Repeat("word ", 600)
		h.say(t, ask("hi"))
		later(3 * time.Second)
		if err := h.stop(); err != nil {
			t.Error(err)
		}
		equal(t, "told", p.told, nil)
	})
}

// An adapter gets the Markdown of each message of an answer. Joined, these Markdown texts must equal the model's text,
// and during the answer they must equal a beginning of this text.
func TestMarkdownOfMessages(t *testing.T) {
	for name, answer := range map[string]string{
		"short":         "**a** [b](https://e.org) `c` d",
		"several parts": strings.Repeat("Some *words* of a long answer. ", 300) + "end",
		"blocks":        "# T\n\n- one\n- two\n\n```go\nx := 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> q",
		"nothing shown": "[a]: https://e.org",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, p := openAttentive(t)
				h.answers["hi"] = answer
				h.say(t, ask("hi"))
				later(10 * time.Minute)
				if source, note := p.origin(); source != answer || note != "" {
					t.Errorf("it is %.200q and the note %q, want %.200q", source, note, answer)
				}
				for i, source := range p.after {
					if !strings.HasPrefix(answer, source) {
						t.Errorf("after call %d it is %.200q", i, source)
					}
				}
			})
		})
	}
	t.Run("broken off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, p := openAttentive(t)
			h.answers["hi"], h.script.stop["hi"] = "some **words", agent.StopSilence
			h.say(t, ask("hi"))
			later(time.Minute)
			source, note := p.origin()
			if strings.TrimRight(source, " ") != "some **words" || !strings.Contains(note, "stopped answering") {
				t.Errorf("it is %q and the note %q", source, note)
			}
		})
	})
}
