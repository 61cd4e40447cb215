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

// Limits of commands.
// https://docs.discord.com/developers/interactions/application-commands#application-command-object
const (
	maxCommands = 100
	maxSummary  = 100 // characters of a description
	// entryPoint is the type of a command that opens an Activity, which is not ours to remove.
	entryPoint = 4
	// askAbout is what the menu of a message offers: a question about this message.
	askAbout = "Ask about this"
)

// commandName is what commands and options may be called.
var commandName = regexp.MustCompile(`^[-_\p{Ll}\p{Lo}\p{N}]{1,32}$`)

// menuEntry is one command: the fields that telex sets.
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

// SetCommands offers the commands in all guilds and DMs. Those that are for admins are offered in DMs alone, where
// everybody sees them, since Discord knows no admins of ours; without any admin they are not offered. It asks
// first, and where anything differs sets the whole list at once: commands that are in it as they were stay
// untouched and count against no limit. A list that Discord would refuse is Rejected before any call.
// https://docs.discord.com/developers/interactions/application-commands#bulk-overwrite-global-application-commands
func (b *Bot) SetCommands(ctx context.Context, commands []chat.CommandSpec, admins []chat.UserID) error {
	want := []menuEntry{}
	for _, c := range commands {
		if !c.Admin || len(admins) > 0 {
			want = append(want, entryOf(c))
		}
		if c.Asks {
			want = append(want, aboutEntry())
		}
	}
	if err := checkMenu(commands); err != nil {
		return &chat.SendError{Kind: chat.Rejected, Err: fmt.Errorf("setCommands: %w", err)}
	}
	app, err := b.learn(ctx, &b.app, "getApplication", "/applications/@me") // which that of the bot may differ from
	if err != nil {
		return err
	}
	path := "/applications/" + app + "/commands"
	a, err := b.call(ctx, request{name: "getCommands", verb: http.MethodGet, path: path})
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
	_, err = b.call(ctx, request{name: "setCommands", verb: http.MethodPut, path: path, body: list})
	return err
}

// entryOf returns a command as Discord keeps it.
func entryOf(c chat.CommandSpec) menuEntry {
	e := menuEntry{
		Type: discordgo.ChatApplicationCommand, Name: c.Name, Description: cut(strings.TrimSpace(c.Description), maxSummary),
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

// aboutEntry is the command in the menu of each message.
// https://docs.discord.com/developers/interactions/application-commands#message-commands
func aboutEntry() menuEntry {
	e := entryOf(chat.CommandSpec{Name: askAbout})
	e.Type = discordgo.MessageApplicationCommand
	return e
}

// checkMenu refuses what Discord would refuse.
func checkMenu(commands []chat.CommandSpec) error {
	if len(commands) > maxCommands {
		return fmt.Errorf("there are %d commands, and %d is the most", len(commands), maxCommands)
	}
	for _, c := range commands {
		e := entryOf(c)
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
