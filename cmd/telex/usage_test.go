package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/telegram"
)

// telex usage must group and sum the usage, both while a daemon runs and while none runs.
func TestUsage(t *testing.T) {
	t.Parallel()
	const group, bob = -2002, 1002
	w := newWorld(t, telegram.Options{}, openai.Options{})
	s := newState(t)
	daemon := w.daemon(sections{access: `{default: allow}`}, s.env)
	stdout, stderr := s.command(t, exitDone, "usage")
	if stdout != "" || stderr != "No tokens were used yet.\n" {
		t.Errorf("stdout %q, stderr %q, want a remark alone", stdout, stderr)
	}
	w.ask("say: one")
	daemon.awaitLog("turn ended", 1)
	w.telegram.Say(telegram.Incoming{Chat: group, User: ada, Text: mentionsUs + "say: two"})
	daemon.awaitLog("turn ended", 2)
	w.telegram.Say(telegram.Incoming{Chat: group, User: bob, Text: mentionsUs + "{{standin usage=off}} say: three"})
	ended := daemon.awaitLog("turn ended", 3)
	tokens := 0
	for _, line := range ended {
		n, _ := line["prompt_tokens"].(float64)
		tokens += int(n)
	}
	for _, running := range []bool{true, false} {
		if !running {
			daemon.stop()
		}
		stdout, stderr = s.command(t, exitDone, "usage", "--since", "1d")
		lines := strings.Split(stdout, "\n")
		if stderr != "" || len(lines) != 6 || !slices.Equal(strings.Fields(lines[0]), []string{
			"DAY", "PERSON", "CONVERSATION", "MODEL", "TURNS", "CALLS", "PROMPT", "CACHED", "COMPLETION", "REASONING",
		}) {
			t.Fatalf("running %t: stdout\n%s\nstderr %q", running, stdout, stderr)
		}
		for i, who := range []string{
			"telegram:user:1001 telegram:-2002 main 1 1", "telegram:user:1001 telegram:1001 main 1 1",
			"telegram:user:1002 telegram:-2002 main 1 1 ~",
		} {
			if got := strings.Join(strings.Fields(lines[i+1]), " "); !strings.Contains(got, time.Now().Format("2006-01-")) || !strings.Contains(got, who) {
				t.Errorf("line %d: got %q, want %q", i+1, got, who)
			}
		}
		if got := strings.Join(strings.Fields(lines[4]), " "); !strings.HasPrefix(got, fmt.Sprintf("TOTAL 3 3 ~%d ", tokens)) {
			t.Errorf("got %q, want the %d tokens of the log", got, tokens)
		}
		stdout, _ = s.command(t, exitDone, "usage", "--by", "person", "--json")
		var bill struct {
			Since *time.Time
			Until time.Time
			By    []string
			Rows  []struct {
				Day, Person *string
				Turns       int
				Prompt      int `json:"prompt_tokens"`
			}
			Total struct {
				Turns, Calls int
				Prompt       int `json:"prompt_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(stdout), &bill); err != nil || bill.Since != nil || bill.Until.IsZero() || len(bill.Rows) != 2 ||
			bill.Rows[0].Day != nil || *bill.Rows[0].Person != "telegram:user:1001" || bill.Rows[0].Turns != 2 || bill.Rows[1].Turns != 1 ||
			bill.Total.Turns != 3 || bill.Total.Calls != 3 || bill.Total.Prompt != tokens {
			t.Errorf("got %s, %v", stdout, err)
		}
	}
}

func TestUsageBadInput(t *testing.T) {
	t.Parallel()
	s := made(t)
	const hint = "\nRun 'telex usage --help' for usage\n"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--since", "last week"}, `or how long ago, such as 30d or 24h, not "last week"` + hint},
		{[]string{"--since", "2999-01-01"}, "telex: --since 2999-01-01 is in the future" + hint},
		{[]string{"--since", ""}, "telex: --since needs a date or how long ago" + hint},
		{[]string{"--by", "user"}, `telex: --by takes day, person, conversation and model, not "user"; several are separated by commas, such as person,day` + hint},
		{[]string{"--by", ""}, "telex: --by needs at least one of day, person, conversation and model" + hint},
		{[]string{"--by"}, "flag needs an argument: --by" + hint},
		{[]string{"everything"}, `unknown command or argument "everything"`},
	} {
		stdout, stderr := s.command(t, exitUsage, append([]string{"usage"}, c.args...)...)
		if stdout != "" {
			t.Errorf("%q: stdout %q", c.args, stdout)
		}
		wantText(t, strings.Join(c.args, " "), stderr, c.want)
	}
	_, stderr := newState(t).command(t, exitFailed, "usage")
	wantText(t, "without a store", stderr, "there is no store at ")
}
