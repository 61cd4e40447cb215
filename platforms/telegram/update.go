package telegram

import (
	"encoding/json"
	"errors"
	"fmt"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// update holds the fields of an update that telex uses. telex does not use the library's structs for messages, which
// date from 2021 and lack topics (ADR 13). If Telegram changed the type of one field of a message, the library would
// fail to decode the whole message. All other kinds of updates, such as my_chat_member, contain nothing that the bot
// could answer.
type update struct {
	ID       int        `json:"update_id"`
	Message  *incoming  `json:"message"`
	Edited   *incoming  `json:"edited_message"`
	Callback *callback  `json:"callback_query"`
	Stopped  *stopPress `json:"stopped_message_generation"`
}

// incoming holds those fields that telex uses of a message, and of the message to which this message replies.
type incoming struct {
	baseMessage
	ReplyTo  lenient[baseMessage]   `json:"reply_to_message"`
	External lenient[externalReply] `json:"external_reply"`
	Quote    lenient[textQuote]     `json:"quote"`
}

// baseMessage holds the fields that telex uses in every message.
type baseMessage struct {
	ID         int            `json:"message_id"`
	Album      string         `json:"media_group_id"` // the id of the album, which is equal in all messages of the album
	Date       int64          `json:"date"`           // Unix seconds
	Chat       *tgbotapi.Chat `json:"chat"`
	Thread     int            `json:"message_thread_id"` // the topic if InTopic is true; plain replies have the field too
	InTopic    bool           `json:"is_topic_message"`
	From       *tgbotapi.User `json:"from"`
	SenderChat *tgbotapi.Chat `json:"sender_chat"` // the sender, if the sender is an anonymous administrator or a channel
	Forwarded  bool           `json:"is_automatic_forward"`
	ViaBot     *tgbotapi.User `json:"via_bot"`

	ForwardedFrom lenient[origin]          `json:"forward_origin"`
	ForwardedAt   any                      `json:"forward_date"`
	MovedTo       int64                    `json:"migrate_to_chat_id"`   // the group became this supergroup
	MovedFrom     int64                    `json:"migrate_from_chat_id"` // the supergroup was this group
	Text          string                   `json:"text"`
	Entities      []tgbotapi.MessageEntity `json:"entities"`
	Caption       string                   `json:"caption"`
	InCaption     []tgbotapi.MessageEntity `json:"caption_entities"`
	media
}

// media holds the files of a message.
type media struct {
	Photo     []mediaFile `json:"photo"` // one picture in several sizes
	Document  *mediaFile  `json:"document"`
	Voice     *mediaFile  `json:"voice"`
	Audio     *mediaFile  `json:"audio"`
	Video     *mediaFile  `json:"video"`
	VideoNote *mediaFile  `json:"video_note"`
	Animation *mediaFile  `json:"animation"` // the field Document contains the same file
	Sticker   *sticker    `json:"sticker"`
	unreadable
}

// unreadable holds content that a bot can't read. telex only checks which of these fields are present.
type unreadable struct {
	Venue     any `json:"venue"` // the field Location contains the same place
	Location  any `json:"location"`
	Contact   any `json:"contact"`
	Poll      any `json:"poll"`
	Dice      any `json:"dice"`
	Game      any `json:"game"`
	Story     any `json:"story"`
	Checklist any `json:"checklist"`
	PaidMedia any `json:"paid_media"`
	Giveaway  any `json:"giveaway"`
}

// stopPress holds the fields that telex uses of a press on a draft's stop button. The press contains no user, because
// drafts exist only in private chats. https://core.telegram.org/bots/api#stoppedmessagegeneration
type stopPress struct {
	Chat   *tgbotapi.Chat `json:"chat"`
	Thread int            `json:"message_thread_id"`
	Draft  int64          `json:"draft_id"`
}

// callback holds the fields that telex uses of a button press.
type callback struct {
	ID      string         `json:"id"`
	From    *tgbotapi.User `json:"from"`
	Message *baseMessage   `json:"message"` // the message with the button; absent for inline messages
	Data    string         `json:"data"`
}

// mediaFile holds the fields that telex uses in every file.
type mediaFile struct {
	ID        string `json:"file_id"`
	Name      string `json:"file_name"`
	MediaType string `json:"mime_type"`
	Size      int64  `json:"file_size"`
}

// sticker is a picture, an animation in Telegram's own format, or a short video.
type sticker struct {
	mediaFile
	Animated bool `json:"is_animated"`
	Video    bool `json:"is_video"`
}

var errNoChat = errors.New("the message has no chat or no id")

// decode converts an update to a message for the bot. If the message belongs to an album, decode also returns the
// album. The result found is false if the bot ignores the update. The errors of decode contain nothing of the message's
// text. decode recovers from panics and returns an error instead.
func decode(raw json.RawMessage, self tgbotapi.User) (in chat.Inbound, album string, found bool, err error) {
	defer receiving.Recover("decode update", &err)
	u, err := receiving.Decode[update](raw)
	if err != nil {
		return chat.Inbound{}, "", false, fmt.Errorf("decode update: %w", err)
	}
	switch {
	case u.Message != nil:
		in, found, err = decodeMessage(u.Message, self)
		return in, u.Message.Album, found, err
	case u.Edited != nil:
		in, found, err = decodeEdit(u.Edited, self)
	case u.Callback != nil:
		in, found, err = decodeCallback(u.Callback, self)
	case u.Stopped != nil:
		in, found = decodeStop(u.Stopped, u.ID)
	}
	return in, "", found, err
}
