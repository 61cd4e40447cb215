package slack_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/slack"
)

func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		asked := c.server.Say(slack.Incoming{Text: "question"})
		if r := c.call("chat.startStream", args{"channel": direct}); r.Error != "invalid_thread_ts" {
			t.Errorf("without a thread: got %s", r.Raw)
		}
		ts := c.ok("chat.startStream", args{"channel": direct, "thread_ts": asked, "markdown_text": "One"}).TS
		c.ok("chat.appendStream", args{"channel": direct, "ts": ts, "markdown_text": " two"})
		c.ok("chat.appendStream", args{"channel": direct, "ts": ts, "chunks": `[{"type":"markdown_text","text":" three"},{"type":"task_update","id":"1","title":"Search","status":"in_progress"}]`})
		if got := c.shown(direct, ts); got != "One two three" {
			t.Errorf("got %q", got)
		}
		stop := `[{"type":"actions","elements":[{"type":"button","action_id":"again","text":{"type":"plain_text","text":"Again"}}]}]`
		c.ok("chat.stopStream", args{
			"channel": direct, "ts": ts, "markdown_text": ".", "blocks": stop, "metadata": `{"event_type":"a","event_payload":{}}`,
			"chunks": `[{"type":"task_update","id":"1","title":"Search","status":"complete"}]`,
		})
		history := c.server.History(direct)
		m := history[len(history)-1]
		v := m.Last()
		if v.Markdown != "One two three." || v.Streaming || v.Broken || len(v.Buttons) != 1 || len(v.Tasks) != 1 || v.Tasks[0].Status != "complete" || v.Metadata == nil {
			t.Errorf("stopped: got %+v", v)
		}
		if !m.Versions[0].Streaming || m.ThreadTS != asked {
			t.Errorf("started: got %+v", m.Versions[0])
		}
		for _, method := range []string{"chat.appendStream", "chat.stopStream"} {
			if r := c.call(method, args{"channel": direct, "ts": ts, "markdown_text": "x"}); r.Error != "message_not_in_streaming_state" {
				t.Errorf("%s after the stop: got %s", method, r.Raw)
			}
		}
		c.ok("chat.update", args{"channel": direct, "ts": ts, "markdown_text": "mended"})
	})
}

// A message streams for more than five minutes. After five minutes, the message must look broken until an update
// repairs it.
func TestStreamExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		asked := c.server.Say(slack.Incoming{Text: "question"})
		ts := c.ok("chat.startStream", args{"channel": direct, "thread_ts": asked, "markdown_text": "Head"}).TS
		began := time.Now()
		pause(5*time.Minute - 1)
		c.ok("chat.appendStream", args{"channel": direct, "ts": ts, "markdown_text": " tail"})
		pause(1)
		for _, method := range []string{"chat.appendStream", "chat.stopStream"} {
			if r := c.call(method, args{"channel": direct, "ts": ts, "markdown_text": "x"}); r.Error != "message_not_in_streaming_state" {
				t.Errorf("%s after five minutes: got %s", method, r.Raw)
			}
		}
		look := func(at time.Time) slack.Version {
			list := c.server.View(direct, at)
			return list[len(list)-1].Last()
		}
		if v := look(began.Add(4 * time.Minute)); !v.Streaming || v.Broken || v.Shown != "Head" {
			t.Errorf("before: got %+v", v)
		}
		if v := look(time.Now()); v.Streaming || !v.Broken || v.Shown != "Head tail" {
			t.Errorf("after: got %+v", v)
		}
		pause(time.Minute)
		c.ok("chat.update", args{"channel": direct, "ts": ts, "text": "whole"})
		if v := look(time.Now()); v.Broken || v.Shown != "whole" {
			t.Errorf("mended: got %+v", v)
		}
	})
}

func TestChunks(t *testing.T) {
	t.Parallel()
	c := free(t)
	asked := c.server.Say(slack.Incoming{Text: "question"})
	ts := c.ok("chat.startStream", args{"channel": direct, "thread_ts": asked}).TS
	for _, tc := range []struct{ chunks, want string }{
		{`{`, "invalid_chunks"},
		{`[]`, "no_text"},
		{`[{"type":"task_update","id":"1","title":"t","status":"lost"}]`, "invalid_chunks"},
		{`[{"type":"task_update","title":"t","status":"pending"}]`, "invalid_chunks"},
		{`[{"type":"plan_update"}]`, "invalid_chunks"},
		{`[{"type":"markdown_text","text":"` + strings.Repeat("x", 12_001) + `"}]`, "msg_too_long"},
		{`[{"type":"blocks","blocks":[{"type":"carousel"}]}]`, "invalid_blocks"},
		{`[{"type":"plan_update","title":"p"},{"type":"markdown_text","text":"a"}]`, ""},
		{`[{"type":"blocks","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"below"}}]}]`, ""},
	} {
		if r := c.call("chat.appendStream", args{"channel": direct, "ts": ts, "chunks": tc.chunks}); r.Error != tc.want {
			t.Errorf("%.80s: got %.200s, want %q", tc.chunks, r.Raw, tc.want)
		}
	}
	if got := c.shown(direct, ts); got != "a\nbelow" {
		t.Errorf("shown: got %q", got)
	}
	if r := c.call("chat.stopStream", args{"channel": direct, "ts": ts, "metadata": "x"}); r.Error != "invalid_metadata_format" {
		t.Errorf("metadata: got %s", r.Raw)
	}
	if r := c.call("chat.stopStream", args{"channel": direct, "ts": asked}); r.OK {
		t.Errorf("a person's message: got %s", r.Raw)
	}
}

// The app streams more text than the blocks of a message may contain. The server must refuse the call that exceeds this
// limit.
func TestStreamLength(t *testing.T) {
	t.Parallel()
	c := free(t)
	asked := c.server.Say(slack.Incoming{Text: "question"})
	ts := c.ok("chat.startStream", args{"channel": direct, "thread_ts": asked, "markdown_text": strings.Repeat("x", 12_000)}).TS
	c.ok("chat.appendStream", args{"channel": direct, "ts": ts, "markdown_text": strings.Repeat("x", 1_200)})
	if r := c.call("chat.appendStream", args{"channel": direct, "ts": ts, "markdown_text": "x"}); r.Error != "msg_blocks_too_long" {
		t.Errorf("got %s, want msg_blocks_too_long", r.Raw)
	}
}
