package telegram

import (
	"strings"
	"time"
	"unicode/utf16"

	"telex/standin/rig"
)

// maxMarked is the longest part of a message that a reply may quote, in characters.
// Source: https://core.telegram.org/bots/api#replyparameters
const maxMarked = 1024

// External is a message of another chat that a person replies to. The bot gets who wrote it and its file, but of its text only
// a quote.
type External struct {
	Forward
	Attachment
	Text string `json:"text"`
}

// message is the other chat's message, with its file.
func (x *External) message(f file, at time.Time) *Message {
	m := &Message{Forward: &x.Forward, Seen: rig.Seen[Version]{Versions: []Version{{At: at, Method: "person", Text: x.Text}}}}
	f.attach(m)
	return m
}

// quotes tells whether what a person marked is a part of the message replied to.
func (in *Incoming) quotes(c *chat) bool {
	switch target := c.alive(in.ReplyTo); {
	case in.Quote == "":
		return true
	case in.External != nil:
		return markable(in.External.Text, in.Quote)
	default:
		return target != nil && markable(target.Text(), in.Quote)
	}
}

// markable tells whether a reply may quote a part of a text.
func markable(text, part string) bool {
	return strings.Contains(text, part) && textLength(part) <= maxMarked
}

// replyTarget reads reply_parameters, or their older form: the message, and what is quoted of it. A target that is gone is
// an error unless the call allows it.
func replyTarget(r *request, c *chat) (id int, quote string) {
	var p wireReplyParameters
	found := r.object("reply_parameters", &p, badRequest("can't parse reply parameters JSON object"))
	if !found {
		p.MessageID = int(r.integer("reply_to_message_id"))
		p.AllowSendingWithoutReply = r.flag("allow_sending_without_reply")
		found = p.MessageID != 0
	}
	if !found {
		return 0, ""
	}
	target := c.alive(p.MessageID)
	if target == nil {
		if p.AllowSendingWithoutReply {
			return 0, ""
		}
		panic(badRequest("message to be replied not found"))
	}
	badRequestIf(p.Quote != "" && !markable(target.Text(), p.Quote), "QUOTE_TEXT_INVALID")
	return p.MessageID, p.Quote
}

// wireReply adds what m replies to, and what it quotes of that. Of another chat's text a beginning is always quoted.
func (s *Server) wireReply(w *wireMessage, c *chat, m *Message) {
	text := ""
	if target := c.alive(m.ReplyTo); target != nil {
		w.ReplyTo, text = s.wire(c, target, false), target.Text()
	}
	if x := m.external; x != nil && w.ReplyTo == nil {
		w.ExternalReply, text = &wireExternal{Origin: x.wireOrigin(), wireMedia: x.wireMedia()}, x.Text()
		if m.Quote == "" && text != "" {
			units := utf16.Encode([]rune(text))
			w.Quote = &wireQuote{Text: utf16Slice(text, 0, min(len(units), maxMarked))}
		}
	}
	if at := strings.Index(text, m.Quote); m.Quote != "" && at >= 0 {
		w.Quote = &wireQuote{Text: m.Quote, Position: len(utf16.Encode([]rune(text[:at]))), IsManual: true}
	}
}

// reactions are those that a bot may choose.
// Source: https://core.telegram.org/bots/api#reactiontypeemoji
const reactions = "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 " +
	"👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡"

// setMessageReaction replaces the bot's reaction to a message: one emoji, or none. It counts against no limit that is published.
// Source: https://core.telegram.org/bots/api#setmessagereaction
func (s *Server) setMessageReaction(r *request, c *chat) any {
	id := int(r.integer("message_id"))
	badRequestIf(id == 0, "message identifier is not specified")
	var list []struct {
		Type  string `json:"type"`
		Emoji string `json:"emoji"`
	}
	r.object("reaction", &list, badRequest("can't parse reaction types JSON object"))
	emoji := ""
	for _, reaction := range list {
		badRequestIf(reaction.Type != "emoji" || reaction.Emoji == "" || !isReaction(reaction.Emoji), "REACTION_INVALID")
		emoji = reaction.Emoji
	}
	badRequestIf(len(list) > 1, "REACTIONS_TOO_MANY")
	m := c.alive(id)
	badRequestIf(m == nil, "message to react not found")
	badRequestIf(m.Service != "", "message can't be reacted to")
	m.Reaction = emoji
	s.stats.Reactions++
	s.Publish("reaction", Event{Chat: c.info.ID, Message: m})
	return true
}

func isReaction(emoji string) bool {
	for known := range strings.FieldsSeq(reactions) {
		if known == emoji {
			return true
		}
	}
	return false
}
