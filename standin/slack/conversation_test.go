package slack_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"telex/standin/slack"
)

func TestHistoryPages(t *testing.T) {
	t.Parallel()
	c := free(t)
	var want []string
	for i := range 7 {
		want = append(want, c.server.Say(slack.Incoming{Channel: channel, Text: strconv.Itoa(i)}))
	}
	if !slices.IsSorted(want) {
		t.Errorf("ts: got %v, want them in order", want)
	}
	thread := want[3]
	var replies []string
	for i := range 4 {
		replies = append(replies, c.server.Say(slack.Incoming{Channel: channel, Text: "r" + strconv.Itoa(i), Thread: thread}))
	}
	shared := c.server.Say(slack.Incoming{Channel: channel, Text: "both", Thread: thread, Broadcast: true})
	pages := func(method string, a args) []string {
		var found []string
		for {
			r := c.ok(method, a)
			for _, m := range r.Messages {
				found = append(found, m.TS)
			}
			if !r.HasMore {
				return found
			}
			a["cursor"] = r.Meta.Cursor
		}
	}
	newest := append(slices.Clone(want), shared)
	slices.Reverse(newest)
	if got := pages("conversations.history", args{"channel": channel, "limit": "3"}); !slices.Equal(got, newest) {
		t.Errorf("history: got %v, want %v", got, newest)
	}
	all := append(append([]string{thread}, replies...), shared)
	if got := pages("conversations.replies", args{"channel": channel, "ts": thread, "limit": "2"}); !slices.Equal(got, all) {
		t.Errorf("replies: got %v, want %v", got, all)
	}
	if got := pages("conversations.history", args{"channel": channel, "oldest": want[4], "latest": want[6]}); !slices.Equal(got, want[5:6]) {
		t.Errorf("period: got %v, want %v", got, want[5:6])
	}
	if got := pages("conversations.history", args{"channel": channel, "oldest": want[4], "latest": want[5], "inclusive": "true"}); len(got) != 2 {
		t.Errorf("inclusive: got %v, want two", got)
	}
	if got := pages("conversations.replies", args{"channel": channel, "ts": thread, "oldest": replies[2]}); !slices.Equal(got, []string{thread, replies[3], shared}) {
		t.Errorf("replies since: got %v", got)
	}
	r := c.ok("conversations.replies", args{"channel": channel, "ts": thread})
	if r.Messages[0].ReplyCount != 5 {
		t.Errorf("parent: got %+v, want 5 replies", r.Messages[0])
	}
	c.server.Delete(channel, thread)
	r = c.ok("conversations.replies", args{"channel": channel, "ts": thread})
	if r.Messages[0].Subtype != "tombstone" || len(r.Messages) != 6 {
		t.Errorf("without its parent: got %+v", r.Messages)
	}
}

// TestHistoryScopes checks that reading each kind of channel needs a different scope.
func TestHistoryScopes(t *testing.T) {
	t.Parallel()
	places := map[string]string{"C1": "channels:history", "D1": "im:history", "G1": "mpim:history", "G9": "groups:history"}
	for id, scope := range places {
		c := start(t, slack.Options{Scopes: []string{scope}})
		c.server.SetChannel(slack.Channel{ID: "G9", Kind: slack.KindPrivate})
		for other, needed := range places {
			c.server.Say(slack.Incoming{Channel: other, Text: "x"})
			if r := c.call("conversations.history", args{"channel": other}); r.OK != (other == id) || (!r.OK && r.Needed != needed) {
				t.Errorf("%s with %s: got %s", other, scope, r.Raw)
			}
		}
	}
}

func TestListChannels(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.server.SetUser(slack.User{ID: "U1", Name: "ann"})
	c.server.SetUser(slack.User{ID: "U2", Name: "bob"})
	for _, tc := range []struct{ users, want string }{{"U1", `"id":"D1"`}, {"U2,U1", `"is_mpim":true`}} {
		if r := c.ok("conversations.open", args{"users": tc.users}); !strings.Contains(r.Raw, tc.want) {
			t.Errorf("open %s: got %s, want %s", tc.users, r.Raw, tc.want)
		}
	}
	if r := c.ok("conversations.info", args{"channel": "D1"}); !strings.Contains(r.Raw, `"user":"U1"`) {
		t.Errorf("info: got %s", r.Raw)
	}
	if r := c.ok("users.info", args{"user": "U1"}); !strings.Contains(r.Raw, `"display_name":"ann"`) {
		t.Errorf("user: got %s", r.Raw)
	}
	if r := c.ok("auth.test", nil); !strings.Contains(r.Raw, `"user_id":"`+slack.BotUser+`"`) {
		t.Errorf("auth.test: got %s", r.Raw)
	}
	ts := c.server.Say(slack.Incoming{Channel: "C5", User: "U1", Text: "x"})
	if r := c.ok("chat.getPermalink", args{"channel": "C5", "message_ts": ts}); !strings.Contains(r.Raw, "/archives/C5/p"+strings.Replace(ts, ".", "", 1)) {
		t.Errorf("permalink: got %s", r.Raw)
	}
}

func TestUserChannels(t *testing.T) {
	t.Parallel()
	c := free(t)
	for _, info := range []slack.Channel{
		{ID: "C1"}, {ID: "C2", BotOut: true}, {ID: "C3", Archived: true}, {ID: "C4", Kind: slack.KindPrivate}, {ID: "D5"}, {ID: "G6"},
	} {
		c.server.SetChannel(info)
	}
	list := func(a args) (ids []string, next string) {
		t.Helper()
		r := c.ok("users.conversations", a)
		var body struct {
			Channels []struct {
				ID string `json:"id"`
				IM bool   `json:"is_im"`
			} `json:"channels"`
		}
		if err := json.Unmarshal([]byte(r.Raw), &body); err != nil {
			t.Fatal(err)
		}
		for _, one := range body.Channels {
			ids = append(ids, one.ID)
			if one.IM != (one.ID[0] == 'D') {
				t.Errorf("%s is a direct message: %t", one.ID, one.IM)
			}
		}
		return ids, r.Meta.Cursor
	}
	if got, _ := list(args{}); !slices.Equal(got, []string{"C1", "C3"}) {
		t.Errorf("by default: got %v", got)
	}
	all := args{"types": "public_channel, private_channel,im,mpim", "exclude_archived": "true", "limit": "3"}
	got, next := list(all)
	if !slices.Equal(got, []string{"C1", "C4", "D5"}) || next == "" {
		t.Errorf("first page: got %v, %q", got, next)
	}
	all["cursor"] = next
	if got, next := list(all); !slices.Equal(got, []string{"G6"}) || next != "" {
		t.Errorf("second page: got %v, %q", got, next)
	}
	for _, a := range []args{{"limit": "0"}, {"cursor": "?"}} {
		if r := c.call("users.conversations", a); r.OK {
			t.Errorf("%v: got %s", a, r.Raw)
		}
	}
}
