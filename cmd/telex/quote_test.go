package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"telex/standin/discord"
	"telex/standin/openai"
	"telex/standin/slack"
	"telex/standin/telegram"
)

// marks are the random marks of framed content.
var marks = regexp.MustCompile(` [0-9a-f]{16}`)

// lastUser returns the text of the last user message of the request with a question, and how many pictures it has.
func lastUser(t *testing.T, requests []openai.Request, question string) (text string, pictures int) {
	t.Helper()
	for _, r := range requests {
		var body struct {
			Messages []struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
		}
		if !strings.Contains(string(r.Body), strings.ReplaceAll(question, `"`, `\"`)) || json.Unmarshal(r.Body, &body) != nil || len(body.Messages) == 0 {
			continue
		}
		last := body.Messages[len(body.Messages)-1]
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(last.Content, &text); err != nil {
			if err := json.Unmarshal(last.Content, &parts); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range parts {
			if p.Type == "image_url" {
				pictures++
			}
			text += p.Text
		}
		return strings.NewReplacer("person-ada", "Ada", "person-bob", "Bob").Replace(marks.ReplaceAllString(text, "")), pictures // Slack's stand-in names people so
	}
	t.Errorf("the model was never asked %q", question)
	return "", 0
}

// quoteCase is a platform in a place with several people.
type quoteCase struct {
	place func(first string) string // where the answers stand, by the first message
	// say writes a message that refers to another one, if that is not empty, and returns its id.
	say func(who, text, about string, picture []byte) string
	// mention precedes what is meant for the bot.
	mention string
	// begins is what the model reads before the first question.
	begins string
}

// TestQuotesOnThreePlatforms: who replies to another person's message, or mentions the bot in a running thread, asks about what
// stands there; a chain of replies and a thread go on without a mention.
func TestQuotesOnThreePlatforms(t *testing.T) {
	t.Parallel()
	networks, model, daemon := startPlatforms(t)
	quoted := "[message that this refers to: by Bob]\nIt drips.\n[end of message that this refers to]\n\n"
	cases := map[string]quoteCase{
		"telegram": quoteOnTelegram(networks[0], quoted),
		"discord":  quoteOnDiscord(networks[1], quoted),
		"slack":    quoteOnSlack(networks[2], "[earlier messages of this thread]\nBob: It drips.\n[end of earlier messages of this thread]\n\n"),
	}
	for i, n := range networks {
		c, first, next := cases[n.name], fmt.Sprintf("{{standin say=\"first %d\"}} why?", i), fmt.Sprintf("{{standin say=\"next %d\"}} and then?", i)
		about := c.say("Bob", "It drips.", "", pngOf(t, 40, 30))
		where := c.place(about)
		c.say("Ada", c.mention+first, about, nil)
		n.await(where, fmt.Sprintf("first %d", i))
		posts := n.posts(where)
		c.say("Ada", next, posts[len(posts)-1].id, nil)
		n.await(where, fmt.Sprintf("next %d", i))
		requests := model.requests()
		if text, pictures := lastUser(t, requests, first); text != c.begins+"[Ada] "+first || pictures != 1 {
			t.Errorf("%s: the model reads %d pictures and\n%s", n.name, pictures, text)
		}
		if text, _ := lastUser(t, requests, next); !strings.HasSuffix(text, "[Ada] "+next) {
			t.Errorf("%s: then the model reads\n%s", n.name, text)
		}
	}
	daemon.stop()
}

func quoteOnTelegram(n network, begins string) quoteCase {
	const group = -4242
	return quoteCase{
		place: func(string) string { return fmt.Sprint(group) }, mention: "@telex_bot ", begins: begins,
		say: func(who, text, about string, picture []byte) string {
			in := telegram.Incoming{Chat: group, User: int64(1000 + len(who)*int(who[0])), FirstName: who, Text: text}
			if about != "" {
				in.ReplyTo = number(n.t, about)
			}
			if picture != nil {
				in.Attachment = telegram.Attachment{Media: "photo", Content: picture}
			}
			var said struct {
				ID int `json:"message_id"`
			}
			n.remote.ask("/control/say", in, &said)
			return fmt.Sprint(said.ID)
		},
	}
}

func quoteOnDiscord(n network, begins string) quoteCase {
	const channel = "600000000000000099"
	return quoteCase{
		place: func(string) string { return channel }, mention: "<@" + discord.DefaultBot + "> ", begins: begins,
		say: func(who, text, about string, picture []byte) string {
			in := discord.Incoming{Channel: channel, User: fmt.Sprint(500_000_000_000_000_000 + int(who[0])), Name: who, Text: text, ReplyTo: about}
			if picture != nil {
				in.Files = []discord.File{{Name: "a.png", ContentType: "image/png", Content: picture}}
			}
			var said struct {
				ID string `json:"message"`
			}
			n.remote.ask("/control/say", in, &said)
			return said.ID
		},
	}
}

func quoteOnSlack(n network, begins string) quoteCase {
	thread := ""
	return quoteCase{
		place: func(first string) string { return "C9 " + first }, mention: "<@" + slack.BotUser + "> ", begins: begins,
		say: func(who, text, _ string, picture []byte) string {
			in := slack.Incoming{Channel: "C9", User: "U" + strings.ToUpper(who), Text: text, Thread: thread}
			if picture != nil {
				in.Files = []slack.Attachment{{Name: "a.png", Mime: "image/png", Content: picture}}
			}
			var said struct {
				TS string `json:"ts"`
			}
			n.remote.ask("/control/say", in, &said)
			if thread == "" {
				thread = said.TS
			}
			return said.TS
		},
	}
}
