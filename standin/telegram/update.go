package telegram

import (
	"context"
	"slices"
	"strings"
	"time"

	"telex/standin/rig"
)

const (
	// maxPoll is the longest time that a call of getUpdates waits.
	maxPoll = 50 * time.Second
	// updateLifetime is how long the server keeps an update that the bot does not fetch.
	updateLifetime = 24 * time.Hour
	// maxUpdates is the maximum number of updates in one response to getUpdates.
	maxUpdates = 100
	// firstUpdate is the id of the first update. As on Telegram, the ids of updates do not begin at 1.
	firstUpdate = 700_000_001
)

// queue contains the updates that the bot has not confirmed. Server.mu guards the queue.
type queue struct {
	next    int64
	pending []pendingUpdate
	allowed []string // the kinds of updates that the bot requested; nil: the default kinds
	hook    *webhook // nil: no webhook is set
	poll    *poll    // the running getUpdates
}

type pendingUpdate struct {
	at     time.Time
	update *wireUpdate
	// These fields are for deliveries to a webhook: whether a delivery of the update is running, how many attempts have
	// failed, and the time of the next attempt.
	busy     bool
	failures int
	due      time.Time
}

// poll is a call of getUpdates that waits for updates.
type poll struct {
	wake     chan struct{} // signals that updates arrived; capacity 1
	replaced chan struct{} // closed when another poll replaces this one
}

// With Options.GrowingIDs, ids begin after the number of seconds since idEpoch, multiplied by idsASecond, or after the
// last used id if that is greater. For 17 years, ids with GrowingIDs fit into 31 bits, as clients in some languages
// require. Ids can repeat after a restart only if a process used more than idsASecond ids per second on average.
const (
	idEpoch    = 1767225600 // 2026-01-01, in Unix seconds
	idsASecond = 4
)

// initialState returns an empty queue of updates, and the number before the id of the first message.
func (s *Server) initialState() (before int, q queue) {
	if !s.opts.GrowingIDs {
		return 0, queue{next: firstUpdate}
	}
	before = max(0, int(time.Now().Unix()-idEpoch)*idsASecond, s.nextShared, s.nextQuery, int(s.updates.next))
	for _, c := range s.chats {
		before = max(before, c.lastID)
	}
	return before, queue{next: int64(before) + 1}
}

// hiddenByDefault reports whether a bot receives a kind of update only if it requests this kind by name.
func hiddenByDefault(kind string) bool {
	return kind == "chat_member" || kind == "message_reaction" || kind == "message_reaction_count"
}

func (q *queue) allows(kind string) bool {
	if len(q.allowed) == 0 {
		return !hiddenByDefault(kind)
	}
	return slices.Contains(q.allowed, kind)
}

// deliver queues an update for the bot, if the bot requested this kind of update.
func (s *Server) deliver(u *wireUpdate) {
	q := &s.updates
	if !q.allows(u.kind()) {
		return
	}
	u.UpdateID = q.next
	q.next++
	q.pending = append(q.pending, pendingUpdate{at: time.Now(), update: u})
	if q.hook != nil {
		q.hook.signal()
	}
	if q.poll != nil {
		select {
		case q.poll.wake <- struct{}{}:
		default:
		}
	}
}

// confirm removes the updates whose ids are less than offset. A negative offset is a position from the end of the
// queue; confirm then removes all updates before this position.
func (q *queue) confirm(offset int64, now time.Time) {
	n := 0
	switch {
	case offset < 0:
		n = max(0, len(q.pending)+int(max(offset, -1<<31)))
	case offset > 0:
		for n < len(q.pending) && q.pending[n].update.UpdateID < offset {
			n++
		}
	}
	for n < len(q.pending) && now.Sub(q.pending[n].at) > updateLifetime {
		n++
	}
	q.pending = slices.Clone(q.pending[n:])
}

func (q *queue) firstUpdates(limit int) []*wireUpdate {
	list := make([]*wireUpdate, 0, min(limit, len(q.pending)))
	for _, p := range q.pending[:min(limit, len(q.pending))] {
		list = append(list, p.update)
	}
	return list
}

// getUpdates returns pending updates, and waits if there are none. Only one call of getUpdates may wait: if a second
// call arrives, the first one gets an error.
func (s *Server) getUpdates(ctx context.Context, p params, cut <-chan struct{}) any {
	limit := int(p.integer("limit"))
	if limit < 1 || limit > maxUpdates {
		limit = maxUpdates
	}
	wait := min(max(0, time.Duration(p.integer("timeout"))*time.Second), maxPoll)
	allowed := readAllowed(p)

	s.mu.Lock()
	q := &s.updates
	if q.hook != nil {
		s.mu.Unlock()
		panic(conflict("can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"))
	}
	if q.poll != nil {
		close(q.poll.replaced)
	}
	self := &poll{wake: make(chan struct{}, 1), replaced: make(chan struct{})}
	q.poll = self
	if allowed != nil {
		q.allowed = *allowed
	}
	q.confirm(p.integer("offset"), time.Now())
	s.mu.Unlock()

	timer := time.NewTimer(wait)
	defer timer.Stop()
	for over := wait == 0; ; {
		s.mu.Lock()
		list := s.updates.firstUpdates(limit)
		if len(list) > 0 || over {
			defer s.mu.Unlock()
			select {
			case <-self.replaced:
				panic(replacedPoll())
			default:
			}
			s.endPoll(self)
			return list
		}
		s.mu.Unlock()
		select {
		case <-self.wake:
		case <-timer.C:
			over = true
		case <-self.replaced:
			panic(replacedPoll())
		case <-ctx.Done():
			panic(s.abandonPoll(self))
		case <-cut:
			panic(s.abandonPoll(self))
		}
	}
}

func replacedPoll() *apiError {
	return conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
}

func (s *Server) endPoll(self *poll) {
	if s.updates.poll == self {
		s.updates.poll = nil
	}
}

// abandonPoll ends a poll whose client has disconnected.
func (s *Server) abandonPoll(self *poll) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endPoll(self)
	return &apiError{code: rig.Gone}
}

// readAllowed reads the parameter allowed_updates. readAllowed returns nil if the parameter is absent, which means that
// the last setting stays.
func readAllowed(p params) *[]string {
	list := []string{}
	if !p.object("allowed_updates", &list, badRequest("can't parse allowed updates: JSON array of strings expected")) {
		return nil
	}
	for i := range list {
		list[i] = strings.ToLower(list[i])
	}
	return &list
}
