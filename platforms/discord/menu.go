package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"telex/internal/chat"
)

// These constants limit the commands in Discord's menu.
// https://docs.discord.com/developers/interactions/application-commands#application-command-object
const (
	maxCommands    = 100
	maxDescription = 100 // maximum number of characters in a description
	// entryPoint is the type of a command that opens an Activity, which is an app within Discord. telex must not remove
	// a command of this type.
	entryPoint = 4
	// messageCommand is the name of an entry in the context menu of each message. With the entry "Ask about this", a
	// person asks the bot about a message.
	messageCommand = "Ask about this"
)

// commandName matches valid names of commands and options.
var commandName = regexp.MustCompile(`^[-_\p{Ll}\p{Lo}\p{N}]{1,32}$`)

// menuEntry is one command, with the fields that telex sets.
type menuEntry struct {
	Type         discordgo.ApplicationCommandType       `json:"type"`
	Name         string                                 `json:"name"`
	Description  string                                 `json:"description"`
	Options      []menuOption                           `json:"options,omitempty"`
	Contexts     []discordgo.InteractionContextType     `json:"contexts"`
	Integrations []discordgo.ApplicationIntegrationType `json:"integration_types"`
}

type menuOption struct {
	Type        discordgo.ApplicationCommandOptionType `json:"type"`
	Name        string                                 `json:"name"`
	Description string                                 `json:"description"`
	Required    bool                                   `json:"required"`
}

func (e menuEntry) equal(o menuEntry) bool {
	return e.Type == o.Type && e.Name == o.Name && e.Description == o.Description && slices.Equal(e.Options, o.Options) &&
		slices.Equal(slices.Sorted(slices.Values(e.Contexts)), slices.Sorted(slices.Values(o.Contexts))) && slices.Equal(e.Integrations, o.Integrations)
}

// SetCommands sets the commands for all guilds and DMs. The menu contains the commands for admins only in DMs. In DMs,
// everybody sees the commands for admins, because Discord does not know who telex's admins are. If there are no admins,
// SetCommands omits the commands for admins. SetCommands first reads Discord's current list, and replaces the whole
// list if anything differs. Discord limits how many commands an app may create per day, but a command in the new list
// counts only if no command of that name existed before. If Discord would refuse the list, SetCommands makes no call
// and fails with Rejected.
// https://docs.discord.com/developers/interactions/application-commands#bulk-overwrite-global-application-commands
func (b *Bot) SetCommands(ctx context.Context, commands []chat.CommandSpec, admins []chat.UserID) error {
	want := []menuEntry{}
	for _, c := range commands {
		if !c.Admin || len(admins) > 0 {
			want = append(want, menuEntryOf(c))
		}
		if c.Asks {
			want = append(want, messageMenuEntry())
		}
	}
	if err := checkMenu(commands); err != nil {
		return &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("setCommands: %w", err)}
	}
	app, err := b.fetchID(ctx, &b.appID, "getApplication", "/applications/@me") // the application's id may differ from the user id
	if err != nil {
		return err
	}
	path := "/applications/" + app + "/commands"
	a, err := b.call(ctx, request{name: "getCommands", method: http.MethodGet, path: path})
	if err != nil {
		return err
	}
	var have []menuEntry
	var raw []json.RawMessage
	if json.Unmarshal(a.Body, &have) != nil || json.Unmarshal(a.Body, &raw) != nil || len(have) != len(raw) {
		return &chat.SendError{Kind: chat.Temporary, Err: errors.New("getCommands: the answer is not a list of commands")}
	}
	list := []any{}
	same := 0
	for i, h := range have {
		switch {
		case h.Type == entryPoint:
			list = append(list, raw[i])
		case slices.ContainsFunc(want, h.equal):
			same++
		}
	}
	if same == len(want) && len(list)+same == len(have) {
		return nil
	}
	for _, w := range want {
		list = append(list, w)
	}
	_, err = b.call(ctx, request{name: "setCommands", method: http.MethodPut, path: path, body: list})
	return err
}

// menuEntryOf returns a command in Discord's form.
func menuEntryOf(c chat.CommandSpec) menuEntry {
	e := menuEntry{
		Type: discordgo.ChatApplicationCommand, Name: c.Name, Description: truncate(strings.TrimSpace(c.Description), maxDescription),
		Contexts:     []discordgo.InteractionContextType{discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM},
		Integrations: []discordgo.ApplicationIntegrationType{discordgo.ApplicationIntegrationGuildInstall},
	}
	if c.Admin {
		e.Contexts = e.Contexts[1:]
	}
	if c.Argument != "" {
		e.Options = []menuOption{{
			Type: discordgo.ApplicationCommandOptionString, Name: strings.ToLower(c.Argument), Description: c.Argument, Required: c.Asks,
		}}
	}
	return e
}

// messageMenuEntry returns the entry in the context menu of each message.
// https://docs.discord.com/developers/interactions/application-commands#message-commands
func messageMenuEntry() menuEntry {
	e := menuEntryOf(chat.CommandSpec{Name: messageCommand})
	e.Type = discordgo.MessageApplicationCommand
	return e
}

// checkMenu returns an error if Discord would refuse the commands.
func checkMenu(commands []chat.CommandSpec) error {
	if len(commands) > maxCommands {
		return fmt.Errorf("there are %d commands; the maximum is %d", len(commands), maxCommands)
	}
	for _, c := range commands {
		e := menuEntryOf(c)
		switch {
		case !commandName.MatchString(e.Name):
			return fmt.Errorf("%q is not a valid command name: lower-case letters, digits, - and _, 32 at most", e.Name)
		case e.Description == "":
			return fmt.Errorf("the command %q has no description", e.Name)
		case len(e.Options) > 0 && !commandName.MatchString(e.Options[0].Name):
			return fmt.Errorf("%q is not a valid option name", e.Options[0].Name)
		}
	}
	return nil
}
