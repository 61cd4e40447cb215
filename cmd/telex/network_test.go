package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"telex/standin/discord"
	"telex/standin/slack"
	"telex/standin/telegram"
)

var (
	discordAddress = regexp.MustCompile(`^discord stand-in on (http://127\.0\.0\.1:\d+), token \S+\n$`)
	slackAddress   = regexp.MustCompile(`^slack stand-in on (http://127\.0\.0\.1:\d+)/api/, bot token \S+, app token \S+, signing secret \S+\n$`)
)

const threePlatforms = `
models: [{name: main, base_url: "%s/v1", api_key: "${MODEL_KEY}", model: standin}]
conversations: {busy: queue}
access: {default: allow}
platforms:
  telegram: {token: "${BOT_TOKEN}", api_base: "%s"}
  discord: {token: "${DISCORD_TOKEN}", api_base: "%s", message_content: true}
  slack: {bot_token: "${SLACK_BOT_TOKEN}", app_token: "${SLACK_APP_TOKEN}", api_base: "%s/api/"}
admin: {listen: ""}
`

const allStream = "{enabled: true, telegram: {enabled: true}, discord: {enabled: true}, slack: {enabled: true}}"

// network is one of the platforms in a test.
type network struct {
	remote
	name string
	// ask sends a question to the bot as person i in that person's own conversation, and returns an id of the
	// conversation.
	ask func(i int, question string) string
	// posts returns the bot's messages in a conversation, oldest first, each with all its versions.
	posts func(where string) []post
	// press presses the button with this label below a message, as person i.
	press func(i int, where string, p post, label string)
	// content returns the content of a file in a conversation.
	content func(where string, f attached) string
}

// post is one of the bot's messages.
type post struct {
	id       string
	versions []shown
}

// last returns what the message shows now.
func (p post) last() shown { return p.versions[len(p.versions)-1] }

// shown is a version of a message that people saw.
type shown struct {
	at      time.Time
	text    string
	buttons []button
	files   []attached
}

// attached is a file of a message; id is the file's id on the platform.
type attached struct{ id, name string }

func (s shown) labels() (out []string) {
	for _, b := range s.buttons {
		out = append(out, b.label)
	}
	return out
}

// button is a button of a message; id is the button's id on the platform.
type button struct{ id, label string }

// sees returns the texts of all versions of the bot's messages in a conversation, oldest message first.
func (n network) sees(where string) (out [][]string) {
	for _, p := range n.posts(where) {
		var versions []string
		for _, v := range p.versions {
			versions = append(versions, v.text)
		}
		out = append(out, versions)
	}
	return out
}

// startPlatforms starts the stand-ins of three platforms and of a model, and a daemon that uses them: five processes.
func startPlatforms(t *testing.T) (networks []network, model remote, daemon *process) {
	t.Helper()
	return startPlatformsWith(t, sections{})
}

// startPlatformsWith is like startPlatforms, with the given sections of the configuration.
func startPlatformsWith(t *testing.T, s sections) (networks []network, model remote, daemon *process) {
	t.Helper()
	standin := func(line *regexp.Regexp, args ...string) remote {
		p := launch{bare: true}.start(t, append([]string{"standin", args[0], "--listen", "127.0.0.1:0"}, args[1:]...)...)
		t.Cleanup(p.stop)
		return remote{t, p.awaitAddress(line)}
	}
	model = standin(openaiAddress, "openai", "--key", testKey, "--rate", "60")
	tg := standin(telegramAddress, "telegram", "--token", testToken, "--latency", "20ms")
	dc := standin(discordAddress, "discord", "--latency", "20ms", "--message-content")
	sl := standin(slackAddress, "slack", "--latency", "20ms")
	daemon = launch{env: []string{
		"BOT_TOKEN=" + testToken, "MODEL_KEY=" + testKey, "DISCORD_TOKEN=" + discord.DefaultToken,
		"SLACK_BOT_TOKEN=" + slack.DefaultBotToken, "SLACK_APP_TOKEN=" + slack.DefaultAppToken,
	}}.start(t, "run", "--config", writeConfig(t, fmt.Sprintf(threePlatforms, model.url, tg.url, dc.url, sl.url)+
		"streaming: "+cmp.Or(s.streaming, allStream)+"\n"+s.more+"\n"))
	daemon.awaitLog("receiving", 3)
	return []network{telegramNetwork(tg), discordNetwork(dc), slackNetwork(sl)}, model, daemon
}

// await waits until the newest message in a conversation shows the answer, and returns the result of the method sees.
func (n network) await(where, answer string) (shown [][]string) {
	n.t.Helper()
	n.awaitEvent(fmt.Sprintf("%s: the answer %q", n.name, answer), func() bool {
		shown = n.sees(where)
		if len(shown) == 0 {
			return false
		}
		newest := shown[len(shown)-1]
		return newest[len(newest)-1] == answer
	})
	return shown
}

// telegramNetwork returns Telegram, where everybody asks in a private chat.
func telegramNetwork(r remote) network {
	return network{
		remote: r, name: "telegram",
		ask: func(i int, question string) string {
			r.post("/control/say", telegram.Incoming{User: int64(2000 + i), FirstName: "Ada", Text: question})
			return fmt.Sprint(2000 + i)
		},
		posts: func(where string) (out []post) {
			history := decode[telegram.ChatHistory](r, "/control/history?chat="+where)
			for _, m := range history.Messages {
				if m.FromBot && m.Alive() {
					out = append(out, telegramPost(m))
				}
			}
			return withDrafts(out, history.Drafts)
		},
		press: func(i int, where string, p post, label string) {
			r.post("/control/press", map[string]any{
				"chat": 2000 + i, "user": 2000 + i, "message_id": number(r.t, p.id), "data": p.last().button(r.t, label),
			})
		},
		content: func(where string, f attached) string {
			return r.get("/control/file?chat=" + where + "&message_id=" + f.id)
		},
	}
}

// withDrafts puts the texts of each draft before the versions of the message that replaced the draft. A draft that is
// still visible becomes a post without an id.
func withDrafts(posts []post, drafts []telegram.Draft) []post {
	if len(drafts) == 0 {
		return posts
	}
	var versions []shown
	for _, d := range drafts {
		versions = append(versions, shown{at: d.At, text: d.Text})
	}
	if len(posts) == 0 {
		return []post{{versions: versions}}
	}
	posts[0].versions = append(versions, posts[0].versions...)
	return posts
}

func telegramPost(m telegram.Message) post {
	p := post{id: fmt.Sprint(m.ID)}
	for _, v := range m.Versions {
		s := shown{at: v.At, text: v.Text}
		for _, row := range v.Keyboard {
			for _, b := range row {
				s.buttons = append(s.buttons, button{b.CallbackData, b.Text})
			}
		}
		if m.Media != "" {
			s.files = append(s.files, attached{fmt.Sprint(m.ID), cmp.Or(m.FileName, m.Media)})
		}
		p.versions = append(p.versions, s)
	}
	return p
}

// discordNetwork returns Discord, where half of the people ask in private and the others in channels of a guild.
func discordNetwork(r remote) network {
	person := func(i int) string { return fmt.Sprint(500_000_000_000_000_000 + i) }
	return network{
		remote: r, name: "discord",
		ask: func(i int, question string) string {
			in := discord.Incoming{User: person(i), Text: question}
			if i%2 == 1 {
				in.Channel, in.Text = fmt.Sprint(600_000_000_000_000_000+i), "<@"+discord.DefaultBot+"> "+question
			}
			var said struct {
				Channel string `json:"channel"`
			}
			r.ask("/control/say", in, &said)
			return said.Channel
		},
		posts: func(where string) (out []post) {
			for _, m := range decode[discord.ChannelHistory](r, "/control/history?channel="+where).Messages {
				if m.FromBot && m.Alive() {
					out = append(out, discordPost(m))
				}
			}
			return out
		},
		press: func(i int, where string, p post, label string) {
			r.post("/control/press", map[string]any{
				"channel": where, "message": p.id, "user": person(i), "custom_id": p.last().button(r.t, label),
			})
		},
		content: func(_ string, f attached) string { return r.get("/control/file?id=" + f.id) },
	}
}

func discordPost(m discord.Message) post {
	p := post{id: m.ID}
	for _, v := range m.Versions {
		s := shown{at: v.At, text: strings.ReplaceAll(v.Content, `\_`, "_")} // the text as Discord's clients display it
		for _, b := range v.Buttons {
			s.buttons = append(s.buttons, button{b.CustomID, b.Label})
		}
		for _, a := range v.Attachments {
			s.files = append(s.files, attached{a.ID, a.Name})
		}
		p.versions = append(p.versions, s)
	}
	return p
}

// slackNetwork returns Slack, where half of the people ask in private and the others in one channel, each in a thread.
func slackNetwork(r remote) network {
	person := func(i int) string { return fmt.Sprintf("U%04d", i) }
	return network{
		remote: r, name: "slack",
		ask: func(i int, question string) string {
			in := slack.Incoming{User: person(i), Text: question}
			if i%2 == 1 {
				in.Channel, in.Text = "C1", "<@"+slack.BotUser+"> "+question
			}
			var said struct {
				Channel string `json:"channel"`
				TS      string `json:"ts"`
			}
			r.ask("/control/say", in, &said)
			if in.Channel == "" {
				return said.Channel
			}
			return said.Channel + " " + said.TS
		},
		posts: func(where string) (out []post) {
			channel, ts, _ := strings.Cut(where, " ")
			for _, m := range decode[slack.ChannelHistory](r, "/control/history?channel="+channel).Messages {
				if m.FromBot && m.Alive() && (ts == "" || m.ThreadTS == ts) {
					out = append(out, slackPost(m))
				}
			}
			return out
		},
		press: func(i int, where string, p post, label string) {
			channel, _, _ := strings.Cut(where, " ")
			r.post("/control/press", map[string]any{
				"channel": channel, "ts": p.id, "user": person(i), "button": p.last().button(r.t, label),
			})
		},
		content: func(_ string, f attached) string { return r.get("/control/file?id=" + f.id) },
	}
}

func slackPost(m slack.Message) post {
	p := post{id: m.TS}
	for _, v := range m.Versions {
		s := shown{at: v.At, text: v.Shown}
		for _, b := range v.Buttons {
			s.buttons = append(s.buttons, button{b.ActionID, b.Text})
		}
		for _, f := range m.Files {
			s.files = append(s.files, attached{f.ID, cmp.Or(f.Title, f.Name)})
		}
		p.versions = append(p.versions, s)
	}
	return p
}

// button returns the platform's id of a visible button.
func (s shown) button(t *testing.T, label string) string {
	t.Helper()
	for _, b := range s.buttons {
		if b.label == label {
			return b.id
		}
	}
	t.Fatalf("there is no button %q below %q, but %q", label, s.text, s.labels())
	return ""
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
