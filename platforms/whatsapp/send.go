package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf16"

	"telex/internal/chat"
	"telex/internal/markup"
)

// outgoing is the body of the API call that sends a message.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/messages/send-messages
type outgoing struct {
	Product     string       `json:"messaging_product"`
	Kind        string       `json:"recipient_type"`
	To          string       `json:"to,omitempty"`        // a phone number
	Recipient   string       `json:"recipient,omitempty"` // the person's business-scoped user id
	Context     *replyTo     `json:"context,omitempty"`
	Type        string       `json:"type"`
	Text        *textBody    `json:"text,omitempty"`
	Interactive *interactive `json:"interactive,omitempty"`
	Image       *mediaBody   `json:"image,omitempty"`
	Video       *mediaBody   `json:"video,omitempty"`
	Audio       *mediaBody   `json:"audio,omitempty"`
	Document    *mediaBody   `json:"document,omitempty"`
}

type replyTo struct {
	ID string `json:"message_id"`
}

type textBody struct {
	Body    string `json:"body"`
	Preview bool   `json:"preview_url"`
}

// interactive is a text with buttons.
type interactive struct {
	Type string `json:"type"`
	Body struct {
		Text string `json:"text"`
	} `json:"body"`
	Action struct {
		Buttons []button `json:"buttons"`
	} `json:"action"`
}

type button struct {
	Type  string `json:"type"`
	Reply struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	} `json:"reply"`
}

type mediaBody struct {
	ID      string `json:"id"`
	Caption string `json:"caption,omitempty"`
	Name    string `json:"filename,omitempty"`
}

// Send sends a new message. After an Uncertain error, telex can't find out whether WhatsApp created the message,
// because the API has no idempotency keys and can't search for messages. If the message to reply to no longer exists,
// WhatsApp sends the new message without a quote.
func (b *Bot) Send(ctx context.Context, to chat.Target, m chat.Outgoing) (chat.Receipt, error) {
	switch n := markup.Units(m.Text); {
	case n > textLimit:
		return chat.Receipt{}, &chat.SendError{Kind: chat.TooLong, Err: fmt.Errorf("%s: the text has %d UTF-16 units, and the maximum is %d", opMessage, n, textLimit)}
	case strings.TrimSpace(m.Text) == "":
		return chat.Receipt{}, &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("%s: empty text", opMessage)}
	}
	out := outgoing{Type: "text", Text: &textBody{Body: m.Text, Preview: m.LinkPreview != ""}}
	if list := buttons(m); len(list) > 0 {
		with := &interactive{Type: "button"}
		with.Body.Text, with.Action.Buttons = m.Text, list
		out.Type, out.Text, out.Interactive = "interactive", nil, with
	}
	return b.create(ctx, to, m, out)
}

// buttons returns the buttons of a message, or nil if the text is too long for a message with buttons. People can also
// answer without buttons, because the text above the buttons says how to answer in words.
func buttons(m chat.Outgoing) []button {
	if markup.Units(m.Text) > buttonTextLimit {
		return nil
	}
	var list []button
	for _, a := range m.Actions[:min(len(m.Actions), maxButtons)] {
		one := button{Type: "reply"}
		one.Reply.ID, one.Reply.Title = a.ID, cutUnits(a.Label, titleLimit)
		list = append(list, one)
	}
	return list
}

// create makes the API call that sends a message to a person.
func (b *Bot) create(ctx context.Context, to chat.Target, m chat.Outgoing, out outgoing) (chat.Receipt, error) {
	out.Product, out.Kind = "whatsapp", "individual"
	switch id := string(to.Chat); {
	case phoneNumber.MatchString(id):
		out.To = id
	case userID.MatchString(id): // in the field "to", Meta would treat the user id as a phone number and lose the message without an error
		out.Recipient = id
	default:
		return chat.Receipt{}, &chat.SendError{Kind: chat.Forbidden, Err: fmt.Errorf("%s: %q is neither a phone number nor a user id", opMessage, id)}
	}
	if m.ReplyTo != "" {
		out.Context = &replyTo{ID: string(m.ReplyTo)}
	}
	var made struct {
		Messages []struct {
			ID string `json:"id"`
		} `json:"messages"`
	}
	if err := b.post(ctx, opMessage, "messages", out, &made); err != nil {
		return chat.Receipt{}, err
	}
	receipt := chat.Receipt{Ref: chat.MessageRef{Target: to}}
	if len(made.Messages) > 0 {
		receipt.Ref.ID = chat.MessageID(made.Messages[0].ID)
		b.rememberText(to.Chat, receipt.Ref.ID, chat.Quote{Own: true, Text: m.Plain})
	}
	return receipt, nil
}

// These regular expressions match the two kinds of ids by which WhatsApp identifies a person.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids
var (
	phoneNumber = regexp.MustCompile(`^[0-9]{1,20}$`)
	userID      = regexp.MustCompile(`^[A-Z]{2}\.(?:ENT\.)?[0-9A-Za-z]{1,128}$`)
)

// Typing marks the newest message of a person as read, and shows a typing indicator for 25 seconds or until the next
// message. If the bot remembers no message of the chat, Typing instead requests the description of the bot's phone
// number. Requesting the description shows nothing to the person, but tells the caller of Typing whether Meta is
// reachable.
func (b *Bot) Typing(ctx context.Context, to chat.Target) error {
	newest, ok := b.newest.Get(string(to.Chat))
	if !ok {
		_, err := b.account(ctx)
		return err
	}
	body := map[string]any{
		"messaging_product": "whatsapp", "status": "read", "message_id": newest, "typing_indicator": map[string]string{"type": "text"},
	}
	return b.post(ctx, opTyping, "messages", body, &struct{}{})
}

// account is Meta's description of the phone number.
type account struct {
	ID     string `json:"id"`
	Name   string `json:"verified_name"`
	Number string `json:"display_phone_number"`
}

// account requests Meta's description of the phone number. If the access token or the phone number id is invalid, the
// method account fails.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/phone-numbers
func (b *Bot) account(ctx context.Context) (account, error) {
	var a account
	err := b.get(ctx, opAccount, b.opts.PhoneNumberID, url.Values{"fields": {"id,verified_name,display_phone_number"}}, &a)
	if err == nil && a.ID != b.opts.PhoneNumberID {
		err = &chat.SendError{Kind: chat.Temporary, Err: errors.New(string(opAccount) + ": unexpected response")}
	}
	if err == nil {
		b.name.Store(&a.Name)
	}
	return a, err
}

// cutUnits returns the longest prefix of text with at most n UTF-16 code units.
func cutUnits(text string, n int) string {
	for i, r := range text {
		if n -= max(1, utf16.RuneLen(r)); n < 0 {
			return text[:i]
		}
	}
	return text
}
