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
func (r *Reader) Account(ctx context.Context, o AccountOptions) (Account, error) {
	to := int64(math.MaxInt64)
	if !o.To.IsZero() {
		to = millis(o.To)
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	return resultOf(ctx, r.viewCurrent, "sum up usage", func(t *tx) (a Account) {
		var total sum
		sums := make(map[AccountRow]*sum) // by what is told apart
		for u := range each(t, (*usageRow).columns, listUsage, millis(o.From), to) {
			key := o.key(u)
			if sums[key] == nil {
				sums[key] = &sum{}
			}
			sums[key].add(u)
			total.add(u)
		}
		a = Account{Total: total.Used}
		for row, s := range sums {
			row.Used = s.Used
			a.Rows = append(a.Rows, row)
		}
		slices.SortFunc(a.Rows, o.compare)
		return a
	})
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

// sum is what a row has so far. Rows come turn by turn.
type sum struct {
	chat.Used
	turn string // the newest that is in it
}

func (s *sum) add(u usageRow) {
	s.Add(u.Usage)
	if s.Turns == 0 || s.turn != u.turn {
		s.Turns++
	}
	s.turn = u.turn
}

// key is the row that usage belongs to.
func (o AccountOptions) key(u usageRow) (k AccountRow) {
	for _, by := range o.By {
		switch by {
		case ByDay:
			k.Day = u.at.In(o.Zone).Format(time.DateOnly)
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

// compare orders rows by the first thing that tells them apart. What is not told apart is the same in both.
func (o AccountOptions) compare(x, y AccountRow) int {
	for _, by := range o.By {
		order := 0
		switch by {
		case ByDay:
			order = cmp.Compare(x.Day, y.Day)
		case ByPerson:
			order = cmp.Or(cmp.Compare(x.Person.Endpoint, y.Person.Endpoint), cmp.Compare(x.Person.User, y.Person.User))
		case ByConversation:
			a, b := x.Conversation, y.Conversation
			order = cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Chat, b.Chat), cmp.Compare(a.Thread, b.Thread))
		case ByModel:
			order = cmp.Compare(x.Model, y.Model)
		}
		if order != 0 {
			return order
		}
	}
	return 0
}
