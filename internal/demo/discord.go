package demo

import (
	"time"

	"telex/standin/discord"
	"telex/standin/rig"
)

type discordPlace struct {
	*discord.Server
	dm     string
	markup dialect
}

func (p discordPlace) budget() budget {
	visible := []string{"createMessage", "editMessage", "followUp", "editOwn"}
	return budget{
		visible: visible, counted: visible[:2], window: 5 * time.Second, max: discord.PublishedLimits().Messages,
		what: "sends and edits in 5 s",
	}
}

func (p discordPlace) screen(now time.Time) screen {
	var s screen
	shown := p.Screen(p.dm, now)
	texts := make(map[string]string)
	for _, m := range shown.Messages {
		v := m.Last()
		texts[m.ID] = v.Content
		one := message{
			ID: m.ID, Mine: !m.FromBot, At: m.Versions[0].At, Edits: len(m.Versions) - 1, Plain: v.Content,
			Quote: brief(texts[m.ReplyTo]), Growing: growing(v.Content), Body: p.markup.html(v.Content),
		}
		if one.Edits > 0 {
			one.Edited = "(edited)"
		}
		for _, a := range v.Attachments {
			one.Files = append(one.Files, file{ID: a.ID, Name: a.Name, Image: a.Width > 0, Size: a.Size})
		}
		for _, b := range v.Buttons {
			one.Buttons = append(one.Buttons, button{ID: b.CustomID, Label: b.Label, Style: map[int]string{1: "primary", 3: "good", 4: "danger"}[b.Style]})
		}
		s.Messages = append(s.Messages, one)
	}
	if shown.Typing {
		s.Activity = "typing…"
	}
	return s
}

func (p discordPlace) say(q question) error {
	in := discord.Incoming{Name: "Ada", Text: q.Text}
	if f := q.File; f != nil {
		in.Files = []discord.File{{Name: f.Name, ContentType: f.Mime, Content: f.Content}}
	}
	_, err := p.Say(in)
	return err
}

func (p discordPlace) press(id, name string) error {
	_, err := p.Press(p.dm, id, name, "")
	return err
}

func (p discordPlace) figures(now time.Time) figures {
	f := p.budget().read(heads(p.Calls(), func(c discord.Call) rig.Call { return c.Call }), now)
	stats := p.Stats()
	f.Violations, f.Edits, f.Sent = stats.Violations.Total(), stats.Edits, stats.Messages
	return f
}

func (p discordPlace) file(id string) (string, []byte, error) {
	for _, m := range p.History(p.dm) {
		for _, a := range m.Last().Attachments {
			if a.ID == id {
				return a.ContentType, a.Content, nil
			}
		}
	}
	return "", nil, none("file", id)
}

func (p discordPlace) disturb(d disturbance) {
	disturb(p.Server, p.budget().visible, discord.Fault{Scope: "user"}, d)
}
