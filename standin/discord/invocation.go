package discord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Invocation is a slash command that a person uses.
type Invocation struct {
	// Channel is the id of the channel, or "" for the DM with User.
	Channel string `json:"channel"`
	User    string `json:"user"` // "" means DefaultPerson
	Name    string `json:"name"`
	// Options contains the values of the command's options by name: texts, integers and booleans.
	Options map[string]any `json:"options"`
	// Message is the id of the message from whose menu the command is used.
	Message string `json:"message"`
}

// Slash uses a slash command as a person and returns the interaction's id. Slash fails if a Discord client would not
// let a person do this, because the channel offers no such command or the options are invalid.
func (s *Server) Slash(in Invocation) (string, error) {
	return s.useCommand(in, slashCommand, func(_ *channel, cmd *Command, data map[string]any) error {
		options, err := optionValues(cmd.Options, in.Options)
		if len(options) > 0 {
			data["options"] = options
		}
		return err
	})
}

// About uses a command from the menu of a message and returns the interaction's id. The bot receives the whole message,
// even without the message content intent. About fails if the command or the message does not exist. Source:
// https://docs.discord.com/developers/interactions/application-commands#message-commands
func (s *Server) About(in Invocation) (string, error) {
	return s.useCommand(in, messageCommand, func(c *channel, _ *Command, data map[string]any) error {
		m := c.message(in.Message)
		if m == nil || m.OnlyFor != "" {
			return fmt.Errorf("no message %q in this channel", in.Message)
		}
		data["target_id"] = m.ID
		data["resolved"] = map[string]any{"messages": map[string]any{m.ID: s.wire(c, m)}}
		return nil
	})
}

// useCommand uses a command of the type kind. useCommand calls the function "with", which adds the data that only this
// type has.
func (s *Server) useCommand(in Invocation, kind int, with func(c *channel, cmd *Command, data map[string]any) error) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.User = s.person(cmp.Or(in.User, DefaultPerson)).ID
	c := s.channels[in.Channel]
	if in.Channel == "" {
		c = s.dmWith(in.User)
	}
	if c == nil {
		return "", fmt.Errorf("invoke: no channel %q", in.Channel)
	}
	cmd := s.offeredCommand(c, kind, in.Name)
	if cmd == nil {
		return "", fmt.Errorf("invoke: no command %q in this channel", in.Name)
	}
	data := map[string]any{"id": cmd.ID, "name": cmd.Name, "type": cmd.Type}
	if err := with(c, cmd, data); err != nil {
		return "", fmt.Errorf("invoke %s: %w", in.Name, err)
	}
	if cmd.Guild != "" {
		data["guild_id"] = cmd.Guild
	}
	i := &Interaction{Type: interactionCommand, User: in.User, Name: cmd.Name}
	s.interact(c, i, data)
	return i.ID, nil
}

// offeredCommand returns the command of a type and name that a channel offers to people. A guild's own command takes
// precedence over a global one.
func (s *Server) offeredCommand(c *channel, kind int, name string) *Command {
	for _, guildID := range []string{c.info.Guild, ""} {
		for n := range s.commands[guildID] {
			cmd := &s.commands[guildID][n]
			if cmd.Type == kind && cmd.Name == name && cmd.availableIn(c) {
				return cmd
			}
		}
	}
	return nil
}

// availableIn reports whether a command's contexts include the kind of the channel.
func (c *Command) availableIn(where *channel) bool {
	var contexts []int
	if json.Unmarshal(c.fields["contexts"], &contexts) != nil || contexts == nil {
		return string(c.fields["dm_permission"]) != "false" || where.info.Guild != ""
	}
	if where.info.Guild != "" {
		return slices.Contains(contexts, 0)
	}
	return slices.Contains(contexts, 1)
}

// optionValues converts a person's values to the options of an interaction.
func optionValues(options []CommandOption, values map[string]any) ([]map[string]any, error) {
	var list []map[string]any
	for name := range values {
		if !slices.ContainsFunc(options, func(o CommandOption) bool { return o.Name == name }) {
			return nil, fmt.Errorf("no option %q", name)
		}
	}
	for _, o := range options {
		v, ok := values[o.Name]
		switch {
		case !ok && o.Required:
			return nil, fmt.Errorf("option %q is required", o.Name)
		case !ok:
			continue
		}
		text, isText := v.(string)
		switch n := len([]rune(text)); {
		case isText && strings.TrimSpace(text) == "", isText && n < o.MinLength, isText && o.MaxLength > 0 && n > o.MaxLength, n > 6000:
			return nil, fmt.Errorf("option %q has a length of %d", o.Name, n)
		}
		list = append(list, map[string]any{"name": o.Name, "type": o.Type, "value": v})
	}
	return list, nil
}

// Press presses a button as a person and returns the interaction's id. Press fails if the message shows no such button.
func (s *Server) Press(channelID, message, customID, user string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channelID]
	if c == nil {
		return "", fmt.Errorf("press: no channel %q", channelID)
	}
	m := c.message(message)
	if m == nil || !slices.ContainsFunc(m.Last().Buttons, func(b Button) bool {
		return (b.CustomID == customID || b.Label == customID) && !b.Disabled && customID != ""
	}) {
		return "", fmt.Errorf("press: no button %q under message %q", customID, message)
	}
	i := &Interaction{Type: interactionComponent, User: s.person(cmp.Or(user, DefaultPerson)).ID, Name: customID, Message: message}
	s.interact(c, i, map[string]any{"custom_id": customID, "component_type": componentButton})
	return i.ID, nil
}
