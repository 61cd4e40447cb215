package demo

import (
	"strings"
	"time"

	"telex/standin/rig"
	"telex/standin/whatsapp"
)

type whatsappPlace struct {
	*whatsapp.Server
	markup dialect
}

func (p whatsappPlace) budget() budget {
	l := whatsapp.PublishedLimits()
	return budget{
		visible: []string{"sendMessage"}, counted: []string{"sendMessage"}, window: time.Duration(l.PairBurst) * l.PairInterval,
		max: l.PairBurst, what: "sends, 1 more per 6 s",
	}
}

func (p whatsappPlace) screen(now time.Time) screen {
	var s screen
	shown := p.Screen("", now)
	texts := make(map[string]string)
	for _, m := range shown.Messages {
		v := m.Last()
		text := strings.Trim(v.Header+"\n\n"+v.Text+"\n\n"+v.Footer, "\n")
		texts[m.ID] = text
		one := message{
			ID: m.ID, Mine: !m.FromBot, At: m.Versions[0].At, Plain: text, Quote: brief(texts[m.ReplyTo]),
			Body: p.markup.html(text), Growing: growing(text),
		}
		if one.Mine {
			one.Ticks = "delivered"
			if !m.Read.IsZero() {
				one.Ticks = "read"
			}
		}
		if v.File != nil {
			one.Files = []file{{ID: v.File.ID, Name: v.File.Name, Image: m.Type == "image", Size: v.File.Size}}
		}
		for _, b := range v.Buttons {
			one.Buttons = append(one.Buttons, button{ID: b.ID, Label: b.Title})
		}
		s.Messages = append(s.Messages, one)
	}
	if shown.Typing {
		s.Activity = "typing…"
	}
	return s
}

func (p whatsappPlace) say(q question) error {
	in := whatsapp.Incoming{Text: q.Text}
	if f := q.File; f != nil {
		in.File = &whatsapp.Media{Type: "document", Name: f.Name, Mime: f.Mime, Content: f.Content}
		if f.isImage() {
			in.File.Type = "image"
		}
	}
	_, err := p.Say(in)
	return err
}

func (p whatsappPlace) press(id, name string) error {
	_, err := p.Press("", id, name)
	return err
}

func (p whatsappPlace) figures(now time.Time) figures {
	f := p.budget().read(heads(p.Calls(), func(c whatsapp.Call) rig.Call { return c.Call }), now)
	stats := p.Stats()
	f.Violations, f.Sent = stats.Violations.Total()+stats.EditAttempts, stats.Messages
	return f
}

func (p whatsappPlace) file(id string) (string, []byte, error) {
	for _, m := range p.History("") {
		if f := m.Last().File; f != nil && f.ID == id {
			return f.Mime, f.Content, nil
		}
	}
	return "", nil, none("file", id)
}

func (p whatsappPlace) disturb(d disturbance) {
	disturb(p.Server, p.budget().visible, whatsapp.Fault{}, d)
}
