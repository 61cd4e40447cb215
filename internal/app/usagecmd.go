package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/internal/chat"
	"telex/internal/config"
	"telex/internal/store"
)

// UsageOptions says which usage to show. ParseUsage returns UsageOptions.
type UsageOptions struct {
	since, until time.Time // the period; since is zero for all stored usage
	by           []store.UsageBy
}

// usageDimensions returns the valid values of --by, in the order of the columns.
func usageDimensions() []store.UsageBy {
	return []store.UsageBy{store.ByDay, store.ByPerson, store.ByConversation, store.ByModel}
}

// ParseUsage parses the options of telex usage. since is empty, a date, or a duration before now. A date means midnight in the
// machine's time zone. The parameter by lists the dimensions by which usage is grouped; nil means all dimensions.
func ParseUsage(since string, by []string, now time.Time) (UsageOptions, error) {
	o := UsageOptions{until: now, by: usageDimensions()}
	if since != "" {
		var err error
		if o.since, err = parseSince(since, now); err != nil {
			return UsageOptions{}, err
		}
	}
	if by == nil {
		return o, nil
	}
	o.by = nil
	for _, name := range by {
		dimension := store.UsageBy(strings.TrimSpace(name))
		if !slices.Contains(usageDimensions(), dimension) {
			return UsageOptions{}, fmt.Errorf("--by takes %s, not %q; several are separated by commas, such as person,day",
				joinNames(usageDimensions()), name)
		}
		if !slices.Contains(o.by, dimension) {
			o.by = append(o.by, dimension)
		}
	}
	if len(o.by) == 0 {
		return UsageOptions{}, fmt.Errorf("--by needs at least one of %s", joinNames(usageDimensions()))
	}
	return o, nil
}

func joinNames(names []store.UsageBy) string {
	var text []string
	for _, n := range names {
		text = append(text, string(n))
	}
	return strings.Join(text[:len(text)-1], ", ") + " and " + text[len(text)-1]
}

func parseSince(since string, now time.Time) (time.Time, error) {
	from, err := time.ParseInLocation(time.DateOnly, since, now.Location())
	if err != nil {
		ago, err := config.ParseDuration(since)
		if err != nil || ago <= 0 {
			return time.Time{}, fmt.Errorf("--since takes a date, such as %s, or how long ago, such as 30d or 24h, not %q",
				now.Format(time.DateOnly), since)
		}
		from = now.Add(-ago)
	}
	if from.After(now) {
		return time.Time{}, fmt.Errorf("--since %s is in the future", since)
	}
	return from, nil
}

// usageReport is the result of telex usage. Scripts read a usageReport as JSON.
type usageReport struct {
	Since *time.Time      `json:"since"` // null: all stored usage
	Until time.Time       `json:"until"`
	By    []store.UsageBy `json:"by"`
	Rows  []usageLine     `json:"rows"`
	Total usageSum        `json:"total"`
}

// usageLine is one row of usage. usageLine contains only the requested dimensions.
type usageLine struct {
	Day          *string `json:"day,omitempty"`
	Person       *string `json:"person,omitempty"`
	Conversation *string `json:"conversation,omitempty"`
	Model        *string `json:"model,omitempty"`
	usageSum
}

type usageSum struct {
	Turns      int  `json:"turns"`
	Calls      int  `json:"calls"` // number of model calls
	Prompt     int  `json:"prompt_tokens"`
	Cached     int  `json:"cached_tokens"` // tokens of the prompt that the provider has read from its cache
	Completion int  `json:"completion_tokens"`
	Reasoning  int  `json:"reasoning_tokens"` // tokens of the completion that the model used for reasoning
	Estimated  bool `json:"estimated"`        // for at least one call, the provider reported no usage, so telex estimated it
}

// Usage writes the usage of turns: one row for each combination of the dimensions in o, and the total. A day begins at
// midnight in the machine's time zone. A daemon may use the store at the same time.
func Usage(ctx context.Context, env config.Env, out Output, o UsageOptions) (err error) {
	r, err := openReader(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	a, err := r.Account(ctx, store.AccountOptions{From: o.since, To: o.until, By: o.by, Zone: o.until.Location()})
	if err != nil {
		return err
	}
	if out.JSON {
		return out.json(usageOf(o, a))
	}
	if len(a.Rows) == 0 {
		remark := "No tokens were used yet."
		if !o.since.IsZero() {
			remark = "No tokens were used since " + localTime(o.since) + "."
		}
		_, err := fmt.Fprintln(out.Remarks, remark)
		return err
	}
	return out.table(usageTable(o.by, a)...)
}

func usageOf(o UsageOptions, a store.Account) usageReport {
	rep := usageReport{Until: o.until, By: o.by, Rows: []usageLine{}, Total: sumOf(a.Total)}
	if !o.since.IsZero() {
		rep.Since = &o.since
	}
	for _, r := range a.Rows {
		line := usageLine{usageSum: sumOf(r.Used)}
		for _, by := range o.by {
			value := usageKey(by, r)
			switch by {
			case store.ByDay:
				line.Day = &value
			case store.ByPerson:
				line.Person = &value
			case store.ByConversation:
				line.Conversation = &value
			case store.ByModel:
				line.Model = &value
			}
		}
		rep.Rows = append(rep.Rows, line)
	}
	return rep
}

func sumOf(u chat.Used) usageSum {
	return usageSum{
		Turns: u.Turns, Calls: u.Calls, Prompt: u.Prompt, Cached: u.Cached, Completion: u.Completion, Reasoning: u.Reasoning,
		Estimated: u.Estimated,
	}
}

// usageKey returns the value that a row has in one dimension.
func usageKey(by store.UsageBy, r store.AccountRow) string {
	switch by {
	case store.ByDay:
		return r.Day
	case store.ByPerson:
		if r.Person.User == "" { // usage of a deleted person
			r.Person.User = "-"
		}
		return r.Person.String()
	case store.ByConversation:
		if r.Conversation.Chat == "" { // usage of a deleted person in a conversation that only this person used
			r.Conversation.Chat = "-"
		}
		return r.Conversation.String()
	case store.ByModel:
		return r.Model
	}
	return ""
}

func usageTable(by []store.UsageBy, a store.Account) [][]string {
	var head []string
	for _, b := range by {
		head = append(head, strings.ToUpper(string(b)))
	}
	rows := [][]string{append(head, "TURNS", "CALLS", "PROMPT", "CACHED", "COMPLETION", "REASONING")}
	for _, r := range a.Rows {
		var row []string
		for _, b := range by {
			row = append(row, usageKey(b, r))
		}
		rows = append(rows, append(row, numbers(r.Used)...))
	}
	total := make([]string, len(by))
	total[0] = "TOTAL"
	return append(rows, append(total, numbers(a.Total)...))
}

// numbers formats the numbers of a row. If the numbers contain estimates, numbers says so.
func numbers(u chat.Used) []string {
	about := ""
	if u.Estimated {
		about = "~"
	}
	return []string{
		strconv.Itoa(u.Turns), strconv.Itoa(u.Calls), about + strconv.Itoa(u.Prompt), strconv.Itoa(u.Cached),
		about + strconv.Itoa(u.Completion), strconv.Itoa(u.Reasoning),
	}
}
