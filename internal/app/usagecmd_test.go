package app

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/internal/chat"
	"telex/internal/store"
)

func TestParseUsage(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -5*3600)
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, zone)
	for _, tt := range []struct {
		since string
		want  time.Time
		fails string
	}{
		{"", time.Time{}, ""},
		{"2026-03-01", time.Date(2026, 3, 1, 0, 0, 0, 0, zone), ""},
		{"2026-03-04", time.Date(2026, 3, 4, 0, 0, 0, 0, zone), ""},
		{"24h", now.Add(-24 * time.Hour), ""},
		{"30d", now.Add(-30 * 24 * time.Hour), ""},
		{"1d12h", now.Add(-36 * time.Hour), ""},
		{"2026-03-05", time.Time{}, "--since 2026-03-05 is in the future"},
		{"2026-02-30", time.Time{}, `--since takes a date, such as 2026-03-04, or how long ago, such as 30d or 24h, not "2026-02-30"`},
		{"yesterday", time.Time{}, `not "yesterday"`},
		{"30", time.Time{}, `not "30"`},
		{"0s", time.Time{}, `not "0s"`},
		{"-24h", time.Time{}, `not "-24h"`},
		{"9999999d", time.Time{}, `not "9999999d"`},
	} {
		o, err := ParseUsage(tt.since, nil, now)
		switch {
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%q: got %v, want %q", tt.since, err, tt.fails)
			}
		case err != nil || !o.since.Equal(tt.want) || !o.until.Equal(now):
			t.Errorf("%q: got %+v, %v, want %v", tt.since, o, err, tt.want)
		}
	}
	for _, tt := range []struct {
		by, want []string
		fails    string
	}{
		{nil, []string{"day", "person", "conversation", "model"}, ""},
		{[]string{"model"}, []string{"model"}, ""},
		{[]string{"person", " day", "person"}, []string{"person", "day"}, ""},
		{[]string{}, nil, "--by needs at least one of day, person, conversation and model"},
		{[]string{"user"}, nil, `--by takes day, person, conversation and model, not "user"; several are separated by commas, such as person,day`},
		{[]string{"day", ""}, nil, `not ""`},
	} {
		o, err := ParseUsage("", tt.by, now)
		var got []string
		for _, by := range o.by {
			got = append(got, string(by))
		}
		if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) || !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, %v, want %q, %q", tt.by, got, err, tt.want, tt.fails)
		}
	}
}

// bill returns an account with two rows, grouped by person and day, and the options with which telex usage produces such an
// account.
func bill() (UsageOptions, store.Account) {
	o := UsageOptions{until: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), by: []store.UsageBy{store.ByPerson, store.ByDay}}
	sure := chat.Used{Usage: chat.Usage{Prompt: 100, Cached: 20, Completion: 30, Reasoning: 4, Calls: 2}, Turns: 1}
	about := chat.Used{Usage: chat.Usage{Prompt: 7, Completion: 8, Calls: 1, Estimated: true}, Turns: 1}
	total := chat.Used{Usage: chat.Usage{Prompt: 107, Cached: 20, Completion: 38, Reasoning: 4, Calls: 3, Estimated: true}, Turns: 2}
	return o, store.Account{Total: total, Rows: []store.AccountRow{
		{Day: "2026-03-01", Person: chat.Person{Endpoint: "telegram"}, Used: sure},
		{Day: "2026-03-02", Person: chat.Person{Endpoint: "telegram", User: "\x1b[31m5"}, Used: about},
	}}
}

func TestUsageTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o, a := bill()
	if err := (Output{Results: &out}).table(usageTable(o.by, a)...); err != nil {
		t.Fatal(err)
	}
	want := `
PERSON             DAY         TURNS  CALLS  PROMPT  CACHED  COMPLETION  REASONING
telegram:user:-    2026-03-01  1      2      100     20      30          4
telegram:user:[31m5  2026-03-02  1      1      ~7      0       ~8          0
TOTAL                          2      3      ~107    20      ~38         4
`
	fold := func(s string) string { // folds white space, so that the widths of columns do not matter
		var lines []string
		for line := range strings.Lines(strings.TrimSpace(s)) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(lines, "\n")
	}
	if got := fold(out.String()); got != fold(want) {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestUsageForScripts(t *testing.T) {
	t.Parallel()
	o, a := bill()
	o.since = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	got, err := json.Marshal(usageOf(o, a))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"since":"2026-03-01T00:00:00Z","until":"2026-03-04T00:00:00Z","by":["person","day"],"rows":[
{"day":"2026-03-01","person":"telegram:user:-","turns":1,"calls":2,"prompt_tokens":100,"cached_tokens":20,"completion_tokens":30,"reasoning_tokens":4,"estimated":false},
{"day":"2026-03-02","person":"telegram:user:\u001b[31m5","turns":1,"calls":1,"prompt_tokens":7,"cached_tokens":0,"completion_tokens":8,"reasoning_tokens":0,"estimated":true}],
"total":{"turns":2,"calls":3,"prompt_tokens":107,"cached_tokens":20,"completion_tokens":38,"reasoning_tokens":4,"estimated":true}}`
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	none, err := json.Marshal(usageOf(UsageOptions{by: o.by}, store.Account{}))
	if err != nil || !strings.Contains(string(none), `"since":null`) || !strings.Contains(string(none), `"rows":[]`) {
		t.Errorf("of nothing: got %s, %v", none, err)
	}
}
