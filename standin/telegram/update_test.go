package telegram_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/telegram"
)

func texts(list []update) []string {
	var all []string
	for _, u := range list {
		if u.Message != nil {
			all = append(all, u.Message.Text)
		}
	}
	return all
}

func TestOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{})
		for i := range 5 {
			c.server.Say(telegram.Incoming{Chat: person, Text: strconv.Itoa(i)})
		}
		first := c.call("getUpdates", nil).updates(t)[0].UpdateID
		steps := []struct {
			offset, limit string
			want          []string
		}{
			{"", "2", []string{"0", "1"}},
			{"0", "", []string{"0", "1", "2", "3", "4"}},
			{strconv.Itoa(first + 1), "1", []string{"1"}},
			{strconv.Itoa(first), "1", []string{"1"}}, // confirmed updates must not be returned again
			{"-2", "", []string{"3", "4"}},
			{"", "", []string{"3", "4"}}, // the negative offset must discard older updates
			{strconv.Itoa(first + 5), "", nil},
		}
		for i, s := range steps {
			if got := texts(c.call("getUpdates", args{"offset": s.offset, "limit": s.limit}).updates(t)); !slices.Equal(got, s.want) {
				t.Errorf("step %d: got %q, want %q", i, got, s.want)
			}
		}
		c.server.Say(telegram.Incoming{Chat: person, Text: "old"})
		pause(25 * time.Hour)
		if got := c.call("getUpdates", nil).updates(t); len(got) != 0 {
			t.Errorf("after a day: got %+v, want nothing", got)
		}
	})
}

func TestLongPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{})
		for _, tc := range []struct {
			timeout string
			want    time.Duration
		}{{"", 0}, {"7", 7 * time.Second}, {"600", 50 * time.Second}} {
			began := time.Now()
			if list := c.call("getUpdates", args{"timeout": tc.timeout}).updates(t); len(list) != 0 || time.Since(began) != tc.want {
				t.Errorf("timeout %q: got %d updates after %v, want none after %v", tc.timeout, len(list), time.Since(began), tc.want)
			}
		}
		// The client ends its poll early. No update may get lost because of the poll's early end.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r := c.callContext(ctx, "getUpdates", args{"timeout": "30"}); !errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("given up: got %v, want %v", r.Err, context.DeadlineExceeded)
		}
		c.server.Say(telegram.Incoming{Chat: person, Text: "kept"})
		if got := texts(c.call("getUpdates", args{"timeout": "30"}).updates(t)); !slices.Equal(got, []string{"kept"}) {
			t.Errorf("next poll: got %q, want kept", got)
		}
	})
}

// Failure F55: the bot makes two polls at the same time. The older poll must get an error.
func TestConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, telegram.Options{})
		older := make(chan reply, 1)
		go func() { older <- c.call("getUpdates", args{"timeout": "30"}) }()
		pause(time.Second)
		began := time.Now()
		if r := c.call("getUpdates", args{"timeout": "5"}); !r.OK || time.Since(began) != 5*time.Second {
			t.Errorf("younger poll: got %s after %v, want ok after 5s", r.Raw, time.Since(began))
		}
		want := "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
		if r := <-older; r.Status != 409 || r.Description != want {
			t.Errorf("older poll: got %d %q, want 409 %q", r.Status, r.Description, want)
		}
		c.call("setWebhook", args{"url": "https://a.org/hook", "secret_token": "x_-1"})
		want = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
		if r := c.call("getUpdates", nil); r.Status != 409 || r.Description != want {
			t.Errorf("with a webhook: got %d %q, want 409 %q", r.Status, r.Description, want)
		}
		c.server.Say(telegram.Incoming{Chat: person, Text: "dropped"})
		c.call("deleteWebhook", args{"drop_pending_updates": "true"})
		if got := c.call("getUpdates", nil).updates(t); len(got) != 0 {
			t.Errorf("after deleteWebhook: got %+v, want nothing", got)
		}
		if st := c.server.Stats(); st.Conflicts != 2 {
			t.Errorf("conflicts: got %d, want 2", st.Conflicts)
		}
	})
}

func TestAllowedUpdates(t *testing.T) {
	t.Parallel()
	c := free(t)
	count := func() int { return len(c.call("getUpdates", args{"offset": "0"}).updates(t)) }
	drop := func() { c.call("deleteWebhook", args{"drop_pending_updates": "true"}) }
	c.call("getUpdates", args{"allowed_updates": `["callback_query"]`})
	drop()
	c.server.Say(telegram.Incoming{Chat: person, Text: "unwanted"})
	if got := count(); got != 0 {
		t.Errorf("messages not allowed: got %d updates, want 0", got)
	}
	c.call("getUpdates", args{"allowed_updates": `[]`})
	c.server.Say(telegram.Incoming{Chat: person, Text: "wanted"})
	if got := count(); got != 1 {
		t.Errorf("default set: got %d updates, want 1", got)
	}
	if r := c.call("getUpdates", args{"allowed_updates": `message`}); r.Status != 400 {
		t.Errorf("no list: got %s, want 400", r.Raw)
	}
}

func TestPrivacy(t *testing.T) {
	t.Parallel()
	const group, forum = -1001, -1000000000002
	cases := []struct {
		name    string
		in      telegram.Incoming
		readAll bool
		admin   bool
		want    bool
	}{
		{name: "private", in: telegram.Incoming{Chat: person, Text: "x"}, want: true},
		{name: "plain", in: telegram.Incoming{Chat: group, Text: "x"}},
		{name: "mention", in: telegram.Incoming{Chat: group, Text: "x @Telex_Bot?"}, want: true},
		{name: "longer name", in: telegram.Incoming{Chat: group, Text: "x @telex_bot2"}},
		{name: "general command", in: telegram.Incoming{Chat: group, Text: "/help me"}, want: true},
		{name: "own command", in: telegram.Incoming{Chat: group, Text: "/help@telex_bot"}, want: true},
		{name: "foreign command", in: telegram.Incoming{Chat: group, Text: "/help@other_bot"}},
		{name: "reply to the bot", in: telegram.Incoming{Chat: group, Text: "x", ReplyTo: 2}, want: true},
		{name: "reply to a person", in: telegram.Incoming{Chat: group, Text: "x", ReplyTo: 1}},
		{name: "caption", in: telegram.Incoming{Chat: group, Text: "@telex_bot what is it", Attachment: telegram.Attachment{Media: "photo"}}, want: true},
		{name: "topic", in: telegram.Incoming{Chat: forum, ThreadID: 3, Text: "x"}},
		{name: "privacy off", in: telegram.Incoming{Chat: group, Text: "x"}, readAll: true, want: true},
		{name: "admin", in: telegram.Incoming{Chat: group, Text: "x"}, admin: true, want: true},
		{name: "bot", in: telegram.Incoming{Chat: group, User: 9, IsBot: true, Text: "x"}, readAll: true},
		{name: "bot with a general command", in: telegram.Incoming{Chat: group, User: 9, IsBot: true, Text: "/x"}, readAll: true},
		{name: "bot with an own command", in: telegram.Incoming{Chat: group, User: 9, IsBot: true, Text: "/x@telex_bot"}, want: true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, telegram.Options{ReadAll: tc.readAll})
			c.server.Say(telegram.Incoming{Chat: group, Text: "first"})
			c.call("sendMessage", args{"chat_id": strconv.Itoa(group), "text": "second"})
			c.server.SetAdmin(group, tc.admin)
			before := c.server.Stats().Pending
			c.server.Say(tc.in)
			if got := c.server.Stats().Pending > before; got != tc.want {
				t.Errorf("seen: got %v, want %v", got, tc.want)
			}
		})
	}
}
