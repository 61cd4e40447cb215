package telegram

// These are the types that the Bot API sends and accepts, with the fields that this stand-in supports. Source:
// https://core.telegram.org/bots/api#available-types

// User is a person or a bot.
type User struct {
	ID           int64  `json:"id"`
	IsBot        bool   `json:"is_bot"`
	FirstName    string `json:"first_name"`
	Username     string `json:"username,omitempty"`
	LanguageCode string `json:"language_code,omitempty"`
}

type wireMe struct {
	User
	CanJoinGroups           bool `json:"can_join_groups"`
	CanReadAllGroupMessages bool `json:"can_read_all_group_messages"`
	SupportsInlineQueries   bool `json:"supports_inline_queries"`
	HasTopicsEnabled        bool `json:"has_topics_enabled"`
}

// Chat is a chat in the form of the Bot API.
type Chat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"` // private, group, supergroup or channel.
	Title     string `json:"title,omitempty"`
	Username  string `json:"username,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

// Entity is a formatted range of a text. Offset and Length are in UTF-16 units.
type Entity struct {
	Type           string `json:"type"`
	Offset         int    `json:"offset"`
	Length         int    `json:"length"`
	URL            string `json:"url,omitempty"`
	User           *User  `json:"user,omitempty"`
	Language       string `json:"language,omitempty"`
	CustomEmojiID  string `json:"custom_emoji_id,omitempty"`
	UnixTime       int64  `json:"unix_time,omitempty"`
	DateTimeFormat string `json:"date_time_format,omitempty"`
}

func (e Entity) end() int { return e.Offset + e.Length }

// Button is one button of an inline keyboard.
type Button struct {
	Text         string `json:"text"`
	CallbackData string `json:"callback_data,omitempty"`
	URL          string `json:"url,omitempty"`
}

type wireMarkup struct {
	InlineKeyboard [][]Button `json:"inline_keyboard"`
}

type wireMessage struct {
	MessageID          int              `json:"message_id"`
	ThreadID           int              `json:"message_thread_id,omitempty"`
	From               *User            `json:"from,omitempty"`
	Chat               Chat             `json:"chat"`
	Date               int64            `json:"date"`
	EditDate           int64            `json:"edit_date,omitempty"`
	IsTopicMessage     bool             `json:"is_topic_message,omitempty"`
	ReplyTo            *wireMessage     `json:"reply_to_message,omitempty"`
	ExternalReply      *wireExternal    `json:"external_reply,omitempty"`
	Quote              *wireQuote       `json:"quote,omitempty"`
	Text               string           `json:"text,omitempty"`
	Entities           []Entity         `json:"entities,omitempty"`
	RichMessage        *wireRich        `json:"rich_message,omitempty"`
	LinkPreviewOptions *wireLinkPreview `json:"link_preview_options,omitempty"`
	ForwardOrigin      *wireOrigin      `json:"forward_origin,omitempty"`
	MediaGroupID       string           `json:"media_group_id,omitempty"`
	wireMedia
	Caption           string      `json:"caption,omitempty"`
	CaptionEntities   []Entity    `json:"caption_entities,omitempty"`
	ReplyMarkup       *wireMarkup `json:"reply_markup,omitempty"`
	MigrateToChatID   int64       `json:"migrate_to_chat_id,omitempty"`
	MigrateFromChatID int64       `json:"migrate_from_chat_id,omitempty"`
}

// wireMedia is the file of a message.
type wireMedia struct {
	Photo    []wireFile   `json:"photo,omitempty"`
	Document *wireFile    `json:"document,omitempty"`
	Voice    *wireFile    `json:"voice,omitempty"`
	Audio    *wireFile    `json:"audio,omitempty"`
	Video    *wireFile    `json:"video,omitempty"`
	Sticker  *wireSticker `json:"sticker,omitempty"`
}

type wireRich struct {
	Blocks []RichBlock `json:"blocks"`
}

type wireFile struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	FileSize     int64  `json:"file_size,omitempty"`
	FileName     string `json:"file_name,omitempty"`
	MimeType     string `json:"mime_type,omitempty"`
	Width        int    `json:"width,omitempty"`
	Height       int    `json:"height,omitempty"`
	Duration     int    `json:"duration,omitempty"`
}

type wireSticker struct {
	wireFile
	Type       string `json:"type"`
	IsAnimated bool   `json:"is_animated"`
	IsVideo    bool   `json:"is_video"`
	Emoji      string `json:"emoji,omitempty"`
}

type wireOrigin struct {
	Type           string `json:"type"` // user, hidden_user or channel.
	Date           int64  `json:"date"`
	SenderUser     *User  `json:"sender_user,omitempty"`
	SenderUserName string `json:"sender_user_name,omitempty"`
	Chat           *Chat  `json:"chat,omitempty"`
	MessageID      int    `json:"message_id,omitempty"`
}

// wireQuote is the quoted part of the message to which another message replies. Offsets are in UTF-16 units. Source:
// https://core.telegram.org/bots/api#textquote
type wireQuote struct {
	Text     string `json:"text"`
	Position int    `json:"position"`
	IsManual bool   `json:"is_manual,omitempty"`
}

// wireExternal describes the message to which a person replies, if that message is in another chat. A wireExternal does
// not contain the text of the message in the other chat, because Telegram sends a bot only the quote. Source:
// https://core.telegram.org/bots/api#externalreplyinfo
type wireExternal struct {
	Origin *wireOrigin `json:"origin"`
	wireMedia
}

type wireLinkPreview struct {
	IsDisabled bool   `json:"is_disabled,omitempty"`
	URL        string `json:"url,omitempty"`
}

type wireUpdate struct {
	UpdateID      int64          `json:"update_id"`
	Message       *wireMessage   `json:"message,omitempty"`
	EditedMessage *wireMessage   `json:"edited_message,omitempty"`
	CallbackQuery *wireCallback  `json:"callback_query,omitempty"`
	MyChatMember  *wireMember    `json:"my_chat_member,omitempty"`
	Stopped       *wireStopDraft `json:"stopped_message_generation,omitempty"`
}

// kind returns the name by which allowed_updates selects this kind of update.
func (u *wireUpdate) kind() string {
	switch {
	case u.EditedMessage != nil:
		return "edited_message"
	case u.CallbackQuery != nil:
		return "callback_query"
	case u.MyChatMember != nil:
		return "my_chat_member"
	case u.Stopped != nil:
		return "stopped_message_generation"
	}
	return "message"
}

// orderKey returns the id of the chat of an update, or of the person who pressed a button. The server delivers updates
// with the same order key one after the other.
func (u *wireUpdate) orderKey() int64 {
	switch {
	case u.EditedMessage != nil:
		return u.EditedMessage.Chat.ID
	case u.CallbackQuery != nil:
		return u.CallbackQuery.From.ID + 3<<33
	case u.MyChatMember != nil:
		return u.MyChatMember.Chat.ID
	case u.Stopped != nil:
		return u.Stopped.Chat.ID
	case u.Message != nil:
		return u.Message.Chat.ID
	}
	return 0
}

type wireCallback struct {
	ID           string       `json:"id"`
	From         User         `json:"from"`
	Message      *wireMessage `json:"message,omitempty"`
	ChatInstance string       `json:"chat_instance"`
	Data         string       `json:"data,omitempty"`
}

type wireMember struct {
	Chat Chat          `json:"chat"`
	From User          `json:"from"`
	Date int64         `json:"date"`
	Old  wireMemberRow `json:"old_chat_member"`
	New  wireMemberRow `json:"new_chat_member"`
}

type wireMemberRow struct {
	User   User   `json:"user"`
	Status string `json:"status"`
}

type wireStopDraft struct {
	Chat     Chat  `json:"chat"`
	ThreadID int   `json:"message_thread_id,omitempty"`
	DraftID  int64 `json:"draft_id"`
}

type wireReplyParameters struct {
	MessageID                int    `json:"message_id"`
	ChatID                   any    `json:"chat_id"`
	AllowSendingWithoutReply bool   `json:"allow_sending_without_reply"`
	Quote                    string `json:"quote"`
}
