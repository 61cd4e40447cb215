package telegram

import (
	"encoding/json"
	"errors"
	"fmt"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
	"telex/platforms/internal/receiving"
)

// update holds what is used of an update. The structs around a message are ours because the library's date
// from 2021: they lack topics, and one field of theirs that has changed since would make the
// whole message unreadable (ADR 13). Other updates, my_chat_member too, say nothing to answer.
type update struct {
	ID       int        `json:"update_id"`
	Message  *incoming  `json:"message"`
	Edited   *incoming  `json:"edited_message"`
	Callback *callback  `json:"callback_query"`
	Stopped  *stopPress `json:"stopped_message_generation"`
}

// incoming holds what is used of a message and of the message that it refers to.
type incoming struct {
	posted
	ReplyTo  lenient[posted]    `json:"reply_to_message"`
	External lenient[external]  `json:"external_reply"`
	Quote    lenient[textQuote] `json:"quote"`
}

// posted holds what is used of any message.
type posted struct {
	ID         int            `json:"message_id"`
	Album      string         `json:"media_group_id"` // the same in every message of an album
	Date       int64          `json:"date"`           // Unix seconds
	Chat       *tgbotapi.Chat `json:"chat"`
	Thread     int            `json:"message_thread_id"` // also set on plain replies; a topic only with InTopic
	InTopic    bool           `json:"is_topic_message"`
	From       *tgbotapi.User `json:"from"`
	SenderChat *tgbotapi.Chat `json:"sender_chat"` // instead of a person: anonymous administrators, channels
	Forwarded  bool           `json:"is_automatic_forward"`
	ViaBot     *tgbotapi.User `json:"via_bot"`

	ForwardedFrom lenient[origin]          `json:"forward_origin"`
	ForwardedAt   any                      `json:"forward_date"`
	MovedTo       int64                    `json:"migrate_to_chat_id"`   // the group is that supergroup now
	MovedFrom     int64                    `json:"migrate_from_chat_id"` // the supergroup was that group
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
	Animation *mediaFile  `json:"animation"` // is in Document too
	Sticker   *sticker    `json:"sticker"`
	wordless
}

// wordless holds things without a content that a bot could read. Only their presence is used.
type wordless struct {
	Venue     any `json:"venue"` // is in Location too
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

// stopPress holds what is used of a press on the stop button of a draft. It names nobody: drafts exist in private chats only.
// https://core.telegram.org/bots/api#stoppedmessagegeneration
type stopPress struct {
	Chat   *tgbotapi.Chat `json:"chat"`
	Thread int            `json:"message_thread_id"`
	Draft  int64          `json:"draft_id"`
}

// callback holds what is used of a press on a button.
type callback struct {
	ID      string         `json:"id"`
	From    *tgbotapi.User `json:"from"`
	Message *posted        `json:"message"` // the one with the button; absent for inline messages
	Data    string         `json:"data"`
}

// mediaFile holds what is used of a file of any kind.
type mediaFile struct {
	ID        string `json:"file_id"`
	Name      string `json:"file_name"`
	MediaType string `json:"mime_type"`
	Size      int64  `json:"file_size"`
}

// sticker is a picture, an animation of Telegram's own format, or a short video.
type sticker struct {
	mediaFile
	Animated bool `json:"is_animated"`
	Video    bool `json:"is_video"`
}

var errNoChat = errors.New("the message has no chat or no id")

// decode turns an update into what somebody said to the bot, and names the album that it is a
// part of, if it is. It reports false for what needs no attention. Its errors, and a panic
// that it turns into one, contain nothing of the text.
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
