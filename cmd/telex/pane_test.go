package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/standin/openai"
	"telex/standin/slack"
)

const onSlack = `
models: [{name: main, base_url: "%s/v1", api_key: "${MODEL_KEY}", model: standin}]
access: {default: allow}
platforms:
  slack: {bot_token: "${SLACK_BOT_TOKEN}", app_token: "${SLACK_APP_TOKEN}", api_base: "%s/api/"}
streaming: {enabled: true, slack: {enabled: true, transport: native}}
texts: {greeting: "Good day.", prompts: "Count | words: 150\nsay: Hello!"}
admin: {listen: ""}
`

// paneOf is a thread in Slack's pane for the app, as a person sees it.
type paneOf struct {
	remote
	user, channel, thread string
}

// sees returns the bot's messages in the thread, and what a person now sees in the direct message with the bot.
func (p paneOf) sees() (answers []slack.Message, screen slack.Screen) {
	screen = decode[slack.Screen](p.remote, "/control/view?channel="+p.channel+"&at="+url.QueryEscape(time.Now().Format(time.RFC3339Nano)))
	for _, m := range screen.Messages {
		if m.FromBot && m.Subtype == "" && m.ThreadTS == p.thread {
			answers = append(answers, m)
		}
	}
	return answers, screen
}

// await waits until the function shows returns true for the bot's n-th message in the thread.
func (p paneOf) await(n int, what string, shows func(slack.Version) bool) {
	p.t.Helper()
	p.awaitEvent(what, func() bool {
		answers, _ := p.sees()
		return len(answers) >= n && shows(answers[n-1].Last())
	})
}

// suggestedSince reports whether the bot has suggested questions in the thread since t.
func (p paneOf) suggestedSince(t time.Time) bool {
	history := decode[slack.ChannelHistory](p.remote, "/control/history?channel="+p.channel)
	return slices.ContainsFunc(history.Prompts, func(s slack.Prompts) bool { return s.Thread == p.thread && s.From.After(t) })
}

// pressPrompt waits for a suggested question with the given label, and presses it.
func (p paneOf) pressPrompt(label string) {
	p.t.Helper()
	p.awaitEvent("the suggestions", func() bool { _, screen := p.sees(); return len(screen.Prompts) == 1 })
	p.post("/control/prompt", map[string]any{"user": p.user, "ts": p.thread, "button": label})
}

// checkAnswered checks that the greeting and the whole answer are visible, and that no status and no suggested
// questions are visible any more.
func (p paneOf) checkAnswered(title, answer string) {
	p.t.Helper()
	p.await(2, "the answer", func(v slack.Version) bool { return v.Shown == answer && !v.Streaming })
	p.awaitEvent("the end of the work", func() bool {
		return decode[slack.ChannelHistory](p.remote, "/control/history?channel="+p.channel).Sessions[p.thread] == slack.SessionActive
	})
	answers, screen := p.sees()
	if len(answers) != 2 || answers[0].Shown() != "Good day." || len(screen.Statuses)+len(screen.Prompts) != 0 {
		p.t.Errorf("%s sees %d messages, statuses %+v and prompts %+v", p.user, len(answers), screen.Statuses, screen.Prompts)
	}
	if got := decode[slack.ChannelHistory](p.remote, "/control/history?channel="+p.channel).Titles[p.thread]; got != title {
		p.t.Errorf("title: got %q, want %q", got, title)
	}
}

// In TestSlacksPane, people open the assistant's pane, see the greeting with suggested questions, and press one of
// them. The bot's answer in the pane is a native stream of Slack. The answer must be complete even if the daemon is
// killed during the greeting or during the stream.
func TestSlacksPane(t *testing.T) {
	t.Parallel()
	standin := func(name string, args ...string) *process {
		p := launch{bare: true}.start(t, append([]string{"standin", name, "--listen", "127.0.0.1:0"}, args...)...)
		t.Cleanup(p.stop)
		return p
	}
	model := remote{t, standin("openai", "--key", testKey, "--rate", "60").awaitAddress(openaiAddress)}
	sl := remote{t, standin("slack", "--latency", "20ms").awaitAddress(slackAddress)}
	daemon := launch{env: []string{
		"MODEL_KEY=" + testKey, "SLACK_BOT_TOKEN=" + slack.DefaultBotToken, "SLACK_APP_TOKEN=" + slack.DefaultAppToken,
	}}.start(t, "run", "--config", writeConfig(t, fmt.Sprintf(onSlack, model.url, sl.url)))
	daemon.awaitLog("receiving", 1)
	open := func(user string) paneOf {
		var opened struct {
			Thread string `json:"thread_ts"`
		}
		sl.ask("/control/assistant", map[string]any{"user": user}, &opened)
		return paneOf{sl, user, "D" + strings.TrimPrefix(user, "U"), opened.Thread}
	}
	greeted := func(v slack.Version) bool { return v.Shown == "Good day." }

	first := open("U1")
	first.await(1, "the greeting", greeted)
	first.pressPrompt("say: Hello!")
	first.checkAnswered("say: Hello!", "Hello!")

	killed := open("U2")
	killed.await(1, "the greeting", greeted)
	daemon.kill() // the kill happens before, while or after the suggestions are shown
	restarted := time.Now()
	daemon = daemon.again()
	daemon.awaitLog("receiving", 1)
	if len(daemon.logged("continuing where the last process ended")) > 0 {
		// The second process suggests the questions again after the greeting. If the person pressed a question before the
		// second process suggests the questions again, the new suggestions would be shown below the answer.
		killed.awaitEvent("the suggestions of the second process", func() bool { return killed.suggestedSince(restarted) })
	}
	killed.pressPrompt("Count")
	killed.await(2, "the beginning of the stream", func(v slack.Version) bool { return v.Streaming && strings.Count(v.Shown, " ") > 20 })
	daemon.kill()
	daemon = daemon.again()
	killed.checkAnswered("words: 150", openai.Answer("words: 150"))

	stopped := open("U3")
	stopped.pressPrompt("Count")
	stopped.await(2, "the beginning of the stream", func(v slack.Version) bool { return v.Streaming && strings.Count(v.Shown, " ") > 20 })
	sl.post("/control/stop", map[string]any{"channel": stopped.channel, "ts": stopped.thread})
	stopped.await(2, "the end of the stopped answer", func(v slack.Version) bool { return strings.HasSuffix(v.Shown, "\n(stopped)") })
	daemon.stop()
	if n := decode[slack.Stats](sl, "/control/stats").Violations.Total(); n != 0 {
		t.Errorf("%d violations: %s", n, sl.get("/control/stats"))
	}
}
