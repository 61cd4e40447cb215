package whatsapp

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"telex/standin/rig"
)

const (
	// idPrefix begins the id of every message.
	idPrefix = "wamid."
	// window is how long after a person's last message the business may write.
	// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/send-messages#customer-service-windows
	window = 24 * time.Hour
	// typingTime is how long the business is shown as typing, unless it sends something before.
	// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/typing-indicators
	typingTime = 25 * time.Second
	// maxText is the length of a text, in characters; so are the limits below.
	// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/text-messages
	maxText = 4096
	// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/image-messages
	maxCaption  = 1024
	maxFilename = 240 // an assumption: the documentation has no limit.
	// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/interactive-reply-buttons-messages
	maxBodyText    = 1024
	maxHeader      = 60
	maxFooter      = 60
	maxButtons     = 3
	maxButtonID    = 256
	maxButtonTitle = 20
	// maxOpaque is the length of biz_opaque_callback_data.
	maxOpaque = 512
)

// outgoing is a message of the business on its way.
type outgoing struct {
	Message
	version  Version
	reaction *Reaction // a reaction to ReplyTo in place of a message.
}

// send: https://developers.facebook.com/documentation/business-messaging/whatsapp/reference/whatsapp-business-phone-number/message-api
func (s *Server) send(r *request) any {
	f := r.fields
	needProduct(f.text("messaging_product"), f.has("messaging_product"))
	f.only("messaging_product", "recipient_type", "to", "recipient", "type", "context", "biz_opaque_callback_data",
		"text", "image", "audio", "video", "document", "sticker", "interactive", "reaction", "template", "location", "contacts")
	if kind := f.text("recipient_type"); f.has("recipient_type") && kind != "individual" {
		panic(badParam(`Param recipient_type must be one of {INDIVIDUAL} - got %q.`, kind))
	}
	out := s.content(r)
	out.opaque = f.text("biz_opaque_callback_data")
	f.limit("biz_opaque_callback_data", out.opaque, maxOpaque)
	context := f.object("context")
	context.only("message_id")
	if f.has("context") {
		context.need("message_id")
	}
	to := s.recipient(f)
	r.call.User = to.user
	s.charge(r, s.limiter.pair(to.user), s.limiter.throughput())
	out.toPhone = to.byPhone
	if id := context.text("message_id"); id != "" && out.reaction == nil {
		out.ReplyTo = s.quoted(r, to, id)
	}
	s.place(r, to, &out)
	contact := object{"input": to.input}
	if to.byPhone {
		contact["wa_id"] = to.digits
	} else {
		contact["user_id"] = to.user
	}
	return object{"messaging_product": "whatsapp", "contacts": []object{contact}, "messages": []object{{"id": out.ID}}}
}

// needProduct checks the parameter that all calls with a body have.
func needProduct(product string, given bool) {
	rig.RefuseIf(!given, badParam("The parameter messaging_product is required."))
	rig.RefuseIf(product != "whatsapp", badParam(`Param messaging_product must be one of {WHATSAPP} - got %q.`, product))
}

// place lets a message arrive, or not.
func (s *Server) place(r *request, to recipient, out *outgoing) {
	out.ID = s.nextMessageID(to.user)
	r.call.Message = out.ID
	var refusal *apiError
	switch {
	case to.conversation == nil || to.person.Blocked:
		refusal = fail(CodeUndeliverable, "")
	case to.last.IsZero() || r.now.Sub(to.last) >= window:
		refusal = fail(CodeWindow, "")
	}
	if refusal != nil {
		if !s.opts.LateFailures {
			panic(refusal)
		}
		s.stats.Failed++
		s.tellFailure(to, out, refusal)
		return
	}
	if out.reaction != nil {
		target := s.messages[out.ReplyTo]
		failIf(target == nil || target.User != to.user, CodeValue, "Message to react to was not found.")
		s.react(target, *out.reaction)
		s.stats.Reactions++
		return
	}
	out.version.At, out.version.Method = r.now, r.call.Method
	m := &out.Message
	m.User, m.FromBot, m.Versions = to.user, true, []Version{out.version}
	s.stopTyping(to.conversation, r.now)
	s.add(to.conversation, m)
	s.stats.Messages++
	s.status(to.conversation, m, "sent")
	s.status(to.conversation, m, "delivered")
}

// recipient is to whom a message goes.
type recipient struct {
	*conversation // nil when there is no such person.
	user          string
	input, digits string
	byPhone       bool
}

var (
	phonePattern = regexp.MustCompile(`^\+?[0-9 ()-]+$`)
	// userPattern is the form of a business-scoped user id: a country, and up to 128 letters and digits.
	// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids
	userPattern = regexp.MustCompile(`^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$`)
)

// recipient finds to whom a message goes: a phone number goes before a business-scoped user id.
func (s *Server) recipient(f fields) recipient {
	if !f.has("to") && f.has("recipient") {
		id := f.text("recipient")
		rig.RefuseIf(!userPattern.MatchString(id), fail(CodeParameter, "Parameter Invalid: recipient"))
		return recipient{conversation: s.persons[id], user: id, input: id}
	}
	f.need("to")
	input := f.text("to")
	digits := normalizePhone(input)
	rig.RefuseIf(digits == "", fail(CodeParameter, "Parameter Invalid: to"))
	failIf(digits == Number, 131021, "Recipient phone number cannot be sender phone number")
	to := recipient{conversation: s.byPhone[digits], user: digits, input: input, digits: digits, byPhone: true}
	if to.conversation != nil {
		to.user = to.person.UserID
	}
	return to
}

// normalizePhone leaves the digits of a phone number; "" when it is none.
func normalizePhone(text string) string {
	if !phonePattern.MatchString(text) {
		return ""
	}
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
	if len(digits) < 7 || len(digits) > 15 || digits[0] == '0' {
		return ""
	}
	return digits
}

// quoted is the message that a reply quotes, "" when the person sees no quotation.
func (s *Server) quoted(r *request, to recipient, id string) string {
	rig.RefuseIf(!strings.HasPrefix(id, idPrefix), fail(CodeParameter, "Parameter Invalid: context['message_id']"))
	if m := s.messages[id]; m == nil || m.User != to.user {
		s.violate(BadReference, r.call.Method, to.user, "no message "+id)
		return ""
	}
	return id
}

// content reads what a message consists of.
func (s *Server) content(r *request) outgoing {
	f := r.fields
	kind := f.text("type")
	if !f.has("type") {
		kind = "text"
	}
	out := outgoing{Message: Message{Type: kind}}
	switch kind {
	case "text", "image", "audio", "video", "document", "sticker", "interactive", "reaction":
	case "template":
		panic(fail(CodeTemplate, ""))
	default:
		panic(fail(CodeType, "Unsupported message type: "+kind))
	}
	f.need(kind)
	part := f.object(kind)
	switch kind {
	case "text":
		part.only("body", "preview_url")
		out.version.Text = part.requiredText("body", maxText)
		if part.flag("preview_url") {
			out.version.Opened = firstLink(out.version.Text)
		}
	case "interactive":
		out.version = s.interactive(r, part)
	case "reaction":
		part.only("message_id", "emoji")
		part.need("message_id")
		part.need("emoji")
		out.ReplyTo = part.text("message_id")
		out.reaction = &Reaction{At: r.now, FromBot: true, Emoji: part.text("emoji")}
		failIf(units(out.reaction.Emoji) > maxEmoji || strings.ContainsAny(out.reaction.Emoji, asciiLetters), CodeValue, "Invalid emoji")
	default:
		out.version = s.mediaPart(r, kind, part)
	}
	return out
}

const (
	// maxEmoji is the longest emoji, in UTF-16 units: families have up to 11, flags of regions 14.
	maxEmoji     = 16
	asciiLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// mediaPart reads a message with media: https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/document-messages
func (s *Server) mediaPart(r *request, kind string, part fields) Version {
	allowed := map[string][]string{
		"image": {"caption"}, "video": {"caption"}, "document": {"caption", "filename"}, "audio": {"voice"},
	}[kind]
	part.only(append([]string{"id", "link"}, allowed...)...)
	rig.RefuseIf(part.has("id") == part.has("link"), badParam("Exactly one of %s and %s is required.", part.param("id"), part.param("link")))
	v := Version{Text: part.text("caption"), Link: part.text("link")}
	part.limit("caption", v.Text, maxCaption)
	name := part.text("filename")
	part.limit("filename", name, maxFilename)
	if v.Link != "" {
		u, err := url.Parse(v.Link)
		failIf(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https", CodeValue, "Invalid link: "+part.param("link"))
		return v
	}
	m := s.media[part.text("id")]
	failIf(m == nil || !m.usable(r.now), CodeValue, "Media ID is not valid or has expired.")
	failIf(!slices.Contains(mimesOf(kind), m.Mime), CodeMedia, fmt.Sprintf("Media of type %s can't be sent as %s.", m.Mime, kind))
	file := m.File
	if name != "" {
		file.Name = name
	}
	v.File = &file
	return v
}

// interactive reads a message with reply buttons.
func (s *Server) interactive(r *request, part fields) Version {
	part.only("type", "header", "body", "footer", "action")
	part.need("type")
	failIf(part.text("type") != "button", CodeValue, "The stand-in has no interactive messages of type "+part.text("type"))
	part.need("body")
	part.need("action")
	v := Version{Text: part.bounded("body", "Body text", maxBodyText), Footer: part.bounded("footer", "Footer text", maxFooter)}
	if part.has("header") {
		v.Header, v.File, v.Link = s.header(r, part.object("header"))
	}
	action := part.object("action")
	action.only("buttons")
	action.need("buttons")
	buttons := action.list("buttons")
	failIf(len(buttons) < 1 || len(buttons) > maxButtons, CodeValue, fmt.Sprintf("Invalid buttons count. Min allowed buttons: 1, Max allowed buttons: %d", maxButtons))
	for _, b := range buttons {
		b.only("type", "reply")
		failIf(b.text("type") != "reply", CodeValue, "Button type must be reply")
		reply := b.object("reply")
		reply.only("id", "title")
		button := Button{ID: reply.text("id"), Title: reply.text("title")}
		failIf(outside(button.ID, maxButtonID), CodeValue, fmt.Sprintf("Button id length invalid. Min length: 1, Max length: %d", maxButtonID))
		failIf(outside(button.Title, maxButtonTitle), CodeValue, fmt.Sprintf("Button title length invalid. Min length: 1, Max length: %d", maxButtonTitle))
		failIf(strings.TrimSpace(button.ID) != button.ID, CodeValue, "Button id has leading or trailing spaces")
		failIf(slices.ContainsFunc(v.Buttons, func(other Button) bool { return other.ID == button.ID || other.Title == button.Title }),
			CodeValue, "Duplicate button id or title")
		v.Buttons = append(v.Buttons, button)
	}
	return v
}

// bounded is the text of a part of an interactive message; "" when the part was not given.
func (f fields) bounded(name, title string, most int) string {
	if !f.has(name) {
		return ""
	}
	part := f.object(name)
	part.only("text")
	text := part.text("text")
	failIf(outside(text, most), CodeValue, fmt.Sprintf("%s length invalid. Min length: 1, Max length: %d", title, most))
	return text
}

// outside tells whether a text is blank or too long.
func outside(text string, most int) bool {
	return strings.TrimSpace(text) == "" || units(text) > most
}

// header reads that of an interactive message: a text, an image, a video or a document.
func (s *Server) header(r *request, part fields) (text string, file *File, link string) {
	kind := part.text("type")
	part.only("type", kind)
	switch kind {
	case "text":
		text = part.text("text")
		failIf(outside(text, maxHeader), CodeValue, fmt.Sprintf("Header text length invalid. Min length: 1, Max length: %d", maxHeader))
	case "image", "video", "document":
		v := s.mediaPart(r, kind, part.object(kind))
		file, link = v.File, v.Link
	default:
		panic(fail(CodeValue, "Invalid header type"))
	}
	return text, file, link
}

// firstLink is the address that gets a preview.
// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/text-messages#link-preview
func firstLink(text string) []string {
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(word, "<>()[]*_~`\"'.,;:!?")
		if u, err := url.Parse(word); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
			return []string{word}
		}
	}
	return nil
}

// markRead marks a person's message and all earlier ones as read, and may show that the business types.
// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/typing-indicators
func (s *Server) markRead(r *request) any {
	f := r.fields
	needProduct(f.text("messaging_product"), f.has("messaging_product"))
	f.only("messaging_product", "status", "message_id", "typing_indicator")
	rig.RefuseIf(f.text("status") != "read", badParam(`Param status must be one of {READ} - got %q.`, f.text("status")))
	f.need("message_id")
	typing := f.object("typing_indicator")
	typing.only("type")
	if f.has("typing_indicator") {
		rig.RefuseIf(typing.text("type") != "text", badParam(`Param typing_indicator['type'] must be one of {TEXT} - got %q.`, typing.text("type")))
	}
	m := s.messages[f.text("message_id")]
	failIf(m == nil || m.FromBot, CodeValue, "Message to mark as read was not found.")
	c := s.persons[m.User]
	r.call.User, r.call.Message = m.User, m.ID
	for _, earlier := range c.messages {
		if !earlier.FromBot && earlier.Read.IsZero() {
			earlier.Read = r.now
		}
		if earlier == m {
			break
		}
	}
	s.stats.Reads++
	if f.has("typing_indicator") {
		s.stats.Typings++
		s.stopTyping(c, r.now)
		c.typings = append(c.typings, Typing{From: r.now, To: r.now.Add(typingTime)})
		s.Publish("typing", Event{User: m.User, Typing: &c.typings[len(c.typings)-1]})
	}
	return object{"success": true}
}

// stopTyping ends what the person sees of typing.
func (s *Server) stopTyping(c *conversation, now time.Time) {
	if n := len(c.typings); n > 0 && c.typings[n-1].To.After(now) {
		c.typings[n-1].To = now
	}
}

// add puts a message into a conversation.
func (s *Server) add(c *conversation, m *Message) {
	c.messages = append(c.messages, m)
	s.messages[m.ID] = m
	s.Publish("message", Event{User: m.User, Message: m})
}

// react adds somebody's reaction to a message, or takes it back.
func (s *Server) react(m *Message, reaction Reaction) {
	m.Reactions = append(m.Reactions, reaction)
	s.Publish("reaction", Event{User: m.User, Message: m})
}

// nextMessageID is an id that was never used. Like the platform's it holds the recipient, and characters that must be
// escaped in addresses.
func (s *Server) nextMessageID(user string) string {
	s.serial++
	return idPrefix + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "\x1d\x03%s\x15\x02\x00\x11\x18\xff%012d", user, s.serial))
}
