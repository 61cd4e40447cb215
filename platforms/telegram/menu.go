package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"telex/internal/chat"
	"telex/internal/markup"
)

// commandName matches a valid command name without its slash. https://core.telegram.org/bots/api#botcommand
var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// SetCommands sets the command menu. In private chats and groups, the menu shows the commands that are not for
// admins. In the private chat of each admin, the menu shows all commands. SetCommands first reads Telegram's current
// lists, and changes only lists that differ. If Telegram would refuse a list, SetCommands makes no call and fails
// with Rejected. An admin who has never written to the bot has no private chat with the bot; SetCommands skips this
// admin without an error. SetCommands does not remove lists for other scopes and languages, such as those of former
// admins, because Telegram has no method that finds them.
func (b *Bot) SetCommands(ctx context.Context, commands []chat.CommandSpec, admins []chat.UserID) error {
	all, common := []tgbotapi.BotCommand{}, []tgbotapi.BotCommand{}
	for _, c := range commands {
		if c.Asks {
			continue // omit the command, because people can ask a question without it
		}
		entry := tgbotapi.BotCommand{Command: c.Name, Description: strings.TrimSpace(c.Description)} // Telegram trims descriptions too
		all = append(all, entry)
		if !c.Admin {
			common = append(common, entry)
		}
	}
	if err := checkMenu(all); err != nil {
		return &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("setMyCommands: %w", err)}
	}
	for _, scope := range []tgbotapi.BotCommandScope{tgbotapi.NewBotCommandScopeAllPrivateChats(), tgbotapi.NewBotCommandScopeAllGroupChats()} {
		if err := b.setMenu(ctx, scope, common); err != nil {
			return err
		}
	}
	for _, admin := range admins {
		id, err := strconv.ParseInt(string(admin), 10, 64)
		if err != nil || id <= 0 { // not the id of a user, so there is no private chat with the bot
			b.log.WarnContext(ctx, "admin gets no menu of commands: this is not the id of a user", slog.String("user", string(admin)))
			continue
		}
		err = b.setMenu(ctx, tgbotapi.NewBotCommandScopeChat(id), all)
		switch {
		case err == nil:
		case chat.AsSendError(err).Kind == chat.Forbidden:
			b.log.DebugContext(ctx, "admin gets no menu of commands yet: there is no chat with the bot", slog.String("user", string(admin)), slog.Any("error", err))
		default:
			return err
		}
	}
	return nil
}

// checkMenu returns an error if Telegram would refuse the commands.
func checkMenu(commands []tgbotapi.BotCommand) error {
	if len(commands) > maxCommands {
		return fmt.Errorf("there are %d commands; the maximum is %d", len(commands), maxCommands)
	}
	for _, c := range commands {
		if !commandName.MatchString(c.Command) {
			return fmt.Errorf("%q is not a valid command name: a-z, 0-9 and _, 32 at most", c.Command)
		}
		if n := markup.Units(c.Description); n < 1 || n > maxCommandDescription {
			return fmt.Errorf("the description of %q has %d UTF-16 units, and must have 1 to %d", c.Command, n, maxCommandDescription)
		}
	}
	return nil
}

// setMenu sets the list of commands of a scope if the list differs from Telegram's current list.
func (b *Bot) setMenu(ctx context.Context, scope tgbotapi.BotCommandScope, want []tgbotapi.BotCommand) error {
	params := tgbotapi.Params{}
	addJSON(params, "scope", scope)
	result, err := b.call(ctx, "getMyCommands", params)
	if err != nil {
		return err
	}
	var have []tgbotapi.BotCommand
	if err := json.Unmarshal(result, &have); err != nil {
		return &chat.SendError{Kind: chat.Temporary, Err: errors.New("getMyCommands: the answer is not a list of commands")}
	}
	if slices.Equal(have, want) {
		return nil
	}
	if len(want) == 0 {
		_, err = b.call(ctx, "deleteMyCommands", params)
		return err
	}
	addJSON(params, "commands", want)
	_, err = b.call(ctx, "setMyCommands", params)
	return err
}
