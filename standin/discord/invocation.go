package discord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Invocation is a slash command that a person types.
type Invocation struct {
	// Channel is where; "" is the DM with User.
	Channel string `json:"channel"`
	User    string `json:"user"` // DefaultPerson when "".
	Name    string `json:"name"`
	// Options are what was filled in: text, whole numbers, truth values.
	Options map[string]any `json:"options"`
	// Message is what a message command is about.
	Message string `json:"message"`
}

// Slash lets a person invoke a slash command and returns the interaction's id. It is an error when the
// person's client would not let them: no such command there, or options that don't fit.
func (s *Server) Slash(in Invocation) (string, error) {
	return s.use(in, slashCommand, func(_ *channel, cmd *Command, data map[string]any) error {
		options, err := fill(cmd.Options, in.Options)
		if len(options) > 0 {
			data["options"] = options
		}
		return err
	})
}

// About lets a person choose a command in the menu of a message and returns the interaction's id. The application gets the
// whole message, whatever its intents. It is an error when there is no such command or message there.
// Source: https://docs.discord.com/developers/interactions/application-commands#message-commands
func (s *Server) About(in Invocation) (string, error) {
	return s.use(in, messageCommand, func(c *channel, _ *Command, data map[string]any) error {
		m := c.alive(in.Message)
		if m == nil || m.OnlyFor != "" {
			return fmt.Errorf("no message %q in this channel", in.Message)
		}
		data["target_id"] = m.ID
		data["resolved"] = map[string]any{"messages": map[string]any{m.ID: s.wire(c, m)}}
		return nil
	})
}

// use lets a person use a command of one type. With adds to its data what the type has.
func (s *Server) use(in Invocation, kind int, with func(c *channel, cmd *Command, data map[string]any) error) (string, error) {
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
	cmd := s.offered(c, kind, in.Name)
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

// offered is the command of a type that people in a channel are offered: the guild's own first.
func (s *Server) offered(c *channel, kind int, name string) *Command {
	for _, guildID := range []string{c.info.Guild, ""} {
		for n := range s.commands[guildID] {
			cmd := &s.commands[guildID][n]
			if cmd.Type == kind && cmd.Name == name && cmd.fits(c) {
				return cmd
			}
		}
	}
	return nil
}

// fits tells whether a command's contexts contain the channel.
func (c *Command) fits(where *channel) bool {
	var contexts []int
	if json.Unmarshal(c.fields["contexts"], &contexts) != nil || contexts == nil {
		return string(c.fields["dm_permission"]) != "false" || where.info.Guild != ""
	}
	if where.info.Guild != "" {
		return slices.Contains(contexts, 0)
	}
	return slices.Contains(contexts, 1)
}

// fill turns what a person filled in into the options of an interaction.
func fill(options []CommandOption, values map[string]any) ([]map[string]any, error) {
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

// Press lets a person press a button and returns the interaction's id; an error when there is no such
// button on display.
func (s *Server) Press(channelID, message, customID, user string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channelID]
	if c == nil {
		return "", fmt.Errorf("press: no channel %q", channelID)
	}
	m := c.alive(message)
	if m == nil || !slices.ContainsFunc(m.Last().Buttons, func(b Button) bool {
		return (b.CustomID == customID || b.Label == customID) && !b.Disabled && customID != ""
	}) {
		return "", fmt.Errorf("press: no button %q under message %q", customID, message)
	}
	i := &Interaction{Type: interactionComponent, User: s.person(cmp.Or(user, DefaultPerson)).ID, Name: customID, Message: message}
	s.interact(c, i, map[string]any{"custom_id": customID, "component_type": componentButton})
	return i.ID, nil
}
