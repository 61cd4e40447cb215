package demo

import (
	"encoding/json"
	"html/template"
	"strings"
	"time"

	"telex/standin/rig"
	"telex/standin/slack"
)

// slackDM is the id of the direct message between the person and the app.
const slackDM = "D1001"

type slackPlace struct {
	*slack.Server
	markdown, mrkdwn dialect
}

func (p slackPlace) budget() budget {
	return budget{
		visible: []string{"chat.postMessage", "chat.update", "chat.startStream", "chat.appendStream", "chat.stopStream"},
		counted: []string{"chat.update"}, window: time.Minute, max: slack.PublishedLimits().Tier3, what: "edits a minute",
	}
}

func (p slackPlace) screen(now time.Time) screen {
	var s screen
	shown := p.Screen(slackDM, now)
	for _, m := range shown.Messages {
		v := m.Last()
		one := message{
			ID: m.TS, Mine: !m.FromBot, At: m.Versions[0].At, Edits: len(m.Versions) - 1, Plain: v.Shown, Growing: growing(v.Shown),
			Body: p.body(v),
		}
		if one.Mine && one.Edits > 0 { // if a bot sent a message as blocks, Slack does not mark the message as edited
			one.Edited = "(edited)"
		}
		for _, f := range m.Files {
			one.Files = append(one.Files, file{ID: f.ID, Name: f.Name, Image: strings.HasPrefix(f.Mime, "image/"), Size: f.Size})
		}
		for _, b := range v.Buttons {
			one.Buttons = append(one.Buttons, button{ID: b.ActionID, Label: b.Text, Style: b.Style})
		}
		s.Messages = append(s.Messages, one)
	}
	for _, st := range shown.Statuses {
		s.Activity = st.Text
	}
	return s
}

// body renders the blocks of a message. If the message has no blocks, body renders its text.
func (p slackPlace) body(v slack.Version) template.HTML {
	var blocks []struct {
		Type string
		Text json.RawMessage // contains a string, or an object that contains a string
	}
	if json.Unmarshal(v.Blocks, &blocks) != nil || len(blocks) == 0 {
		if v.Markdown != "" {
			return p.markdown.html(v.Markdown)
		}
		return p.mrkdwn.html(v.Text)
	}
	var out strings.Builder
	for _, b := range blocks {
		var text string
		var object struct{ Type, Text string }
		switch {
		case json.Unmarshal(b.Text, &text) == nil:
			out.WriteString(string(p.markdown.html(text)))
		case json.Unmarshal(b.Text, &object) == nil && object.Type == "mrkdwn":
			out.WriteString(string(p.mrkdwn.html(object.Text)))
		case object.Text != "":
			out.WriteString("<p>" + template.HTMLEscapeString(object.Text) + "</p>")
		}
	}
	return template.HTML(out.String()) //nolint:gosec // safe, because all parts are escaped
}

func (p slackPlace) say(q question) error {
	in := slack.Incoming{Channel: slackDM, Text: q.Text}
	if f := q.File; f != nil {
		in.Files = []slack.Attachment{{Name: f.Name, Mime: f.Mime, Content: f.Content}}
	}
	if p.Say(in) == "" {
		return errRefused
	}
	return nil
}

func (p slackPlace) press(id, name string) error {
	if p.Press(slackDM, "", id, name) == 0 {
		return none("button", name)
	}
	return nil
}

func (p slackPlace) figures(now time.Time) figures {
	f := p.budget().read(heads(p.Calls(), func(c slack.Call) rig.Call { return c.Call }), now)
	stats := p.Stats()
	f.Violations, f.Edits, f.Sent = stats.Violations.Total(), stats.Edits, stats.Messages
	return f
}

func (p slackPlace) file(id string) (string, []byte, error) {
	for _, m := range p.History(slackDM) {
		for _, f := range m.Files {
			if f.ID == id {
				return f.Mime, f.Content, nil
			}
		}
	}
	return "", nil, none("file", id)
}

func (p slackPlace) disturb(d disturbance) {
	disturb(p.Server, p.budget().visible, slack.Fault{}, d)
}
