package telegram

import (
	"strings"
	"time"
	"unicode/utf16"

	"telex/standin/rig"
)

// maxQuote is the maximum length of a quote in a reply, in characters. Source:
// https://core.telegram.org/bots/api#replyparameters
const maxQuote = 1024

// External is the message to which a person replies, if that message is in another chat. The bot receives the author
// and the file of that message, but only a quote of its text.
type External struct {
	Forward
	Attachment
	Text string `json:"text"`
}

// message returns x as a Message with the file f.
func (x *External) message(f parsedFile, at time.Time) *Message {
	m := &Message{Forward: &x.Forward, Seen: rig.Seen[Version]{Versions: []Version{{At: at, Method: "person", Text: x.Text}}}}
	f.addTo(m)
	return m
}

// quotes reports whether the person's quote is in the message to which the person replies.
func (in *Incoming) quotes(c *chat) bool {
	switch target := c.message(in.ReplyTo); {
	case in.Quote == "":
		return true
	case in.External != nil:
		return canQuote(in.External.Text, in.Quote)
	default:
		return target != nil && canQuote(target.Text(), in.Quote)
	}
}

// canQuote reports whether a reply may quote a part of a text: the text must contain this part, and the part must not
// be too long.
func canQuote(text, part string) bool {
	return strings.Contains(text, part) && textLength(part) <= maxQuote
}

// replyTarget reads the parameter reply_parameters or its older form. replyTarget returns the id of the message to
// reply to, and the quote. If the message to reply to does not exist, replyTarget refuses the call, except if the call
// allows a missing message.
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
	target := c.message(p.MessageID)
	if target == nil {
		if p.AllowSendingWithoutReply {
			return 0, ""
		}
		panic(badRequest("message to be replied not found"))
	}
	badRequestIf(p.Quote != "" && !canQuote(target.Text(), p.Quote), "QUOTE_TEXT_INVALID")
	return p.MessageID, p.Quote
}

// wireReply adds to w the message to which m replies, and the quote. A reply to a message in another chat always has a
// quote: if the person selected nothing, the quote is the beginning of that message's text.
func (s *Server) wireReply(w *wireMessage, c *chat, m *Message) {
	text := ""
	if target := c.message(m.ReplyTo); target != nil {
		w.ReplyTo, text = s.wire(c, target, false), target.Text()
	}
	if x := m.external; x != nil && w.ReplyTo == nil {
		w.ExternalReply, text = &wireExternal{Origin: x.wireOrigin(), wireMedia: x.wireMedia()}, x.Text()
		if m.Quote == "" && text != "" {
			units := utf16.Encode([]rune(text))
			w.Quote = &wireQuote{Text: utf16Slice(text, 0, min(len(units), maxQuote))}
		}
	}
	if at := strings.Index(text, m.Quote); m.Quote != "" && at >= 0 {
		w.Quote = &wireQuote{Text: m.Quote, Position: len(utf16.Encode([]rune(text[:at]))), IsManual: true}
	}
}

// reactions are the emoji that a bot may use. Source: https://core.telegram.org/bots/api#reactiontypeemoji
const reactions = "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 " +
	"👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡"

// setMessageReaction replaces the bot's reaction to a message by one emoji or none. No published limit counts calls of
// setMessageReaction. Source: https://core.telegram.org/bots/api#setmessagereaction
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
	m := c.message(id)
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
