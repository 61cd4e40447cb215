package whatsapp

import "encoding/json"

// The following types are the payloads of webhooks, with only those fields that this package uses.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages

// notification is the body of a webhook.
type notification struct {
	Object string `json:"object"`
	Entry  []struct {
		Changes []struct {
			Field string          `json:"field"`
			Value json.RawMessage `json:"value"`
		} `json:"changes"`
	} `json:"entry"`
}

// objectAccount and fieldMessages are the values by which the package recognizes notifications about messages.
const (
	objectAccount = "whatsapp_business_account"
	fieldMessages = "messages"
)

// change is the value of the webhook field "messages". The lists of a change contain raw JSON. The package decodes each
// element separately, so that one invalid message does not prevent the decoding of the other messages.
type change struct {
	Metadata struct {
		PhoneNumberID string `json:"phone_number_id"`
	} `json:"metadata"`
	Contacts []json.RawMessage `json:"contacts"`
	Messages []json.RawMessage `json:"messages"`
	Statuses []json.RawMessage `json:"statuses"`
	Errors   []json.RawMessage `json:"errors"`
}

// contact is a person who wrote one of the messages in the webhook.
type contact struct {
	Number  string `json:"wa_id"`
	User    string `json:"user_id"` // the business-scoped user id
	Profile struct {
		Name     string `json:"name"`
		Username string `json:"username"`
	} `json:"profile"`
}

// message is a message that a person wrote, or another action of a person, such as the press of a button.
type message struct {
	ID        string `json:"id"`
	From      string `json:"from"`         // the sender's phone number; empty if the sender hides it
	User      string `json:"from_user_id"` // the business-scoped user id
	Group     string `json:"group_id"`
	Timestamp string `json:"timestamp"` // Unix seconds
	Type      string `json:"type"`
	Text      struct {
		Body string `json:"body"`
	} `json:"text"`
	Image    *media `json:"image"`
	Video    *media `json:"video"`
	Audio    *media `json:"audio"`
	Document *media `json:"document"`
	Sticker  *media `json:"sticker"`
	Button   struct {
		Text string `json:"text"`
	} `json:"button"` // the press of a button below a message that was sent from a template
	Unsupported struct {
		Type string `json:"type"`
	} `json:"unsupported"`
	Interactive struct {
		Type   string `json:"type"`
		Button struct {
			ID string `json:"id"`
		} `json:"button_reply"`
	} `json:"interactive"`
	Context struct {
		From      string `json:"from"` // the author of the message that the person replies to
		ID        string `json:"id"`
		Forwarded bool   `json:"forwarded"`
		Often     bool   `json:"frequently_forwarded"`
	} `json:"context"`
	Edit struct {
		ID      string          `json:"original_message_id"`
		Message json.RawMessage `json:"message"`
	} `json:"edit"`
	Revoke struct {
		ID string `json:"original_message_id"`
	} `json:"revoke"`
	System struct {
		Type string `json:"type"`
		New  string `json:"user_id"`
		Old  string `json:"previous_user_id"`
	} `json:"system"`
}

// media is a file that a message contains.
type media struct {
	ID        string `json:"id"`
	MediaType string `json:"mime_type"`
	Name      string `json:"filename"`
	Caption   string `json:"caption"`
	Voice     bool   `json:"voice"`
}

// status is the delivery status of a sent message.
// https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/status
type status struct {
	ID     string       `json:"id"`
	Status string       `json:"status"` // sent, delivered, read, played or failed
	Number string       `json:"recipient_id"`
	User   string       `json:"recipient_user_id"`
	Errors []graphError `json:"errors"`
}
