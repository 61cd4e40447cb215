package store

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"telex/internal/chat"
)

// UsageBy is a property by which usage can be grouped.
type UsageBy string

// These are the properties by which usage can be grouped.
const (
	ByDay          UsageBy = "day"
	ByPerson       UsageBy = "person"
	ByConversation UsageBy = "conversation"
	ByModel        UsageBy = "model"
)

// AccountOptions selects and groups usage.
type AccountOptions struct {
	From, To time.Time      // the time in which the usage was stored: not before From, and before To; zero: no bound
	By       []UsageBy      // grouping properties; they also define the order of the rows; empty: one row for all usage
	Zone     *time.Location // time zone that defines days; nil: UTC
}

// Account contains the usage of turns, as sums for groups.
type Account struct {
	Rows  []AccountRow
	Total chat.Used // a turn that has usage in several rows counts only once in Total.Turns
}

// AccountRow is the usage of one group. A field is zero if AccountOptions.By does not contain the property in this
// field.
type AccountRow struct {
	Day          string // the day, in the format 2006-01-02
	Person       chat.Person
	Conversation chat.Conversation
	Model        string
	chat.Used    // Used.Model stays empty, because the row has a field Model of its own
}

// Account adds up the token usage of turns. The store keeps usage for 400 days. If a person is deleted, the person's
// usage stays, but without the person's user id. Account fails with ErrOlder if the store's schema is not up to date.
func (r *Reader) Account(ctx context.Context, o AccountOptions) (Account, error) {
	to := int64(math.MaxInt64)
	if !o.To.IsZero() {
		to = millis(o.To)
	}
	columns := func(u *UsageRow) []any {
		dest := u.Columns()
		dest[1] = (*storedTime)(&u.at)
		return dest
	}
	return resultOf(ctx, r.viewCurrent, "sum up usage", func(t *tx) Account {
		return o.Sum(each(t, columns, listUsage, millis(o.From), to))
	})
}

// Sum groups usage rows and adds them up. In the sequence usage, all rows of a turn must be adjacent.
func (o AccountOptions) Sum(usage iter.Seq[UsageRow]) Account {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	var total sum
	sums := make(map[AccountRow]*sum) // the sum of each group
	for u := range usage {
		key := o.key(u)
		if sums[key] == nil {
			sums[key] = &sum{}
		}
		sums[key].add(u)
		total.add(u)
	}
	a := Account{Total: total.Used}
	for row, s := range sums {
		row.Used = s.Used
		a.Rows = append(a.Rows, row)
	}
	slices.SortFunc(a.Rows, o.compare)
	return a
}

// UsageRow is the usage of one model in one turn.
type UsageRow struct {
	turn         string
	at           time.Time
	person       chat.UserID
	conversation chat.Conversation
	chat.Usage
}

// Columns returns pointers to the fields into which a query's columns are scanned: the turn, the time, the person, the
// conversation and the usage.
func (u *UsageRow) Columns() []any {
	c := &u.conversation
	return []any{
		&u.turn, &u.at, &u.person, &c.Endpoint, &c.Chat, &c.Thread,
		&u.Model, &u.Prompt, &u.Cached, &u.Completion, &u.Reasoning, &u.Calls, &u.Estimated,
	}
}

// sum is the usage of a group, added up so far. To count each turn only once, sum compares each row only with the row
// before. To count a turn only once, all rows of the turn must therefore be adjacent.
type sum struct {
	chat.Used
	turn string // id of the turn that was added last
}

func (s *sum) add(u UsageRow) {
	s.Add(u.Usage)
	if s.Turns == 0 || s.turn != u.turn {
		s.Turns++
	}
	s.turn = u.turn
}

// key returns the group to which a usage row belongs.
func (o AccountOptions) key(u UsageRow) (k AccountRow) {
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

// compare orders rows by the properties by which usage is grouped.
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
