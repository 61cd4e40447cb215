package slack_test

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/standin/slack"
)

func TestAssistant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		k := c.socket()
		thread := c.server.OpenAssistant("U7")
		k.take() // the message that starts the thread
		if e := k.take(); e.Payload.Event.Type != "assistant_thread_started" || e.Payload.Event.Assistant.ThreadTS != thread {
			t.Errorf("got %+v", e)
		}
		zero := time.Now()
		status := func() string {
			if list := c.server.Screen("D7", time.Now()).Statuses; len(list) == 1 && list[0].Thread == thread {
				return list[0].Text
			}
			return ""
		}
		set := args{"channel_id": "D7", "thread_ts": thread, "status": "is thinking…"}
		c.ok("assistant.threads.setStatus", set)
		c.ok("assistant.threads.setTitle", args{"channel_id": "D7", "thread_ts": thread, "title": "Whales"})
		pause(2*time.Minute - 1)
		if got := status(); got != "is thinking…" {
			t.Errorf("after %v: got %q", time.Since(zero), got)
		}
		pause(1)
		if got := status(); got != "" {
			t.Errorf("after two minutes: got %q, want none", got)
		}
		c.ok("assistant.threads.setStatus", set)
		c.ok("chat.postMessage", args{"channel": "D7", "thread_ts": thread, "text": "answer"})
		if got := status(); got != "" {
			t.Errorf("after an answer: got %q, want none", got)
		}
		h := c.server.Chronicle("D7")
		if len(h.Statuses) != 2 || h.Titles[thread] != "Whales" {
			t.Errorf("history: got %+v", h)
		}
	})
}

const oneThing = `[{"title":"Ideas","message":"Give me ideas."}]`

// The app suggests prompts in an assistant's thread. People must see the prompts until somebody writes in the thread.
// The thread must also get its title.
func TestPromptsOfAnAssistant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		thread := c.server.OpenAssistant("U7")
		prompts := func() []slack.Prompts { return c.server.Screen("D7", time.Now()).Prompts }
		for name, more := range map[string]args{
			"none":         {"prompts": `[]`},
			"five":         {"prompts": "[" + strings.TrimSuffix(strings.Repeat(strings.Trim(oneThing, "[]")+",", 5), ",") + "]"},
			"no message":   {"prompts": `[{"title":"Ideas"}]`},
			"no JSON":      {"prompts": `Ideas`},
			"other thread": {"prompts": oneThing, "thread_ts": "1.000000"},
		} {
			call := args{"channel_id": "D7", "thread_ts": thread}
			maps.Copy(call, more)
			if r := c.call("assistant.threads.setSuggestedPrompts", call); r.OK {
				t.Errorf("%s: got %s, want an error", name, r.Raw)
			}
		}
		c.ok("assistant.threads.setSuggestedPrompts", args{"channel_id": "D7", "thread_ts": thread, "title": "Try", "prompts": oneThing})
		if p := prompts(); len(p) != 1 || p[0].Thread != thread || p[0].Title != "Try" || p[0].List[0].Title != "Ideas" {
			t.Fatalf("prompts: got %+v", p)
		}
		pause(time.Second)
		if ts := c.server.PressPrompt("U7", thread, "Idea"); ts != "" {
			t.Errorf("a prompt that does not exist was pressed: %s", ts)
		}
		ts := c.server.PressPrompt("U7", thread, "Ideas")
		if got := c.shown("D7", ts); got != "Give me ideas." {
			t.Errorf("pressed: got %q", got)
		}
		if p := prompts(); len(p) != 0 {
			t.Errorf("after a question: got %+v, want none", p)
		}
		for _, title := range []string{"", " ", strings.Repeat("x", 201)} {
			if r := c.call("assistant.threads.setTitle", args{"channel_id": "D7", "thread_ts": thread, "title": title}); r.Error != "invalid_arguments" {
				t.Errorf("title of %d characters: got %s", len(title), r.Raw)
			}
		}
		plain := c.server.Say(slack.Incoming{User: "U7", Text: "hi"})
		if r := c.call("assistant.threads.setTitle", args{"channel_id": "D7", "thread_ts": plain, "title": "x"}); r.Error != "invalid_thread_ts" {
			t.Errorf("title of another thread: got %s", r.Raw)
		}
		c.ok("assistant.threads.setTitle", args{"channel_id": "D7", "thread_ts": thread, "title": "Whales"})
		if got := c.shown("D7", thread); got != "Whales" {
			t.Errorf("root: got %q, want the title", got)
		}
	})
}

// The app is an agent. The agent's prompts must appear above the Messages tab. Prompts for a thread must have no effect
// and cause no error.
func TestPromptsOfAnAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, slack.Options{Agent: true, Limits: slack.NoLimits()})
		k := c.socket()
		c.server.OpenHome("U7")
		if e := k.take().Payload.Event; e.Type != "app_home_opened" || e.Tab != "messages" || e.Channel != "D7" || e.User != "U7" {
			t.Errorf("got %+v", e)
		}
		asked := c.server.Say(slack.Incoming{User: "U7", Text: "hi"})
		c.ok("assistant.threads.setSuggestedPrompts", args{"channel_id": "D7", "thread_ts": asked, "prompts": oneThing})
		if p := c.server.Screen("D7", time.Now()).Prompts; len(p) != 0 {
			t.Errorf("with a thread: got %+v, want none", p)
		}
		c.ok("assistant.threads.setSuggestedPrompts", args{"channel_id": "D7", "prompts": oneThing})
		if ts := c.server.PressPrompt("U7", "", "Ideas"); c.shown("D7", ts) != "Give me ideas." {
			t.Errorf("pressed: got %q", ts)
		}
		c.ok("assistant.threads.setTitle", args{"channel_id": "D7", "thread_ts": asked, "title": "Whales"})
	})
}

// A person stops the app's work. The stream must end at once. The session must become active (idle) only when the app
// reacts.
func TestStopSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := free(t)
		asked := c.server.Say(slack.Incoming{Text: "question"})
		session := func() string { return c.server.Chronicle(direct).Sessions[asked] }
		if c.server.StopSession(direct, "", asked) {
			t.Error("an idle session was stopped")
		}
		c.ok("assistant.threads.setStatus", args{"channel_id": direct, "thread_ts": asked, "status": "is thinking…"})
		if got := session(); got != slack.SessionProcessing {
			t.Errorf("with a status: got %q", got)
		}
		c.ok("assistant.threads.setStatus", args{"channel_id": direct, "thread_ts": asked, "status": ""})
		if got := session(); got != slack.SessionActive {
			t.Errorf("with an empty status: got %q", got)
		}
		ts := c.ok("chat.startStream", args{"channel": direct, "thread_ts": asked, "markdown_text": "Head"}).TS
		k := c.socket()
		if !c.server.StopSession(direct, "", asked) {
			t.Fatal("the session was not stopped")
		}
		e := k.take() // the event about the changed message
		for e.Payload.Event.Type == "message" {
			e = k.take()
		}
		if got := e.Payload.Event; got.Type != "agent_session_stopped" || got.ThreadTS != asked || len(got.Streams) != 1 || got.Streams[0] != ts {
			t.Errorf("got %+v", got)
		}
		if r := c.call("chat.appendStream", args{"channel": direct, "ts": ts, "markdown_text": "x"}); r.Error != "stopped_by_user" {
			t.Errorf("append: got %s", r.Raw)
		}
		if r := c.call("chat.stopStream", args{"channel": direct, "ts": ts}); r.Error != "message_not_in_streaming_state" {
			t.Errorf("stop: got %s", r.Raw)
		}
		c.ok("chat.update", args{"channel": direct, "ts": ts, "text": "Head (stopped)"})
		if got := session(); got != slack.SessionProcessing {
			t.Errorf("stopped by a person: got %q, the app has not changed it yet", got)
		}
		ts = c.ok("chat.startStream", args{"channel": direct, "thread_ts": asked, "markdown_text": "Again"}).TS
		c.ok("chat.stopStream", args{"channel": direct, "ts": ts})
		if got := session(); got != slack.SessionActive {
			t.Errorf("after the app stopped its stream: got %q", got)
		}
	})
}
