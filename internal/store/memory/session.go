package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"telex/internal/chat"
)

// session contains the stored data of a conversation.
type session struct {
	chat.Session
	history []chat.Entry
}

// live returns the index of the first entry that the summary does not cover.
func (se *session) live() int {
	i, _ := slices.BinarySearchFunc(se.history, se.SummaryUpto+1, func(e chat.Entry, id int64) int { return cmp.Compare(e.ID, id) })
	return i
}

// Session implements history.Sessions. The caller may change the entries that Session returns.
func (s *Store) Session(_ context.Context, c chat.Conversation) (chat.Session, []chat.Entry, error) {
	defer s.lock()()
	se := s.session(s.now(c))
	var out []chat.Entry
	for _, e := range se.history[se.live():] {
		e.Body = slices.Clone(e.Body)
		out = append(out, e)
	}
	return se.Session, out, nil
}

// Choose implements gateway.Accounts.
func (s *Store) Choose(_ context.Context, c chat.Conversation, model string) error {
	defer s.lock()()
	if err := s.fence(c); err != nil {
		return err
	}
	s.session(s.now(c)).Model = model
	return nil
}

// Undo implements gateway.Histories. Running turns may have read the deleted entries, so the store no longer accepts
// their summaries.
func (s *Store) Undo(_ context.Context, c chat.Conversation, says chat.Turn) ([]chat.Entry, error) {
	defer s.lock()()
	if err := s.fence(c); err != nil {
		return nil, err
	}
	if says.ID != "" {
		if err := s.begin(says); err != nil {
			return nil, err
		}
	}
	c = s.now(c)
	se := s.session(c)
	live := se.history[se.live():]
	if len(live) == 0 {
		return nil, nil
	}
	turn, summarized := live[len(live)-1].Turn, se.SummaryUpto
	var out []chat.Entry
	se.history = slices.DeleteFunc(se.history, func(e chat.Entry) bool {
		gone := e.Turn == turn && e.ID > summarized
		if gone {
			out = append(out, e)
		}
		return gone
	})
	s.outdate(c)
	return out, nil
}

// Forget implements gateway.Histories. The ids of the conversation's messages stay stored, so that no message is
// answered twice.
func (s *Store) Forget(_ context.Context, c chat.Conversation) error {
	defer s.lock()()
	if err := s.fence(c); err != nil {
		return err
	}
	s.erase(s.now(c), "", func(chat.UserID) bool { return true })
	return nil
}

// Erase implements gateway.Histories. Erase also deletes entries without a person, because they may be this person's.
func (s *Store) Erase(_ context.Context, c chat.Conversation, u chat.UserID) (int, error) {
	defer s.lock()()
	if err := s.fence(c); err != nil {
		return 0, err
	}
	return s.erase(s.now(c), u, func(asked chat.UserID) bool { return asked == u || asked == "" }), nil
}

// erase deletes the entries of those people for whom the function theirs returns true, and the permanent approvals of
// the person u. If u is empty, erase deletes the permanent approvals of everybody. erase returns the number of deleted
// entries.
func (s *Store) erase(c chat.Conversation, u chat.UserID, theirs func(chat.UserID) bool) int {
	se := s.session(c)
	before := len(se.history)
	se.history = slices.DeleteFunc(se.history, func(e chat.Entry) bool { return theirs(e.User) })
	se.Session = chat.Session{Model: se.Model}
	for _, t := range s.turns {
		if t.Conversation == c && t.State == chat.TurnRunning && theirs(t.User) {
			t.Void = true
		}
	}
	s.revoke(c, u)
	s.outdate(c)
	return before - len(se.history)
}

// outdate marks the unfinished turns of a conversation as stale.
func (s *Store) outdate(c chat.Conversation) {
	for _, t := range s.turns {
		if t.Conversation == c {
			t.stale = true
		}
	}
}

// join merges the session from into the session into. If one of the sessions has a summary, join gives new ids to the
// entries that no summary covers. The new ids must be larger than the ids of the entries that a summary covers.
func (s *Store) join(into, from *session) {
	order := func(a, b chat.Entry) int { return cmp.Compare(a.ID, b.ID) }
	summarized := slices.Concat(into.history[:into.live()], from.history[:from.live()])
	live := slices.Concat(into.history[into.live():], from.history[from.live():])
	slices.SortFunc(summarized, order)
	slices.SortFunc(live, order)
	into.Session = into.Join(from.Session)
	if into.SummaryUpto > 0 {
		for i := range live {
			s.said++
			live[i].ID = s.said
		}
	}
	into.history = append(summarized, live...)
}

// grow adds the entries, usage and compaction of a turn to its session.
func (s *Store) grow(t *memoryTurn, g chat.Growth) {
	se := s.session(t.Conversation)
	if t.Replaces != "" && len(g.History) > 0 {
		se.history = slices.DeleteFunc(se.history, func(e chat.Entry) bool { return e.Turn == t.Replaces })
	}
	for _, body := range g.History {
		s.said++
		se.history = append(se.history, chat.Entry{ID: s.said, Turn: t.ID, User: t.User, At: time.Now(), Body: slices.Clone(body)})
	}
	se.history = last(se.history, keptMessages)
	for _, u := range g.Usage {
		s.usage = append(s.usage, used{conversation: t.Conversation, person: t.User, turn: t.ID, at: time.Now(), Usage: u})
	}
	s.usage = last(s.usage, keptUsage)
	if f := g.Compaction; f != nil && !t.stale && f.Upto >= se.SummaryUpto {
		se.Summary, se.SummaryUpto, se.At = f.Summary, f.Upto, time.Now()
		se.Compactions++
	}
}

func (s *Store) session(c chat.Conversation) *session {
	se := s.sessions[c]
	if se == nil {
		se = &session{}
		s.sessions[c] = se
	}
	return se
}

// used is the usage of one model in one turn.
type used struct {
	conversation chat.Conversation
	person       chat.UserID
	turn         string
	at           time.Time
	chat.Usage
}

// of reports whether the query w selects this usage.
func (u used) of(w chat.UsageOf) bool {
	return (w.Conversation == chat.Conversation{} || w.Conversation == u.conversation) &&
		(w.Person.Endpoint == "" || w.Person.Endpoint == u.conversation.Endpoint) &&
		(w.Person.User == "" || w.Person.User == u.person) &&
		!u.at.Before(w.From) && (w.To.IsZero() || u.at.Before(w.To))
}

// Used implements gateway.Accounts.
func (s *Store) Used(_ context.Context, of chat.UsageOf) (sum chat.Used, err error) {
	defer s.lock()()
	of.Conversation = s.now(of.Conversation)
	turns := make(map[string]bool)
	for _, u := range s.usage {
		if !u.of(of) {
			continue
		}
		sum.Add(u.Usage)
		turns[u.turn], sum.Last = true, u.Model
	}
	sum.Turns = len(turns)
	return sum, nil
}
