package telegram

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"telex/internal/chat"
)

// The bounds of what is remembered of messages.
const (
	maxKnownIDs  = 4096 // of one sequence
	maxSequences = 256
	// doubtFor is how long a create of unknown outcome makes searches in its sequence look further.
	doubtFor = time.Minute
)

// supergroups is the upper end of the ids of supergroups and channels.
const supergroups = -1_000_000_000_000

// ids is what a bot knows of the ids of messages. Telegram counts messages in one growing sequence for all private chats and
// basic groups of a bot, and in one for each supergroup and channel. A search for a message leaves out the known ones: it is
// none of them. The zero value knows nothing.
type ids struct {
	mu        sync.Mutex
	begun     bool // what was sent before this process began is known
	sequences map[int64]*sequence
	probing   map[chat.ChatID]int // the id that a probe in a chat is about to change
}

// sequence is one sequence of ids.
type sequence struct {
	newest  int
	known   map[int]struct{}
	changed map[int]struct{}     // by a probe, surely or perhaps
	found   map[int]time.Time    // by a search: found or changed, surely or perhaps
	doubts  map[string]time.Time // by key: creates of unknown outcome
}

// in returns the sequence to which a chat belongs. The caller holds mu.
func (i *ids) in(c int64) *sequence {
	if c > supergroups {
		c = 0
	}
	if s := i.sequences[c]; s != nil {
		return s
	}
	if len(i.sequences) >= maxSequences || i.sequences == nil {
		kept := i.sequences[0]
		if i.sequences = make(map[int64]*sequence); kept != nil {
			i.sequences[0] = kept
		}
	}
	s := &sequence{known: make(map[int]struct{}), changed: make(map[int]struct{}), found: make(map[int]time.Time), doubts: make(map[string]time.Time)}
	i.sequences[c] = s
	return s
}

// of is in for a chat as the gateway knows it.
func (i *ids) of(to chat.Target) *sequence {
	n, _ := strconv.ParseInt(string(to.Chat), 10, 64) // an invalid chat has no messages
	return i.in(n)
}

// learn notes that the message with an id is known.
func (s *sequence) learn(id int) {
	if id <= 0 {
		return
	}
	s.known[id] = struct{}{}
	s.newest = max(s.newest, id)
	if len(s.known) <= maxKnownIDs {
		return
	}
	for old := range s.known {
		if old < s.newest-maxKnownIDs/2 {
			delete(s.known, old)
			delete(s.changed, old)
			delete(s.found, old)
		}
	}
}

// doubt notes that a create with a key has an unknown outcome, and returns how many there are.
func (s *sequence) doubt(key string) int {
	now := time.Now()
	s.doubts[key] = now
	for k, since := range s.doubts {
		if now.Sub(since) > doubtFor {
			delete(s.doubts, k)
		}
	}
	return len(s.doubts)
}

// begin notes what other processes sent.
func (i *ids) begin(sent []chat.MessageRef) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, ref := range sent {
		if id, err := strconv.Atoi(string(ref.ID)); err == nil {
			i.of(ref.Target).learn(id)
		}
	}
	i.begun = true
}

// Learn implements gateway.Learner.
func (b *Bot) Learn(sent []chat.MessageRef) { b.ids.begin(sent) }

// received notes the messages in updates, also in those that say nothing to the bot.
func (i *ids) received(updates []json.RawMessage) {
	type message struct {
		ID   int `json:"message_id"`
		Chat struct {
			ID int64 `json:"id"`
		} `json:"chat"`
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, raw := range updates {
		var u struct {
			Message  *message `json:"message"`
			Callback *struct {
				Message *message `json:"message"`
			} `json:"callback_query"`
		}
		if json.Unmarshal(raw, &u) != nil {
			continue // the rest of the adapter tells
		}
		m := u.Message
		if m == nil && u.Callback != nil {
			m = u.Callback.Message
		}
		// A button may have come before the answer to the create of its message: the create tells its id.
		if m != nil && u.Callback == nil {
			i.in(m.Chat.ID).learn(m.ID)
		}
	}
}

// created notes what came of a create, and returns its receipt. If a search for another message has found this one at the same
// time, or may have changed it, the create's outcome is unknown as well: its message is looked for, and is sent again if it
// belongs to another reply by now.
func (i *ids) created(to chat.Target, key string, result json.RawMessage, err error) (chat.Receipt, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.of(to)
	if err != nil {
		if chat.AsSendError(err).Kind == chat.Uncertain {
			s.doubt(key)
		}
		return chat.Receipt{}, err
	}
	r := receipt(to, result)
	id, invalid := strconv.Atoi(string(r.Ref.ID))
	if invalid != nil {
		return r, nil
	}
	if at, found := s.found[id]; found && time.Since(at) < doubtFor || i.probing[to.Chat] == id {
		s.doubt(key)
		return chat.Receipt{}, &chat.SendError{Kind: chat.Uncertain, Err: errFound}
	}
	s.learn(id)
	return r, nil
}

// Newest implements preview.Finder.
func (b *Bot) Newest(to chat.Target) chat.MessageID {
	b.ids.mu.Lock()
	defer b.ids.mu.Unlock()
	if n := b.ids.of(to).newest; n > 0 {
		return chat.MessageID(strconv.Itoa(n))
	}
	return ""
}

var (
	errNotBegun = errors.New("a search needs to know what was sent before")
	errProbing  = errors.New("another search in this chat waits for its answer")
	errFound    = errors.New("a search for another message may have found the new one")
)

// probe is the next step of a search.
type probe struct {
	id          int
	above, upto int // the ids that the message can have lie above the one, and go up to the other
	made        int // probes before this one
}

// next chooses the id that a search tries next, and keeps other searches out of the chat until done. ok is false when no id
// is left. from is where the search goes on.
func (i *ids) next(to chat.Target, c chat.Create, from probe) (p probe, ok bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case !i.begun:
		return p, false, errNotBegun
	case i.probing[to.Chat] != 0:
		return p, false, errProbing
	}
	s := i.of(to)
	above := slices.Max([]int{number(c.After), number(c.Message.Answers), number(c.Message.ReplyTo)})
	p = probe{id: max(above, from.id), above: above, made: from.made, upto: max(s.newest, above) + probesAbove + s.doubt(c.Key)}
	for p.id++; p.id <= p.upto; p.id++ {
		if _, known := s.known[p.id]; !known {
			if i.probing == nil {
				i.probing = make(map[chat.ChatID]int)
			}
			i.probing[to.Chat] = p.id
			return p, true, nil
		}
	}
	return p, false, nil
}

// number is an id of Telegram's, or 0.
func number(id chat.MessageID) int {
	n, _ := strconv.Atoi(string(id)) // a press on a button has no number
	return n
}

// What a probe did.
type probed uint8

const (
	missed   probed = iota // there is no such message of the bot's in the chat
	foreign                // the message is somebody else's
	matched                // the message has the content already
	replaced               // the message had other content
	refused                // the call certainly did nothing, and says nothing
	unknown                // the call may have changed the message
)

// done notes what a probe did. It returns false where the message had the content already, but perhaps only because an earlier
// probe changed it.
func (i *ids) done(to chat.Target, key string, id int, what probed) (own bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.probing, to.Chat)
	s := i.of(to)
	if what == matched || what == replaced || what == unknown {
		s.found[id] = time.Now()
	}
	switch _, own = s.changed[id]; what {
	case missed, refused:
	case foreign:
		s.learn(id)
	case unknown:
		s.changed[id] = struct{}{}
	case replaced:
		s.changed[id] = struct{}{}
		s.learn(id)
	case matched:
		s.learn(id)
		delete(s.doubts, key)
	}
	return !own
}

// over notes that a search has ended without a message.
func (i *ids) over(to chat.Target, key string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.of(to).doubts, key)
}

// mostProbes is how many probes a search may make.
func mostProbes(to chat.Target) int {
	if to.Kind == chat.Group {
		return maxGroupProbes
	}
	return maxProbes
}
