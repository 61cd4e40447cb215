package slack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"telex/standin/slack"
)

// heard reads n envelopes from a socket and describes each: type, subtype, channel type.
func heard(k *socket, n int) []string {
	k.t.Helper()
	var list []string
	for range n {
		e := k.take().Payload.Event
		list = append(list, strings.TrimRight(fmt.Sprintf("%s/%s/%s", e.Type, e.Subtype, e.ChannelType), "/"))
	}
	slices.Sort(list)
	return list
}

// TestEvents checks that the app receives events for people's messages and for its own messages, and two events for a
// mention.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		k := c.socket()
		c.server.SetChannel(slack.Channel{ID: "G9", Kind: slack.KindPrivate})
		mention := "<@" + slack.BotUser + "> hello"
		var own, said string
		steps := []struct {
			name string
			do   func()
			want []string
		}{
			{"direct", func() { c.server.Say(slack.Incoming{Text: mention}) }, []string{"message//im"}},
			{"channel", func() { c.server.Say(slack.Incoming{Channel: channel, Text: "hello"}) }, []string{"message//channel"}},
			{"mention", func() { said = c.server.Say(slack.Incoming{Channel: channel, Text: mention}) }, []string{"app_mention", "message//channel"}},
			{"private", func() { c.server.Say(slack.Incoming{Channel: "G9", Text: mention}) }, []string{"app_mention", "message//group"}},
			{"several people", func() { c.server.Say(slack.Incoming{Channel: "G1", Text: "hello"}) }, []string{"message//mpim"}},
			{"another bot", func() { c.server.Say(slack.Incoming{Channel: channel, Text: "hello", Bot: "WEATHER"}) }, []string{"message/bot_message/channel"}},
			{"file", func() {
				c.server.Say(slack.Incoming{Channel: channel, Files: []slack.Attachment{{Name: "a.txt", Content: []byte("x")}}})
			}, []string{"message/file_share/channel"}},
			{"own", func() { own = c.ok("chat.postMessage", args{"channel": channel, "text": mention}).TS }, []string{"message//channel"}},
			{"own edit", func() { c.ok("chat.update", args{"channel": channel, "ts": own, "text": "x"}) }, []string{"message/message_changed/channel"}},
			{"edit", func() { c.server.Edit(channel, said, mention+"!") }, []string{"message/message_changed/channel"}},
			{"deleted", func() { c.server.Delete(channel, own) }, []string{"message/message_deleted/channel"}},
			{"in a thread", func() { c.server.Say(slack.Incoming{Channel: channel, Thread: said, Broadcast: true, Text: "x"}) }, []string{"message/thread_broadcast/channel"}},
			{"bot out", func() { c.server.RemoveBot(channel); c.server.Say(slack.Incoming{Channel: channel, Text: mention}) }, nil},
			{"bot in", func() { c.server.AddBot(channel) }, []string{"member_joined_channel//C"}},
			{"archived", func() { c.server.Archive(channel, true); c.server.Say(slack.Incoming{Channel: channel, Text: mention}) }, []string{"channel_archive"}},
		}
		for _, step := range steps {
			step.do()
			synctest.Wait()
			got := heard(k, c.server.Stats().Pending)
			synctest.Wait()
			if !slices.Equal(got, step.want) {
				t.Errorf("%s: got %v, want %v", step.name, got, step.want)
			}
		}
	})
}

func TestMentionHasOneTS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		k := c.socket()
		ts := c.server.Say(slack.Incoming{Channel: channel, Text: "hey <@" + slack.BotUser + ">"})
		first, second := k.take(), k.take()
		if first.Payload.Event.TS != ts || second.Payload.Event.TS != ts || first.Payload.EventID == second.Payload.EventID {
			t.Errorf("got %+v and %+v, want one ts in two events", first, second)
		}
		quiet := start(t, slack.Options{Subscriptions: []string{"app_mention"}})
		k = quiet.socket()
		quiet.server.Say(slack.Incoming{Text: "not subscribed"})
		quiet.server.Say(slack.Incoming{Channel: channel, Text: "<@" + slack.BotUser + ">"})
		if e := k.take(); e.Payload.Event.Type != "app_mention" {
			t.Errorf("subscribed to app_mention only: got %+v", e)
		}
	})
}

func TestSayRefused(t *testing.T) {
	t.Parallel()
	c := free(t)
	c.server.SetChannel(slack.Channel{ID: "C8", Archived: true})
	for _, in := range []slack.Incoming{{}, {Channel: "C8", Text: "x"}, {Channel: channel, Text: "x", Thread: "1.000001"}} {
		if ts := c.server.Say(in); ts != "" {
			t.Errorf("%+v: got %s, want nothing", in, ts)
		}
	}
	own := c.ok("chat.postMessage", args{"channel": channel, "text": "x"}).TS
	if c.server.Edit(channel, own, "y") || c.server.Edit(channel, "1.000001", "y") || c.server.Delete("C404", own) {
		t.Error("a person edited what is the bot's, or what is not there")
	}
}
