package telegram

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"telex/standin/rig"
)

// Command is one entry of a command menu.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// Limits of a command menu. Source: https://core.telegram.org/bots/api#botcommand
const (
	maxCommands           = 100
	maxCommandName        = 32
	maxCommandDescription = 256
)

// Scopes of a menu.
const (
	scopeDefault       = "default"
	scopePrivateChats  = "all_private_chats"
	scopeGroupChats    = "all_group_chats"
	scopeAdmins        = "all_chat_administrators"
	scopeChat          = "chat"
	scopeAdminsOfChat  = "chat_administrators"
	scopeMemberOfAChat = "chat_member"
)

var (
	commandNameRE  = regexp.MustCompile(`^[a-z0-9_]+$`)
	languageCodeRE = regexp.MustCompile(`^([a-z]{2})?$`)
)

// menuKey identifies a list of commands by the chats and people that see it.
type menuKey struct {
	scope    string
	chat     int64 // set only if the scope is limited to one chat
	user     int64 // set only for the scope chat_member
	language string
}

func (s *Server) setMyCommands(r *request) any {
	var list []Command
	unparsable := badRequest("can't parse commands JSON array")
	rig.RefuseIf(!r.object("commands", &list, unparsable), unparsable)
	key := s.menuKey(r)
	badRequestIf(len(list) > maxCommands, "BOT_COMMANDS_TOO_MUCH")
	for i := range list {
		list[i].clean()
	}
	s.commands[key] = list
	return true
}

// clean trims a command as Telegram does, and refuses the call if the command is invalid.
func (c *Command) clean() {
	c.Command = strings.TrimPrefix(strings.TrimSpace(c.Command), "/")
	c.Description = strings.TrimSpace(c.Description)
	badRequestIf(c.Command == "", "command must be non-empty")
	badRequestIf(utf8.RuneCountInString(c.Command) > maxCommandName, "command length must not exceed 32")
	badRequestIf(c.Description == "", "command description must be non-empty")
	badRequestIf(utf8.RuneCountInString(c.Description) > maxCommandDescription, "command description length must not exceed 256")
	badRequestIf(!commandNameRE.MatchString(c.Command), "BOT_COMMAND_INVALID")
}

func (s *Server) getMyCommands(r *request) any {
	key := s.menuKey(r)
	return append([]Command{}, s.commands[key]...) // the JSON is [], never null
}

func (s *Server) deleteMyCommands(r *request) any {
	key := s.menuKey(r)
	delete(s.commands, key)
	return true
}

// menuKey reads the parameters scope and language_code of a call. Source:
// https://core.telegram.org/bots/api#botcommandscope
func (s *Server) menuKey(r *request) menuKey {
	var scope struct {
		Type   string          `json:"type"`
		ChatID json.RawMessage `json:"chat_id"`
		UserID json.RawMessage `json:"user_id"`
	}
	cannot := func(why string) *apiError { return badRequest("can't parse BotCommandScope: " + why) }
	found := r.object("scope", &scope, cannot("object expected"))
	key := menuKey{scope: scope.Type, language: r.text("language_code")}
	switch key.scope {
	case "":
		rig.RefuseIf(found, cannot(`Can't find field "type"`))
		key.scope = scopeDefault
	case scopeDefault, scopePrivateChats, scopeGroupChats, scopeAdmins:
	case scopeChat, scopeAdminsOfChat, scopeMemberOfAChat:
		name := idText(scope.ChatID)
		rig.RefuseIf(name == "", cannot(`Can't find field "chat_id"`))
		if key.scope == scopeMemberOfAChat {
			rig.RefuseIf(len(scope.UserID) == 0, cannot(`Can't find field "user_id"`))
			key.user, _ = strconv.ParseInt(idText(scope.UserID), 10, 64) // 0 if the id is not a number
			rig.RefuseIf(key.user <= 0, cannot("Invalid user_id specified"))
		}
		c := s.findChat(name)
		badRequestIf(c == nil, "chat not found")
		badRequestIf(c.private() && key.scope != scopeChat, "can't use specified scope in private chats")
		badRequestIf(c.info.Type == Channel, "can't change commands in channel chats")
		key.chat = c.info.ID
	default:
		panic(cannot("Unsupported type specified"))
	}
	badRequestIf(!languageCodeRE.MatchString(key.language), "invalid language code specified")
	return key
}

// idText returns an id that is a number or a string in JSON, or "" if it is neither.
func idText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text)
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
}

// Commands returns the commands that the bot has set for the default scope without a language.
func (s *Server) Commands() []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands[menuKey{scope: scopeDefault}])
}

// Menu returns the commands that a person sees in a chat. Menu tries the scopes from the narrowest to the widest, each
// first with the person's language and then without a language. Menu returns the first list that is not empty. If
// userID is 0, Menu takes the person of the private chat, or the default person in other chats. Source:
// https://core.telegram.org/bots/api#determining-list-of-commands
func (s *Server) Menu(chatID, userID int64) []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, admin := chatTypeOf(chatID), false
	if c := s.chats[chatID]; c != nil {
		kind = c.info.Type
	}
	if userID == 0 {
		userID = defaultUser
		if kind == Private {
			userID = chatID
		}
	}
	if c := s.chats[chatID]; c != nil {
		admin = c.admins[userID]
	}
	language := "en"
	if user, known := s.users[userID]; known {
		language = user.LanguageCode
	}
	for _, key := range menuOrder(chatID, userID, kind, admin) {
		for _, code := range []string{language, ""} {
			key.language = code
			if list := s.commands[key]; len(list) > 0 {
				return slices.Clone(list)
			}
		}
	}
	return nil
}

// menuOrder lists the scopes that apply to a person in a chat, narrowest first.
func menuOrder(chatID, userID int64, kind string, admin bool) []menuKey {
	switch {
	case kind == Private:
		return []menuKey{{scope: scopeChat, chat: chatID}, {scope: scopePrivateChats}, {scope: scopeDefault}}
	case admin:
		return []menuKey{
			{scope: scopeMemberOfAChat, chat: chatID, user: userID},
			{scope: scopeAdminsOfChat, chat: chatID},
			{scope: scopeChat, chat: chatID},
			{scope: scopeAdmins},
			{scope: scopeGroupChats},
			{scope: scopeDefault},
		}
	default:
		return []menuKey{
			{scope: scopeMemberOfAChat, chat: chatID, user: userID},
			{scope: scopeChat, chat: chatID},
			{scope: scopeGroupChats},
			{scope: scopeDefault},
		}
	}
}
