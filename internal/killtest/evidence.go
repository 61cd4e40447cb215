package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
	"telex/standin/telegram"
)

// endpoint is the name of the daemon's only endpoint.
const endpoint = "telegram"

// left is the unfinished work that the store contains after a daemon has ended.
type left struct {
	turns  []chat.Turn // unfinished turns
	blocks []chat.Block
	err    error // why the store could not be read; if it could not, the test excuses no mistake of the next daemon
}

// left reads the unfinished work from the store of a daemon that has ended.
func (l *life) left(ctx context.Context) left {
	r, err := store.OpenReadOnly(ctx, store.Options{Path: store.File(l.home.state())})
	if errors.Is(err, fs.ErrNotExist) {
		return left{} // the daemon was killed before it had created a store
	}
	if err != nil {
		return left{err: err}
	}
	turns, err := r.Unfinished(ctx)
	blocks, blocksErr := r.Blocks(ctx, endpoint)
	return left{turns, blocks, errors.Join(err, blocksErr, r.Close())}
}

// storedWithin is the maximum time that a daemon on a busy machine needs to store the result of a call. If the daemon
// was killed sooner than this after a call, its store may lack the result of the call.
const storedWithin = 300 * time.Millisecond

// unheard reports whether daemon i was killed before it could receive the response to the call c and store it.
func (t *trial) unheard(i int, c telegram.Call) bool {
	return c.Done.IsZero() || c.Done.After(t.lives[i].Killed.Add(-storedWithin))
}

// caller returns the number of the daemon that made a call, and whether this daemon was killed.
func (t *trial) caller(c telegram.Call) (i int, killed bool) {
	for i+1 < len(t.lives) && c.At.After(t.lives[i+1].Started) {
		i++
	}
	return i, i < len(t.left)
}

// shown returns those messages of the bot that are visible in a chat.
func (t *trial) shown(id int64) []shown {
	calls := t.world.Telegram.Calls()
	var list []shown
	for _, m := range t.world.standing(id) {
		s := shown{id: m.ID, text: m.Text()}
		s.nameless, s.origin = t.origin(calls, id, m.ID)
		list = append(list, s)
	}
	return list
}

// origin says which daemon made a message, and whether the message is nameless. A message is nameless if no store ever
// contained its id: the daemon was killed before it received the response to the create, or shortly afterwards. If a
// message is nameless, the store contains only the intention to create it.
func (t *trial) origin(calls []telegram.Call, id int64, message int) (nameless bool, what string) {
	creates := func(c telegram.Call) bool {
		return c.Chat == id && c.Effect && (c.Method == sendCall || c.Method == "sendDocument")
	}
	at := slices.IndexFunc(calls, func(c telegram.Call) bool { return creates(c) && c.MessageID == message })
	if at < 0 {
		return false, "made by nobody"
	}
	i, killed := t.caller(calls[at])
	if !killed {
		return false, "of the last daemon"
	}
	what = fmt.Sprintf("of daemon %d, ", i)
	if done := calls[at].Done; done.IsZero() {
		what += "never answered"
	} else {
		what += "answered " + t.lives[i].Killed.Sub(done).String() + " before it was killed"
	}
	later := slices.ContainsFunc(calls[at+1:], func(c telegram.Call) bool {
		j, _ := t.caller(c)
		return creates(c) && j == i
	})
	intended, learned := t.left[i].intended(id), t.left[i].learned(message)
	what += fmt.Sprintf("; intended %t, learned %t, others later %t", intended, learned, later)
	return t.unheard(i, calls[at]) && !later && intended && !learned, what
}

// intended reports whether the store contained, for a turn in the chat, a message whose id was not yet known.
func (l left) intended(id int64) bool {
	return slices.ContainsFunc(l.turns, func(r chat.Turn) bool {
		return r.Conversation.Chat == chatID(id) && slices.ContainsFunc(r.Parts, func(p chat.Part) bool { return p.Ref.ID == "" })
	})
}

func (l left) learned(message int) bool {
	id := chat.MessageID(strconv.Itoa(message))
	return slices.ContainsFunc(l.turns, func(r chat.Turn) bool {
		return slices.ContainsFunc(r.Parts, func(p chat.Part) bool { return p.Ref.ID == id })
	})
}

func chatID(id int64) chat.ChatID { return chat.ChatID(strconv.FormatInt(id, 10)) }

// blockedCalls returns the calls to a chat that a daemon made before the wait after a 429 was over. If the daemon that
// received the 429 was killed before it could store the wait, blockedCalls leaves out the calls of later daemons.
func (t *trial) blockedCalls() []string {
	type window struct {
		by   int
		lost bool
		call telegram.Call
		till time.Time
	}
	var windows []window
	var found []string
	for _, c := range t.world.Telegram.Calls() {
		by, killed := t.caller(c)
		for _, w := range windows {
			if c.Chat == w.call.Chat && c.At.After(w.call.Done) && c.At.Before(w.till) && (by == w.by || !w.lost) {
				found = append(found, c.Method+" "+w.till.Sub(c.At).String()+" too early")
			}
		}
		if c.RetryAfter > 0 && strings.HasPrefix(c.Description, "Too Many Requests") {
			lost := killed && t.unheard(by, c) && !t.left[by].blocked(c.Chat)
			windows = append(windows, window{by, lost, c, c.Done.Add(time.Duration(c.RetryAfter) * time.Second)})
		}
	}
	return found
}

// memory checks the history of a chat in the last daemon's store. The history must contain each question and each
// answer once, in order, as people see them.
func (t *trial) memory(ctx context.Context, h home) error {
	r, err := store.OpenReadOnly(ctx, store.Options{Path: store.File(h.state())})
	if err != nil {
		return err
	}
	want := make(map[int64][]string)
	for _, q := range t.questions {
		if !q.help {
			want[q.chat] = append(want[q.chat], q.text, q.answer)
		}
	}
	var errs []error
	for id, texts := range want {
		_, entries, err := r.Session(ctx, chat.Conversation{Endpoint: endpoint, Chat: chatID(id)})
		var got []string
		for _, e := range entries {
			var m struct{ Text string }
			err = errors.Join(err, json.Unmarshal(e.Body, &m))
			got = append(got, m.Text)
		}
		if !slices.Equal(got, texts) {
			errs = append(errs, fmt.Errorf("history of chat %d: got %d entries, want %d: %.500q", id, len(got), len(texts), got))
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, r.Close())...)
}

// blocked reports whether the store contained a wait after a 429, and this wait applies to the chat.
func (l left) blocked(id int64) bool {
	return slices.ContainsFunc(l.blocks, func(b chat.Block) bool { return b.Chat == chatID(id) })
}
