package whatsapp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// maxName limits the name of a person, in bytes. WhatsApp itself limits a person's name to 25 characters.
const maxName = 256

// webhookContent is the decoded content of a webhook.
type webhookContent struct {
	messages []receivedMessage
	statuses []deliveryFailure
	changes  []userIDChange
	problems []error
}

// receivedMessage is a message from a person, with a reference to the message that the person replies to.
type receivedMessage struct {
	in           chat.Inbound
	replied      string // id of the message that the person replies to; empty: the message is not a reply
	repliesToBot bool   // the person replies to a message of the bot
}

// deliveryFailure describes a message that WhatsApp could not deliver, and the cause.
type deliveryFailure struct {
	id, chat    string
	code        int
	description string
}

// userIDChange reports that a person's business-scoped user id has changed, because the person has a new phone
// number.
type userIDChange struct{ Old, New string }

// decode decodes a webhook. Meta sends the webhooks of all phone numbers of an app to one URL, so decode ignores
// changes that belong to a phone number other than the bot's. The field problems of the result contains no text that
// people wrote.
func decode(body []byte, number string) (n webhookContent) {
	all, err := receiving.Decode[notification](body)
	if err != nil {
		return webhookContent{problems: []error{fmt.Errorf("decode webhook: %w", err)}}
	}
	if all.Object != objectAccount {
		return webhookContent{}
	}
	for _, e := range all.Entry {
		for _, c := range e.Changes {
			if c.Field == fieldMessages {
				n.addChange(c.Value, number)
			}
		}
	}
	return n
}

// addChange decodes one change of a webhook, and adds its content to n.
func (n *webhookContent) addChange(raw json.RawMessage, number string) {
	c, err := receiving.Decode[change](raw)
	if err != nil {
		n.problems = append(n.problems, fmt.Errorf("decode change: %w", err))
		return
	}
	if c.Metadata.PhoneNumberID != number {
		return
	}
	var contacts []contact
	for _, raw := range c.Contacts {
		if one, err := receiving.Decode[contact](raw); err == nil {
			contacts = append(contacts, *one)
		}
	}
	for _, raw := range c.Messages {
		if err := n.addMessage(raw, contacts); err != nil {
			n.problems = append(n.problems, fmt.Errorf("decode message: %w", err))
		}
	}
	for _, raw := range c.Statuses {
		if s, err := receiving.Decode[status](raw); err != nil {
			n.problems = append(n.problems, fmt.Errorf("decode status: %w", err))
		} else if s.Status == "failed" {
			n.statuses = append(n.statuses, s.failure())
		}
	}
	for _, raw := range c.Errors {
		if e, err := receiving.Decode[graphError](raw); err == nil {
			n.problems = append(n.problems, fmt.Errorf("WhatsApp reports error %d: %s", e.Code, e.description()))
		}
	}
}

// failure returns which message WhatsApp could not deliver, and why.
func (s *status) failure() deliveryFailure {
	out := deliveryFailure{id: s.ID, chat: cmp.Or(s.User, s.Number)}
	for _, e := range s.Errors {
		out.code, out.description = cmp.Or(out.code, e.Code), cmp.Or(out.description, e.description())
	}
	return out
}

// addMessage decodes one message of a webhook, and adds it to n.
func (n *webhookContent) addMessage(raw json.RawMessage, contacts []contact) (err error) {
	defer receiving.Recover("decode message", &err)
	m, err := receiving.Decode[message](raw)
	if err != nil {
		return err
	}
	if m.Type == "system" {
		if m.System.Old != "" && m.System.New != "" {
			n.changes = append(n.changes, userIDChange{m.System.Old, m.System.New})
		}
		return nil
	}
	if m.Group != "" { // ignore messages in groups: only official business accounts can be in groups
		return nil
	}
	in, err := m.inbound(contacts)
	if err != nil {
		return err
	}
	if m.decode(&in) {
		n.messages = append(n.messages, receivedMessage{in: in, replied: m.Context.ID, repliesToBot: m.Context.From != "" && m.Context.From != m.From && m.Context.From != m.User})
	}
	return nil
}

// The method inbound returns a chat.Inbound with the sender and the time of m.
func (m *message) inbound(contacts []contact) (chat.Inbound, error) {
	var who contact
	for _, c := range contacts {
		if len(contacts) == 1 || m.From != "" && c.Number == m.From || m.User != "" && c.User == m.User {
			who = c
			break
		}
	}
	id := cmp.Or(m.User, who.User, m.From, who.Number)
	seconds, err := strconv.ParseInt(m.Timestamp, 10, 64)
	switch {
	case m.ID == "" || len(m.ID) > maxID:
		return chat.Inbound{}, errors.New("missing id")
	case !phoneNumber.MatchString(id) && !userID.MatchString(id):
		return chat.Inbound{}, errors.New("missing sender")
	case err != nil:
		return chat.Inbound{}, errors.New("invalid time")
	}
	return chat.Inbound{
		To:        chat.Target{Chat: chat.ChatID(id)},
		Sender:    chat.Sender{ID: chat.UserID(id), Name: clip(cmp.Or(strings.TrimSpace(who.Profile.Name), who.Profile.Username), maxName)},
		ID:        chat.MessageID(m.ID),
		Resume:    m.Timestamp + " " + m.ID,
		Addressed: true,
		At:        time.Unix(seconds, 0),
	}, nil
}

// maxID limits the length of a message id in bytes. The message ids that WhatsApp sends have less than a hundred bytes.
const maxID = 512

// The method decode sets the kind, text and attachments of the inbound message in. If m contains nothing that the
// gateway handles, the method returns false.
func (m *message) decode(in *chat.Inbound) bool {
	if m.Context.Forwarded || m.Context.Often {
		in.Origin = chat.Forwarded
	}
	switch m.Type {
	case "text":
		in.Text = m.Text.Body
	case "button":
		in.Text = m.Button.Text
	case "interactive":
		in.Kind, in.Action = chat.Button, m.Interactive.Button.ID
		return m.Interactive.Type == "button_reply" && in.Action != ""
	case "edit":
		var edited message
		if m.Edit.ID == "" || json.Unmarshal(m.Edit.Message, &edited) != nil {
			return false
		}
		edited.addFile(in)
		in.Kind, in.ID, in.Text, in.Attachments = chat.Edited, chat.MessageID(m.Edit.ID), cmp.Or(edited.Text.Body, in.Text), nil
		return in.Text != ""
	case "revoke":
		in.Kind, in.ID = chat.Deleted, chat.MessageID(m.Revoke.ID)
		return in.ID != ""
	case "reaction", "request_welcome", "identity":
		return false
	case "unsupported":
		if slices.Contains([]string{"edit", "pin", "keep_in_chat", "reaction", "poll_update", "unknown"}, m.Unsupported.Type) {
			return false // m is an event about another message; "unknown" usually means that the other message was deleted
		}
		m.addFile(in)
	default:
		m.addFile(in)
	}
	if in.Text = strings.TrimSpace(in.Text); in.Text != "" && in.Origin == chat.Typed && len(in.Attachments) == 0 {
		*in = receiving.Command(*in)
	}
	return in.Text != "" || len(in.Attachments) > 0
}

// addFile adds the file of m and the file's caption to the inbound message. Content that can't be downloaded, such as a
// location, becomes an attachment without an id, whose name is the kind of content. An attachment without an id lets
// the gateway tell the person that the bot can't read the content.
func (m *message) addFile(in *chat.Inbound) {
	for _, f := range []struct {
		*media
		name string
	}{{m.Image, "photo"}, {m.Video, "video"}, {m.Audio, "audio"}, {m.Document, "document"}, {m.Sticker, "sticker"}} {
		if f.media == nil {
			continue
		}
		kind, _, err := mime.ParseMediaType(f.MediaType)
		if err != nil {
			kind = ""
		}
		if f.Voice {
			f.name = "voice"
		}
		in.Text = cmp.Or(in.Text, f.Caption)
		in.Attachments = append(in.Attachments, chat.Attachment{Name: cmp.Or(f.Name, f.name+extension(kind)), MediaType: kind, ID: f.ID})
	}
	if len(in.Attachments) == 0 {
		name := map[string]string{"location": "location", "contacts": "contact", "order": "order"}[m.Type]
		in.Attachments = []chat.Attachment{{Name: cmp.Or(name, "message")}}
	}
}

// extension returns the file extension for a media type. addFile appends this extension to the name that it gives to a
// nameless file, because transcription services choose the decoder by the file name.
func extension(mediaType string) string {
	return map[string]string{
		"image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp", "audio/ogg": ".ogg", "audio/mpeg": ".mp3", "audio/mp4": ".m4a",
		"audio/aac": ".aac", "audio/amr": ".amr", "video/mp4": ".mp4", "video/3gpp": ".3gp",
	}[mediaType]
}

// unknownText replaces the text of a quoted message that this process does not remember, because the message is too old
// or was sent before the process started. A webhook contains only the id of a quoted message, not its text.
const unknownText = "[an earlier message, whose text is not known]"

// The method quotes returns a list with the message to which m replies. If m is a button press, quotes returns nil,
// because the press refers only to the question above the button.
func (b *Bot) quotes(m receivedMessage) []chat.Quote {
	if m.replied == "" || m.in.Kind != chat.Text && m.in.Kind != chat.Command {
		return nil
	}
	return []chat.Quote{b.quote(m.in.To.Chat, chat.Quote{Own: m.repliesToBot, Text: unknownText, ID: chat.MessageID(m.replied)})}
}

// The method quote returns the remembered message to which q refers. If the bot does not remember the quoted message,
// the method returns q unchanged.
func (b *Bot) quote(in chat.ChatID, q chat.Quote) chat.Quote {
	if known, ok := b.texts.Get(textKey(in, q.ID)); ok && q.ID != "" {
		return *known
	}
	return q
}

// clip returns a prefix of text with at most limit bytes.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
