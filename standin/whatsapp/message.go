package whatsapp

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"time"

	"telex/standin/rig"
)

const (
	// idPrefix is the prefix of all message ids.
	idPrefix = "wamid."
	// window is how long the business may write after a person's last message. Source:
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/send-messages#customer-service-windows
	window = 24 * time.Hour
	// typingLifetime is how long WhatsApp shows the business as typing, if the business sends no message before.
	// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/typing-indicators
	typingLifetime = 25 * time.Second
	// referenceLifetime is how long the business can mark a message as read or react to it. The comments on the methods
	// name the sources.
	referenceLifetime = 30 * 24 * time.Hour
	// maxOpaque is the maximum length of biz_opaque_callback_data.
	maxOpaque = 512
)

// outgoing is a message of the business while the call that sends it runs.
type outgoing struct {
	Message
	version  Version
	reaction *Reaction // set if the call sends a reaction in place of a message
}

// send implements
// https://developers.facebook.com/documentation/business-messaging/whatsapp/reference/whatsapp-business-phone-number/message-api.
func (s *Server) send(r *request) any {
	f := r.fields
	checkProduct(f.text("messaging_product"), f.has("messaging_product"))
	if kind := f.text("recipient_type"); f.has("recipient_type") && kind != "individual" {
		panic(badParam(`Param recipient_type must be one of {INDIVIDUAL} - got %q.`, kind))
	}
	out := s.content(r)
	f.only("messaging_product", "recipient_type", "to", "recipient", "type", "context", "biz_opaque_callback_data", out.Type)
	out.opaque = f.text("biz_opaque_callback_data")
	f.limit("biz_opaque_callback_data", out.opaque, maxOpaque)
	context := f.object("context")
	context.only("message_id")
	if f.has("context") {
		context.require("message_id")
		rig.RefuseIf(out.reaction != nil, fail(CodeParameter, "A reaction can't be a contextual reply."))
	}
	to := s.recipient(f)
	r.call.User = to.user
	s.charge(r, s.limiter.pair(to.user), s.limiter.throughput())
	out.toPhone = to.byPhone
	if id := context.text("message_id"); id != "" {
		out.ReplyTo = s.quoted(r, to, id)
	}
	s.deliverMessage(r, to, &out)
	contact := object{"input": to.input}
	if to.byPhone {
		contact["wa_id"] = to.digits
	} else {
		contact["user_id"] = to.user
	}
	return object{"messaging_product": "whatsapp", "contacts": []object{contact}, "messages": []object{{"id": out.ID}}}
}

// checkProduct refuses the call if the parameter messaging_product is missing or wrong. All calls with a body need the
// parameter messaging_product.
func checkProduct(product string, given bool) {
	rig.RefuseIf(!given, badParam("The parameter messaging_product is required."))
	rig.RefuseIf(product != "whatsapp", badParam(`Param messaging_product must be one of {WHATSAPP} - got %q.`, product))
}

// deliverMessage delivers a message to the person. If it can't deliver the message, deliverMessage refuses the call, or
// reports the failure by a webhook, as WhatsApp does.
func (s *Server) deliverMessage(r *request, to recipient, out *outgoing) {
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
		s.sendFailure(to, out, refusal)
		return
	}
	m := &out.Message
	m.User, m.FromBot = to.user, true
	if out.reaction != nil {
		s.deliverReaction(r, to, out)
		return
	}
	out.version.At, out.version.Method = r.now, r.call.Method
	m.Versions = []Version{out.version}
	s.stopTyping(to.conversation, r.now)
	s.add(to.conversation, m)
	s.stats.Messages++
	s.status(to.conversation, m, "sent")
	s.status(to.conversation, m, "delivered")
}

// deliverReaction adds the business's emoji to a message. If it can't add the emoji, deliverReaction accepts the call
// and reports the failure by a webhook, as WhatsApp does. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/reaction-messages
func (s *Server) deliverReaction(r *request, to recipient, out *outgoing) {
	target := s.messages[out.reaction.to]
	if target == nil || target.User != to.user || !target.Alive() || target.age(r.now) > referenceLifetime {
		s.stats.Failed++
		s.sendFailure(to, out, fail(CodeValue, "Message to react to was not found."))
		return
	}
	s.react(target, *out.reaction)
	s.stats.Reactions++
	s.sendStatus(to.conversation, &out.Message, "sent")
}

// recipient is the person to whom the business sends a message.
type recipient struct {
	*conversation // nil if no person has this id or phone number
	user          string
	input, digits string
	byPhone       bool
}

var (
	phonePattern = regexp.MustCompile(`^\+?[0-9 ()-]+$`)
	// userPattern matches a business-scoped user id: a country code, a dot, and up to 128 letters and digits. Source:
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids
	userPattern = regexp.MustCompile(`^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$`)
)

// recipient returns the recipient of a message. A phone number takes precedence over a business-scoped user id.
func (s *Server) recipient(f fields) recipient {
	if !f.has("to") && f.has("recipient") {
		id := f.text("recipient")
		rig.RefuseIf(!userPattern.MatchString(id), fail(CodeParameter, "Parameter Invalid: recipient"))
		return recipient{conversation: s.persons[id], user: id, input: id}
	}
	f.require("to")
	input := f.text("to")
	digits := normalizePhone(input)
	rig.RefuseIf(digits == "", fail(CodeParameter, "Parameter Invalid: to"))
	failIf(digits == Number, CodeSelf, "")
	to := recipient{conversation: s.byPhone[digits], user: digits, input: input, digits: digits, byPhone: true}
	if to.conversation != nil {
		to.user = to.person.UserID
	}
	return to
}

// normalizePhone returns the digits of a phone number, or "" if the text is not a phone number.
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

// quoted returns the id of the message that a reply quotes, or "" if the person would see no quote.
func (s *Server) quoted(r *request, to recipient, id string) string {
	rig.RefuseIf(!strings.HasPrefix(id, idPrefix), fail(CodeParameter, "Parameter Invalid: context['message_id']"))
	if m := s.messages[id]; m == nil || m.User != to.user {
		s.recordViolation(BadReference, r.call.Method, to.user, "no message "+id)
		return ""
	}
	return id
}

// markRead marks a person's message and all earlier messages as read. If the call requests a typing indicator, the
// person also sees that the business types. Sources:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/mark-message-as-read and
// https://developers.facebook.com/documentation/business-messaging/whatsapp/typing-indicators
func (s *Server) markRead(r *request) any {
	f := r.fields
	checkProduct(f.text("messaging_product"), f.has("messaging_product"))
	f.only("messaging_product", "status", "message_id", "typing_indicator")
	rig.RefuseIf(f.text("status") != "read", badParam(`Param status must be one of {READ} - got %q.`, f.text("status")))
	f.require("message_id")
	typing := f.object("typing_indicator")
	typing.only("type")
	if f.has("typing_indicator") {
		rig.RefuseIf(typing.text("type") != "text", badParam(`Param typing_indicator['type'] must be one of {TEXT} - got %q.`, typing.text("type")))
	}
	m := s.messages[f.text("message_id")]
	failIf(m == nil || m.FromBot || m.age(r.now) > referenceLifetime, CodeValue, "Message to mark as read was not found.")
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
		c.typings = append(c.typings, Typing{From: r.now, To: r.now.Add(typingLifetime)})
		s.Publish("typing", Event{User: m.User, Typing: &c.typings[len(c.typings)-1]})
	}
	return object{"success": true}
}

// stopTyping ends the typing indicator in a conversation.
func (s *Server) stopTyping(c *conversation, now time.Time) {
	if n := len(c.typings); n > 0 && c.typings[n-1].To.After(now) {
		c.typings[n-1].To = now
	}
}

// add adds a message to a conversation.
func (s *Server) add(c *conversation, m *Message) {
	c.messages = append(c.messages, m)
	s.messages[m.ID] = m
	s.Publish("message", Event{User: m.User, Message: m})
}

// react adds or removes a reaction of the person or the business to a message.
func (s *Server) react(m *Message, reaction Reaction) {
	m.Reactions = append(m.Reactions, reaction)
	s.Publish("reaction", Event{User: m.User, Message: m})
}

// nextMessageID returns a new message id. Like an id of WhatsApp, the new id contains the recipient, and characters
// that must be escaped in URLs.
func (s *Server) nextMessageID(user string) string {
	s.serial++
	return idPrefix + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "\x1d\x03%s\x15\x02\x00\x11\x18\xff%012d", user, s.serial))
}
