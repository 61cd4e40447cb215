package whatsapp

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"telex/standin/rig"
)

const (
	// maxText is the maximum length of a text. All limits on texts in this list are in UTF-16 units; see units. Source:
	// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/text-messages
	maxText = 4096
	// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/image-messages
	maxCaption  = 1024
	maxFilename = 240 // assumed, because WhatsApp's documentation states no limit
	// Source: https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/interactive-reply-buttons-messages
	maxBodyText    = 1024
	maxHeader      = 60
	maxFooter      = 60
	maxButtons     = 3
	maxButtonID    = 256
	maxButtonTitle = 20
)

// content decodes the content of a message that the business sends.
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
	f.require(kind)
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
		part.require("message_id")
		part.require("emoji")
		out.reaction = &Reaction{At: r.now, FromBot: true, Emoji: part.text("emoji"), to: part.text("message_id")}
		failIf(units(out.reaction.Emoji) > maxEmoji || strings.ContainsAny(out.reaction.Emoji, asciiLetters), CodeValue, "Invalid emoji")
	default:
		out.version = s.mediaPart(r, kind, part)
	}
	return out
}

const (
	// maxEmoji is the maximum length of a reaction's emoji in UTF-16 units. The longest emoji are families with up to 11
	// UTF-16 units, and flags of regions with 14 units.
	maxEmoji     = 16
	asciiLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// mediaPart decodes the content of a message with media, such as
// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/document-messages
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

// interactive decodes the content of a message with reply buttons.
func (s *Server) interactive(r *request, part fields) Version {
	part.only("type", "header", "body", "footer", "action")
	part.require("type")
	failIf(part.text("type") != "button", CodeValue, "The stand-in has no interactive messages of type "+part.text("type"))
	part.require("body")
	part.require("action")
	v := Version{Text: part.limitedText("body", "Body text", maxBodyText), Footer: part.limitedText("footer", "Footer text", maxFooter)}
	if part.has("header") {
		v.Header, v.File, v.Link = s.header(r, part.object("header"))
	}
	action := part.object("action")
	action.only("buttons")
	action.require("buttons")
	buttons := action.list("buttons")
	failIf(len(buttons) < 1 || len(buttons) > maxButtons, CodeValue, fmt.Sprintf("Invalid buttons count. Min allowed buttons: 1, Max allowed buttons: %d", maxButtons))
	for _, b := range buttons {
		b.only("type", "reply")
		failIf(b.text("type") != "reply", CodeValue, "Button type must be reply")
		reply := b.object("reply")
		reply.only("id", "title")
		button := Button{ID: reply.text("id"), Title: reply.text("title")}
		failIf(isBlankOrTooLong(button.ID, maxButtonID), CodeValue, fmt.Sprintf("Button id length invalid. Min length: 1, Max length: %d", maxButtonID))
		failIf(isBlankOrTooLong(button.Title, maxButtonTitle), CodeValue, fmt.Sprintf("Button title length invalid. Min length: 1, Max length: %d", maxButtonTitle))
		failIf(strings.TrimSpace(button.ID) != button.ID, CodeValue, "Button id has leading or trailing spaces")
		failIf(slices.ContainsFunc(v.Buttons, func(other Button) bool { return other.ID == button.ID || other.Title == button.Title }),
			CodeValue, "Duplicate button id or title")
		v.Buttons = append(v.Buttons, button)
	}
	return v
}

// limitedText returns the text of a part of an interactive message, or "" if the part is absent.
func (f fields) limitedText(name, title string, most int) string {
	if !f.has(name) {
		return ""
	}
	part := f.object(name)
	part.only("text")
	text := part.text("text")
	failIf(isBlankOrTooLong(text, most), CodeValue, fmt.Sprintf("%s length invalid. Min length: 1, Max length: %d", title, most))
	return text
}

// isBlankOrTooLong reports whether a text is blank or too long.
func isBlankOrTooLong(text string, most int) bool {
	return strings.TrimSpace(text) == "" || units(text) > most
}

// header decodes the header of an interactive message: a text, an image, a video or a document.
func (s *Server) header(r *request, part fields) (text string, file *File, link string) {
	kind := part.text("type")
	part.only("type", kind)
	switch kind {
	case "text":
		text = part.text("text")
		failIf(isBlankOrTooLong(text, maxHeader), CodeValue, fmt.Sprintf("Header text length invalid. Min length: 1, Max length: %d", maxHeader))
	case "image", "video", "document":
		v := s.mediaPart(r, kind, part.object(kind))
		file, link = v.File, v.Link
	default:
		panic(fail(CodeValue, "Invalid header type"))
	}
	return text, file, link
}

// firstLink returns the first URL in a text. WhatsApp shows a preview only for the first URL. Source:
// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/text-messages#link-preview
func firstLink(text string) []string {
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(word, "<>()[]*_~`\"'.,;:!?")
		if u, err := url.Parse(word); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
			return []string{word}
		}
	}
	return nil
}
