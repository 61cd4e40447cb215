package telegram

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Command is one entry of a command menu.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// Limits of a menu.
// Source: https://core.telegram.org/bots/api#botcommand
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

// menuKey is where a menu is shown: each key has a list of its own.
type menuKey struct {
	scope    string
	chat     int64 // of the scopes of one chat.
	user     int64 // of chat_member.
	language string
}

func (s *Server) setMyCommands(r *request) (any, *apiError) {
	var list []Command
	if found, err := r.object("commands", &list); err != nil || !found {
		return nil, badRequest("can't parse commands JSON array")
	}
	key, aerr := s.menuKey(r)
	if aerr != nil {
		return nil, aerr
	}
	if len(list) > maxCommands {
		return nil, badRequest("BOT_COMMANDS_TOO_MUCH")
	}
	for i := range list {
		if aerr := list[i].clean(); aerr != nil {
			return nil, aerr
		}
	}
	s.commands[key] = list
	return true, nil
}

// clean trims a command as the platform does, and checks it.
func (c *Command) clean() *apiError {
	c.Command = strings.TrimPrefix(strings.TrimSpace(c.Command), "/")
	c.Description = strings.TrimSpace(c.Description)
	switch {
	case c.Command == "":
		return badRequest("command must be non-empty")
	case utf8.RuneCountInString(c.Command) > maxCommandName:
		return badRequest("command length must not exceed 32")
	case c.Description == "":
		return badRequest("command description must be non-empty")
	case utf8.RuneCountInString(c.Description) > maxCommandDescription:
		return badRequest("command description length must not exceed 256")
	case !commandNameRE.MatchString(c.Command):
		return badRequest("BOT_COMMAND_INVALID")
	}
	return nil
}

func (s *Server) getMyCommands(r *request) (any, *apiError) {
	key, aerr := s.menuKey(r)
	if aerr != nil {
		return nil, aerr
	}
	return append([]Command{}, s.commands[key]...), nil // a list, also of none
}

func (s *Server) deleteMyCommands(r *request) (any, *apiError) {
	key, aerr := s.menuKey(r)
	if aerr != nil {
		return nil, aerr
	}
	delete(s.commands, key)
	return true, nil
}

// menuKey reads scope and language_code.
// Source: https://core.telegram.org/bots/api#botcommandscope
func (s *Server) menuKey(r *request) (menuKey, *apiError) {
	var scope struct {
		Type   string          `json:"type"`
		ChatID json.RawMessage `json:"chat_id"`
		UserID json.RawMessage `json:"user_id"`
	}
	cannot := func(why string) (menuKey, *apiError) {
		return menuKey{}, badRequest("can't parse BotCommandScope: " + why)
	}
	found, err := r.object("scope", &scope)
	if err != nil {
		return cannot("object expected")
	}
	key := menuKey{scope: scope.Type, language: r.text("language_code")}
	switch key.scope {
	case "":
		if found {
			return cannot(`Can't find field "type"`)
		}
		key.scope = scopeDefault
	case scopeDefault, scopePrivateChats, scopeGroupChats, scopeAdmins:
	case scopeChat, scopeAdminsOfChat, scopeMemberOfAChat:
		name := idText(scope.ChatID)
		if name == "" {
			return cannot(`Can't find field "chat_id"`)
		}
		if key.scope == scopeMemberOfAChat {
			if len(scope.UserID) == 0 {
				return cannot(`Can't find field "user_id"`)
			}
			if key.user, err = strconv.ParseInt(idText(scope.UserID), 10, 64); err != nil || key.user <= 0 {
				return cannot("Invalid user_id specified")
			}
		}
		c := s.findChat(name)
		if c == nil {
			return menuKey{}, badRequest("chat not found")
		}
		switch {
		case c.private() && key.scope != scopeChat:
			return menuKey{}, badRequest("can't use specified scope in private chats")
		case c.info.Type == Channel:
			return menuKey{}, badRequest("can't change commands in channel chats")
		}
		key.chat = c.info.ID
	default:
		return cannot("Unsupported type specified")
	}
	if !languageCodeRE.MatchString(key.language) {
		return menuKey{}, badRequest("invalid language code specified")
	}
	return key, nil
}

// idText is an id that stands in JSON as a number or as a text; "" when it is neither.
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

// Commands returns the menu for the default scope and no language.
func (s *Server) Commands() []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands[menuKey{scope: scopeDefault}])
}

// Menu returns the commands that a person is offered in a chat: the first list that is set,
// from the narrowest scope to the widest, each first in the person's language. A list
// without commands is as good as none. User 0 is who writes in that chat by default.
// Source: https://core.telegram.org/bots/api#determining-list-of-commands
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

// menuOrder lists the scopes that concern a person in a chat, the narrowest first.
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
