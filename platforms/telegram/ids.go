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

// These constants limit which message ids a Bot remembers, and how long the Bot takes a create call of unknown outcome
// into account.
const (
	maxKnownIDs  = 4096 // per sequence
	maxSequences = 256
	// For the time uncertainFor after a create call of unknown outcome, each search in the same sequence of ids tries one
	// more id.
	uncertainFor = time.Minute
)

// supergroups is the greatest chat id of supergroups and channels. Chat ids greater than supergroups belong to private
// chats and basic groups.
const supergroups = -1_000_000_000_000

// ids contains the message ids that the bot knows. Telegram numbers the messages of a supergroup or channel in one
// growing sequence. The messages in all private chats and basic groups of a bot share one sequence. When the bot
// searches for a message, it skips the known ids. The zero value of ids contains no ids.
type ids struct {
	mu            sync.Mutex
	historyLoaded bool // loadHistory has recorded the messages of earlier processes
	sequences     map[int64]*sequence
	probing       map[chat.ChatID]int // maps a chat to the id of the message that a running probe may change
	creating      map[chat.ChatID]int // maps a chat to the number of create calls that are running
}

// sequence is one sequence of message ids.
type sequence struct {
	newest    int
	known     map[int]struct{}
	unstored  map[int]struct{}     // ids of the bot's messages that may not be in the store, because Learn has not listed them
	changed   map[int]struct{}     // ids of messages that a probe changed or may have changed
	found     map[int]time.Time    // ids of messages that a search found, changed or may have changed, with the time of the search
	uncertain map[string]time.Time // maps the key of a create call to the time when its outcome became unknown
}

// sequenceOf returns the sequence of message ids to which a chat belongs. The caller must hold mu.
func (i *ids) sequenceOf(c int64) *sequence {
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
	s := &sequence{known: make(map[int]struct{}), unstored: make(map[int]struct{}), changed: make(map[int]struct{}), found: make(map[int]time.Time), uncertain: make(map[string]time.Time)}
	i.sequences[c] = s
	return s
}

// sequenceOfTarget returns the sequence of message ids to which a target's chat belongs. The caller must hold mu.
func (i *ids) sequenceOfTarget(to chat.Target) *sequence {
	n, _ := strconv.ParseInt(string(to.Chat), 10, 64) // for an invalid chat id, n is 0, and a search finds no message
	return i.sequenceOf(n)
}

// addKnown adds an id to the known ids, and forgets the oldest ids if there are too many.
func (s *sequence) addKnown(id int) {
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
			delete(s.unstored, old)
			delete(s.changed, old)
			delete(s.found, old)
		}
	}
}

// addOwn records the id of a message that the bot sent.
func (s *sequence) addOwn(id int) {
	s.unstored[id] = struct{}{}
	s.addKnown(id)
}

// addUncertain records that the create call with the given key has an unknown outcome. addUncertain returns how many
// create calls in the sequence have an unknown outcome.
func (s *sequence) addUncertain(key string) int {
	now := time.Now()
	s.uncertain[key] = now
	for k, since := range s.uncertain {
		if now.Sub(since) > uncertainFor {
			delete(s.uncertain, k)
		}
	}
	return len(s.uncertain)
}

// loadHistory records the ids of messages that other processes sent or received.
func (i *ids) loadHistory(known []chat.MessageRef) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, ref := range known {
		if id, err := strconv.Atoi(string(ref.ID)); err == nil {
			s := i.sequenceOfTarget(ref.Target)
			s.addKnown(id)
			delete(s.unstored, id)
		}
	}
	i.historyLoaded = true
}

// forgetUnstored forgets the ids of messages that may not be in the store. No search can begin until loadHistory is
// called again.
func (i *ids) forgetUnstored() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, s := range i.sequences {
		for id := range s.unstored {
			delete(s.known, id)
		}
		clear(s.unstored)
	}
	i.historyLoaded = false
}

// Learn implements gateway.Learner.
func (b *Bot) Learn(known []chat.MessageRef) { b.ids.loadHistory(known) }

// Forget implements gateway.Learner.
func (b *Bot) Forget() { b.ids.forgetUnstored() }

// addReceived records the ids of the messages in updates, even of messages that the bot ignores.
func (i *ids) addReceived(updates []json.RawMessage) {
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
			continue // decode also fails for this update and reports the error
		}
		m := u.Message
		if m == nil && u.Callback != nil {
			m = u.Callback.Message
		}
		// Do not record the id of the message whose button was pressed. The press may arrive before the response to the call
		// that created the message, and recordCreate must be the first to record the id.
		if m != nil && u.Callback == nil {
			i.sequenceOf(m.Chat.ID).addKnown(m.ID)
		}
	}
}

// beginCreate blocks searches in the chat until recordCreate is called. If a search were not blocked, a probe could
// replace the text of the new message, whose id is not known yet. A create call does not wait for a running probe: the
// probe may hang, and sending answers is more important than searching.
func (i *ids) beginCreate(to chat.Target) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.creating == nil {
		i.creating = make(map[chat.ChatID]int)
	}
	i.creating[to.Chat]++
}

// recordCreate records the result of a create call and returns the call's receipt. A probe that began before a create
// call may find or change the call's new message. If a probe may have found or changed the new message, recordCreate
// fails with Uncertain. When recordCreate fails with Uncertain, the gateway searches for the message, and sends it
// again if another search has assigned the message to another reply.
func (i *ids) recordCreate(to chat.Target, key string, result json.RawMessage, err error) (chat.Receipt, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.creating[to.Chat]--; i.creating[to.Chat] <= 0 {
		delete(i.creating, to.Chat)
	}
	s := i.sequenceOfTarget(to)
	if err != nil {
		if chat.AsSendError(err).Kind == chat.Uncertain {
			s.addUncertain(key)
		}
		return chat.Receipt{}, err
	}
	r := receipt(to, result)
	id, invalid := strconv.Atoi(string(r.Ref.ID))
	if invalid != nil {
		return r, nil
	}
	if at, found := s.found[id]; found && time.Since(at) < uncertainFor || i.probing[to.Chat] == id {
		s.addUncertain(key)
		return chat.Receipt{}, &chat.SendError{Kind: chat.Uncertain, Err: errFound}
	}
	s.addOwn(id)
	return r, nil
}

// Newest implements preview.Finder.
func (b *Bot) Newest(to chat.Target) chat.MessageID {
	b.ids.mu.Lock()
	defer b.ids.mu.Unlock()
	if n := b.ids.sequenceOfTarget(to).newest; n > 0 {
		return chat.MessageID(strconv.Itoa(n))
	}
	return ""
}

var (
	errHistoryUnknown = errors.New("the ids of earlier messages are not known yet")
	errProbing        = errors.New("another search in this chat is running")
	errCreating       = errors.New("a message is being sent to this chat")
	errFound          = errors.New("a search for another message may have found the new one")
)

// probe is one step of a search: an edit that shows whether a certain create call made the message with this id.
type probe struct {
	id          int
	after, last int // the search tries ids that are greater than after and at most last
	count       int // number of earlier probes of the same search
}

// nextProbe chooses the id that a search tries next, and blocks other searches in the chat until finishProbe. The
// result ok is false if no id is left. The parameter from is the previous probe of the same search.
func (i *ids) nextProbe(to chat.Target, c chat.Create, from probe) (p probe, ok bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case !i.historyLoaded:
		return p, false, errHistoryUnknown
	case i.probing[to.Chat] != 0:
		return p, false, errProbing
	case i.creating[to.Chat] > 0:
		return p, false, errCreating
	}
	s := i.sequenceOfTarget(to)
	above := slices.Max([]int{messageNumber(c.After), messageNumber(c.Message.Answers), messageNumber(c.Message.ReplyTo)})
	p = probe{id: max(above, from.id), after: above, count: from.count, last: max(s.newest, above) + probesAbove + s.addUncertain(c.Key)}
	for p.id++; p.id <= p.last; p.id++ {
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

// messageNumber returns a message id as a number, or 0 if the id is not a number.
func messageNumber(id chat.MessageID) int {
	n, _ := strconv.Atoi(string(id)) // the id of a button press is not a number
	return n
}

// probeResult is the result of a probe.
type probeResult uint8

const (
	absent        probeResult = iota // the chat contains no message of the bot with this id
	foreign                          // the message is from somebody else
	matched                          // the message already had the content of the probe
	replaced                         // the message had other content, which is now replaced
	inconclusive                     // the call changed nothing, and its response says nothing about the message
	maybeReplaced                    // the call may have changed the message
)

// finishProbe records the result of a probe. finishProbe returns false if an earlier probe may have changed the
// message. If finishProbe returns false, the content of the message does not prove which create call made the message.
func (i *ids) finishProbe(to chat.Target, key string, id int, result probeResult) (own bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.probing, to.Chat)
	s := i.sequenceOfTarget(to)
	if result == matched || result == replaced || result == maybeReplaced {
		s.found[id] = time.Now()
	}
	switch _, own = s.changed[id]; result {
	case absent, inconclusive:
	case foreign:
		s.addKnown(id)
	case maybeReplaced:
		s.changed[id] = struct{}{}
	case replaced:
		s.changed[id] = struct{}{}
		s.addOwn(id)
	case matched:
		s.addOwn(id)
		delete(s.uncertain, key)
	}
	return !own
}

// endSearch records that the search for the message of a create call has ended without finding the message.
func (i *ids) endSearch(to chat.Target, key string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.sequenceOfTarget(to).uncertain, key)
}

// probeLimit returns how many probes a search may make.
func probeLimit(to chat.Target) int {
	if to.Kind == chat.Group {
		return maxGroupProbes
	}
	return maxProbes
}
