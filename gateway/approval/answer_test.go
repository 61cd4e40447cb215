package approval_test

import (
	"strings"
	"testing"

	"telex/agent"
	"telex/gateway/approval"
)

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		verdict agent.Verdict
		args    string
		want    approval.Answer
	}{
		{agent.Approved, "", approval.Answer{Verdict: agent.Approved}},
		{agent.Approved, "ab3de", approval.Answer{Verdict: agent.Approved, ID: "ab3de"}},
		{agent.Approved, "ab3de Always", approval.Answer{Verdict: agent.Approved, ID: "ab3de", Always: true}},
		{agent.Approved, "show ab3de", approval.Answer{Verdict: agent.Approved, ID: "ab3de", Show: true}},
		{agent.Denied, "always", approval.Answer{Verdict: agent.Denied, ID: "always"}}, // a denial is for this call only, so "always" is read as an id
	} {
		if got := approval.ParseAnswer(c.verdict, strings.Fields(c.args)); got != c.want {
			t.Errorf("%q: got %+v, want %+v", c.args, got, c.want)
		}
	}
	for action, want := range map[string]approval.Answer{
		"approve:ab3de": {ID: "ab3de", Verdict: agent.Approved},
		"always:ab3de":  {ID: "ab3de", Verdict: agent.Approved, Always: true},
		"deny:ab3de":    {ID: "ab3de", Verdict: agent.Denied},
		"stop:ab3de":    {},
	} {
		if got, ok := approval.Pressed(action); got != want || ok != (want != approval.Answer{}) {
			t.Errorf("%s: got %+v, %t", action, got, ok)
		}
	}
	p := &approval.Proposal{ID: "ab3de"}
	if got := approval.Buttons(p, "yes", "no", "always"); len(got) != 2 || got[0].ID != "approve:ab3de" || got[1].ID != "deny:ab3de" {
		t.Errorf("buttons %+v", got)
	}
	p.Standing = true
	if got := approval.Buttons(p, "yes", "no", "always"); len(got) != 3 || got[2].ID != "always:ab3de" || got[2].Label != "always" {
		t.Errorf("buttons %+v", got)
	}
	for args, want := range map[string]bool{"": true, "ab3de": true, "AB3DE always": true, "of it": false, "the plan": false} {
		if got := approval.IsPlain(strings.Fields(args)); got != want {
			t.Errorf("approve %q is a command: %t, want %t", args, got, want)
		}
	}
}

func TestYesAndNo(t *testing.T) {
	for said, want := range map[string]string{
		"Ja, bitte!": "yes", "👍🏽": "yes", "yes👍": "yes", "d’accord": "yes", "no thanks": "no", "🚫": "no", "yes no": "",
		"yes?": "", "please": "", "okra": "", "yes\nand delete the rest": "", "": "",
	} {
		got := ""
		if approval.SaysYes(approval.YesWords, said) {
			got = "yes"
		}
		if approval.SaysNo(approval.NoWords, said) {
			got += "no"
		}
		if got != want {
			t.Errorf("%q means %q, want %q", said, got, want)
		}
	}
	if !approval.SaysYes("aye, do it", "Aye!") || approval.SaysYes("aye", "yes") {
		t.Error("words of the configuration do not count")
	}
}
