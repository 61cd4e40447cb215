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

// commandName is what Telegram takes as a command, without its slash.
// https://core.telegram.org/bots/api#botcommand
var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// SetCommands offers the commands that are not for admins in every private chat and every
// group, and all of them in each admin's private chat. It reads the lists first and changes only those that
// differ. A list that Telegram would refuse is Rejected before any call. An admin who never
// wrote to the bot has no chat with it yet, which is no failure; a later call sets the menu
// there. Lists of other scopes and languages stay, such as those of former admins:
// Telegram can't list them.
func (b *Bot) SetCommands(ctx context.Context, commands []chat.CommandSpec, admins []chat.UserID) error {
	all, common := []tgbotapi.BotCommand{}, []tgbotapi.BotCommand{}
	for _, c := range commands {
		if c.Asks {
			continue // whoever sees the menu can write to the bot
		}
		entry := tgbotapi.BotCommand{Command: c.Name, Description: strings.TrimSpace(c.Description)} // as Telegram keeps it
		all = append(all, entry)
		if !c.Admin {
			common = append(common, entry)
		}
	}
	if err := checkMenu(all); err != nil {
		return &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("setMyCommands: %w", err)}
	}
	for _, scope := range []tgbotapi.BotCommandScope{tgbotapi.NewBotCommandScopeAllPrivateChats(), tgbotapi.NewBotCommandScopeAllGroupChats()} {
		if err := b.offer(ctx, scope, common); err != nil {
			return err
		}
	}
	for _, admin := range admins {
		id, err := strconv.ParseInt(string(admin), 10, 64)
		if err != nil || id <= 0 { // a chat that people write in the name of is no private one
			b.log.WarnContext(ctx, "admin has no menu: not the id of a user", slog.String("user", string(admin)))
			continue
		}
		err = b.offer(ctx, tgbotapi.NewBotCommandScopeChat(id), all)
		switch {
		case err == nil:
		case chat.AsSendError(err).Kind == chat.Forbidden:
			b.log.DebugContext(ctx, "admin has no menu yet: no chat with the bot", slog.String("user", string(admin)), slog.Any("error", err))
		default:
			return err
		}
	}
	return nil
}

// checkMenu refuses what Telegram would refuse.
func checkMenu(commands []tgbotapi.BotCommand) error {
	if len(commands) > maxCommands {
		return fmt.Errorf("there are %d commands, and %d is the most", len(commands), maxCommands)
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

// offer makes a list the one that a scope has.
func (b *Bot) offer(ctx context.Context, scope tgbotapi.BotCommandScope, want []tgbotapi.BotCommand) error {
	params := tgbotapi.Params{}
	encodeAs(params, "scope", scope)
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
	encodeAs(params, "commands", want)
	_, err = b.call(ctx, "setMyCommands", params)
	return err
}
