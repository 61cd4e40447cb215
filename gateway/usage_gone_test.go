package gateway_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
	"telex/internal/chat"
)

// dictating opens a process whose model writes one word per second.
func (l *lab) dictating(t *testing.T, words int) {
	t.Helper()
	l.openModel(t, &dictation{words: words})
}

// openModel opens a process that answers with a model and has no tools.
func (l *lab) openModel(t *testing.T, model agent.Model) {
	t.Helper()
	l.open(t, func(o *gateway.Options) {
		a, err := agent.New(agent.Options{Models: []agent.ModelOptions{{Model: model}}, Log: o.Log})
		if err != nil {
			t.Fatal(err)
		}
		o.Runner = a
	})
}

// A person deletes a running turn with /forget, /new or /undo, and the process is killed before the turn has ended. The
// usage of the turn must still count.
func TestUsage_ofADeletedTurnAfterAKill(t *testing.T) {
	private, group := ask("dictate"), inGroup(ask("dictate"), "7")
	for name, tt := range map[string]struct {
		ask    chat.Inbound
		before func(t *testing.T, l *lab, c chat.Conversation) // called while the first process runs
		after  []chat.Inbound                                  // messages that wait for the second process
	}{
		"forgotten": {private, func(t *testing.T, l *lab, c chat.Conversation) {
			if err := l.store.Forget(t.Context(), c); err != nil {
				t.Error(err)
			}
		}, nil},
		"erased": {group, func(t *testing.T, l *lab, c chat.Conversation) {
			if _, err := l.store.Erase(t.Context(), c, "7"); err != nil {
				t.Error(err)
			}
		}, nil},
		"forgotten, and a new start waits": {private, func(t *testing.T, l *lab, c chat.Conversation) {
			if err := l.store.Forget(t.Context(), c); err != nil {
				t.Error(err)
			}
		}, []chat.Inbound{command("new")}},
		"a new start waits":      {private, nil, []chat.Inbound{command("new")}},
		"a forget waits":         {private, nil, []chat.Inbound{command("forget")}},
		"a group's forget waits": {group, nil, []chat.Inbound{inGroup(command("forget"), "7")}},
		"an undo waits":          {private, nil, []chat.Inbound{command("undo")}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab()
				l.dictating(t, 60)
				l.say(t, tt.ask)
				later(40 * time.Second)
				c := chat.Conversation{Endpoint: "tg", Chat: tt.ask.To.Chat}
				if tt.before != nil {
					tt.before(t, l, c)
				}
				l.kill()
				for i, in := range tt.after {
					in.ID = chat.MessageID(rune('A' + i))
					if _, err := l.store.Accept(t.Context(), c, in); err != nil {
						t.Fatal(err)
					}
				}
				l.dictating(t, 60)
				later(80 * time.Second)
				if got := l.used(t); got.Calls != 1 || !got.Estimated || got.Completion < 40 || got.Completion > 55 || got.Turns != 1 {
					t.Errorf("counted %+v of %d turns, want one call of 40 words\n%s", got.Usage, got.Turns, l.log.String())
				}
			})
		})
	}
}

// Another process deletes the session while the model writes an answer. The usage of the answer must still be stored.
func TestUsage_ofATurnThatAnotherProcessDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.dictating(t, 30)
		l.say(t, ask("dictate"))
		later(20 * time.Second)
		if err := l.store.Forget(t.Context(), chat.Conversation{Endpoint: "tg", Chat: "7"}); err != nil {
			t.Fatal(err)
		}
		later(30 * time.Second)
		if got, want := l.used(t).Usage, (chat.Usage{Prompt: 40, Completion: 30, Calls: 1}); got != want {
			t.Errorf("counted %+v, want %+v\n%s", got, want, l.log.String())
		}
	})
}

// A turn is deleted while a tool call waits for approval, and then the process is killed. The usage in the turn's
// journal must still count.
func TestUsage_ofADeletedTurnWithAnApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.steps[0].Usage = &agent.Usage{Prompt: 100, Completion: 10, Cached: 7}
		l.open(t, nil)
		l.say(t, ask("light"))
		later(5 * time.Second)
		if err := l.store.Forget(t.Context(), chat.Conversation{Endpoint: "tg", Chat: "7"}); err != nil {
			t.Fatal(err)
		}
		l.kill()
		l.open(t, nil)
		later(10 * time.Second)
		if got, want := l.used(t).Usage, (chat.Usage{Prompt: 100, Completion: 10, Cached: 7, Calls: 1}); got != want {
			t.Errorf("counted %+v, want %+v\n%s", got, want, l.log.String())
		}
	})
}

// A process dies during an answer, and the next process dies before it shows more text. The tokens of the visible text
// must be counted only once.
func TestUsage_ofTheSameTextAfterSeveralKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.dictating(t, 60)
		l.say(t, ask("dictate"))
		later(40 * time.Second)
		l.kill()
		l.dictating(t, 60)
		later(100 * time.Millisecond)
		l.kill()
		l.dictating(t, 60)
		later(80 * time.Second)
		got := l.used(t)
		if guessed := got.Completion - 60; got.Calls != 3 || guessed < 40 || guessed > 55 {
			t.Errorf("counted %+v, of which %d tokens of text are estimated, want 40 to 55\n%s", got.Usage, guessed, l.log.String())
		}
	})
}

// An answer breaks off, and the journal records its usage. The process is killed before the next attempt shows
// anything. The tokens of the broken answer must not be counted a second time.
func TestUsage_ofABrokenAnswerBeforeAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		model := &breaking{dictation: dictation{words: 60}, after: 40}
		l.openModel(t, model)
		l.say(t, ask("dictate"))
		later(45 * time.Second)
		l.kill()
		l.openModel(t, model)
		later(80 * time.Second)
		got := l.used(t)
		if guessed := got.Completion - 60; got.Calls != 3 || guessed < 40 || guessed > 58 {
			t.Errorf("counted %+v, of which %d tokens of text are estimated, want 40 to 58\n%s", got.Usage, guessed, l.log.String())
		}
	})
}

// breaking is a dictation whose first answer breaks off after some words.
type breaking struct {
	dictation
	after int
	broke bool
}

func (b *breaking) Stream(ctx context.Context, r agent.Request, emit func(agent.Delta)) (agent.Completion, error) {
	if b.broke {
		return b.dictation.Stream(ctx, r, emit)
	}
	b.broke = true
	short := dictation{words: b.after}
	if _, err := short.Stream(ctx, r, emit); err != nil {
		return agent.Completion{}, err
	}
	time.Sleep(2 * time.Second) // the last words are visible by then
	return agent.Completion{}, &agent.ModelError{Kind: agent.Broken, Err: errors.New("connection closed by peer")}
}

// A process dies during an answer, and the next process panics before it calls the model. The usage of the first
// process must still count.
func TestUsage_ofAnEarlierProcessBeforeAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab()
		l.dictating(t, 60)
		l.say(t, ask("dictate"))
		later(40 * time.Second)
		l.kill()
		l.open(t, func(o *gateway.Options) { o.Runner = panicking{} })
		later(30 * time.Second)
		if got := l.used(t); got.Calls != 1 || got.Completion < 40 || got.Completion > 55 {
			t.Errorf("counted %+v, want one call of 40 words\n%s", got.Usage, l.log.String())
		}
	})
}

type panicking struct{}

func (panicking) Run(context.Context, agent.Turn, func(agent.Event)) (agent.Result, error) {
	panic("out of order")
}
