package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"telex/internal/chat"
)

// UsageBy is something that tells one row of an Account from another.
type UsageBy string

// What usage can be told apart by.
const (
	ByDay          UsageBy = "day"
	ByPerson       UsageBy = "person"
	ByConversation UsageBy = "conversation"
	ByModel        UsageBy = "model"
)

// AccountOptions say what is summed up, and how finely.
type AccountOptions struct {
	From, To time.Time      // when usage was stored: From included, To not; zero: no bound
	By       []UsageBy      // what is told apart, and the order of the rows; empty: one row for all
	Zone     *time.Location // which days are meant; nil: UTC
}

// Account is what turns used.
type Account struct {
	Rows  []AccountRow
	Total chat.Used // a turn that is in several rows counts once
}

// AccountRow is a sum. What is not told apart is zero.
type AccountRow struct {
	Day          string // as 2006-01-02
	Person       chat.Person
	Conversation chat.Conversation
	Model        string
	chat.Used    // its own Model is empty
}

// Account sums up what turns used, in the last 400 days at most. Of people who were deleted the endpoint is known and no
// user. It fails with ErrOlder for a store that is not up to date.
func (r *Reader) Account(ctx context.Context, o AccountOptions) (a Account, err error) {
	to := int64(math.MaxInt64)
	if !o.To.IsZero() {
		to = millis(o.To)
	}
	err = r.viewCurrent(ctx, "sum up usage", func(t *tx) {
		s := newSums(o)
		for u := range each(t, (*usageRow).columns, listUsage, millis(o.From), to) {
			s.add(u)
		}
		a = s.account()
	})
	return result(&a, err)
}

// usageRow is what one model used for one turn.
type usageRow struct {
	turn         string
	at           time.Time
	person       chat.UserID
	conversation chat.Conversation
	chat.Usage
}

// columns are those of listUsage.
func (u *usageRow) columns() []any {
	c := &u.conversation
	return []any{
		&u.turn, (*stored)(&u.at), &u.person, &c.Endpoint, &c.Chat, &c.Thread,
		&u.Model, &u.Prompt, &u.Cached, &u.Completion, &u.Reasoning, &u.Calls, &u.Estimated,
	}
}

// sums makes an Account of rows, which come turn by turn.
type sums struct {
	o     AccountOptions
	rows  map[AccountRow]*sum // by what is told apart
	total sum
}

// sum is what a row has so far.
type sum struct {
	chat.Used
	turn string // the newest that is in it
}

func newSums(o AccountOptions) *sums {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	return &sums{o: o, rows: map[AccountRow]*sum{}}
}

func (s *sums) add(u usageRow) {
	key := s.key(u)
	row := s.rows[key]
	if row == nil {
		row = &sum{}
		s.rows[key] = row
	}
	row.add(u)
	s.total.add(u)
}

func (s *sums) key(u usageRow) (k AccountRow) {
	for _, by := range s.o.By {
		switch by {
		case ByDay:
			k.Day = u.at.In(s.o.Zone).Format(time.DateOnly)
		case ByPerson:
			k.Person = chat.Person{Endpoint: u.conversation.Endpoint, User: u.person}
		case ByConversation:
			k.Conversation = u.conversation
		case ByModel:
			k.Model = u.Model
		}
	}
	return k
}

func (s *sum) add(u usageRow) {
	s.Usage.Add(u.Usage)
	if s.Turns == 0 || s.turn != u.turn {
		s.Turns++
	}
	s.turn = u.turn
}

func (s *sums) account() Account {
	a := Account{Total: s.total.Used}
	for key, row := range s.rows {
		key.Used = row.Used
		a.Rows = append(a.Rows, key)
	}
	slices.SortFunc(a.Rows, func(x, y AccountRow) int {
		for _, by := range s.o.By {
			if c := by.compare(x, y); c != 0 {
				return c
			}
		}
		return 0
	})
	return a
}

func (b UsageBy) compare(x, y AccountRow) int {
	switch b {
	case ByDay:
		return cmp.Compare(x.Day, y.Day)
	case ByPerson:
		return cmp.Or(cmp.Compare(x.Person.Endpoint, y.Person.Endpoint), cmp.Compare(x.Person.User, y.Person.User))
	case ByConversation:
		a, b := x.Conversation, y.Conversation
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Chat, b.Chat), cmp.Compare(a.Thread, b.Thread))
	case ByModel:
		return cmp.Compare(x.Model, y.Model)
	}
	return 0
}
