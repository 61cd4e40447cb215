package demo

import (
	"slices"
	"strconv"
	"time"

	"telex/standin/rig"
	"telex/standin/telegram"
)

// ada is the id of the person who uses Telegram, in a private chat.
const ada = 1001

type telegramPlace struct{ *telegram.Server }

func (p telegramPlace) budget() budget {
	visible := []string{"sendMessage", "editMessageText", "sendRichMessage", "sendDocument", "sendPhoto", "editMessageReplyMarkup"}
	l := telegram.PublishedLimits()
	return budget{visible: visible, counted: visible, window: time.Minute, max: int(60 * l.PrivatePerSecond), what: "calls a minute"}
}

func (p telegramPlace) screen(now time.Time) screen {
	var s screen
	shown := p.Screen(ada, now)
	texts := make(map[int]string)
	for _, m := range shown.Messages {
		v := m.Last()
		texts[m.ID] = v.Text
		one := message{
			ID: strconv.Itoa(m.ID), Mine: !m.FromBot, At: m.Versions[0].At, Edits: len(m.Versions) - 1, Plain: v.Text,
			Quote: brief(texts[m.ReplyTo]), Growing: growing(v.Text),
		}
		if one.Edits > 0 {
			one.Edited = "edited"
		}
		if v.Rich != nil {
			one.Body = richBlocks(v.Rich)
		} else {
			one.Body = entities(v.Text, slices.Concat(v.Entities, v.Detected))
		}
		if m.Media != "" {
			one.Files = []file{{ID: one.ID, Name: m.FileName, Image: m.Media == "photo", Size: len(m.File)}}
		}
		for _, row := range v.Keyboard {
			for _, b := range row {
				one.Buttons = append(one.Buttons, button{ID: b.CallbackData, Label: b.Text})
			}
		}
		s.Messages = append(s.Messages, one)
	}
	if shown.Action != "" {
		s.Activity = "typing…"
	}
	return s
}

func (p telegramPlace) say(q question) error {
	in := telegram.Incoming{User: ada, FirstName: "Ada", Text: q.Text}
	if f := q.File; f != nil {
		in.Attachment = telegram.Attachment{Media: "document", FileName: f.Name, MimeType: f.Mime, Content: f.Content}
		if f.Mime == "image/jpeg" {
			in.Media = "photo"
		}
	}
	if p.Say(in) == 0 {
		return errRefused
	}
	return nil
}

func (p telegramPlace) press(id, data string) error {
	n, err := strconv.Atoi(id)
	if err != nil {
		return err
	}
	if p.Press(ada, ada, n, data) == "" {
		return none("button", data)
	}
	return nil
}

func (p telegramPlace) figures(now time.Time) figures {
	f := p.budget().read(heads(p.Calls(), func(c telegram.Call) rig.Call { return c.Call }), now)
	stats := p.Stats()
	f.Violations, f.Edits, f.Sent = stats.Violations.Total(), stats.Edits, stats.Messages
	return f
}

func (p telegramPlace) file(id string) (string, []byte, error) {
	for _, m := range p.History(ada) {
		if strconv.Itoa(m.ID) == id && m.Media != "" {
			return m.MimeType, m.File, nil
		}
	}
	return "", nil, none("file", id)
}

func (p telegramPlace) disturb(d disturbance) {
	disturb(p.Server, p.budget().visible, telegram.Fault{}, d)
}
