package discord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"telex/standin/quota"
	"telex/standin/rig"
)

const (
	maxCommands      = 100 // global slash commands, or slash commands of one guild
	maxMenuCommands  = 15  // user commands; the same limit applies to message commands
	maxDailyCommands = 200 // new commands per day and guild
	maxOptions       = 25
	maxCommandText   = 8000 // characters of a command with its options

	slashCommand   = 1
	messageCommand = 3
)

// commandName matches valid names of slash commands and options. Source:
// https://docs.discord.com/developers/interactions/application-commands#application-command-object-application-command-naming
var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)

// Command is an application command.
type Command struct {
	ID    string `json:"id"`
	Guild string `json:"guild,omitempty"` // "" for a global command
	Type  int    `json:"type"`            // 1 slash, 2 user, 3 message
	Name  string `json:"name"`
	// Description is empty for a command in the menu of a user or a message.
	Description string          `json:"description"`
	Options     []CommandOption `json:"options,omitempty"`

	fields  map[string]json.RawMessage // all fields as received
	version string
}

// CommandOption is an option of a command.
type CommandOption struct {
	Type        int    `json:"type"` // 3 text, 4 integer, 5 boolean, 6 user, …
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required,omitempty"`
	MinLength   int    `json:"min_length,omitempty"`
	MaxLength   int    `json:"max_length,omitempty"`
	Choices     []struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	} `json:"choices,omitempty"`
	Options []CommandOption `json:"options,omitempty"`
}

// Commands returns a copy of the commands of a guild, or of the global commands if guildID is "".
func (s *Server) Commands(guildID string) []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands[guildID])
}

// commandGuild checks that the call names the bot's own application and, if it names a guild, that the bot is in this
// guild.
func (s *Server) commandGuild(r *request) (guildID string) {
	rig.RefuseIf(r.param("app") != s.me.ID, missingAccess())
	if id := r.param("guild"); id != "" && (s.guilds[id] == nil || !s.guilds[id].member) {
		panic(missingAccess())
	}
	return r.param("guild")
}

func (s *Server) getCommands(r *request, guildID string) any {
	return s.wireCommands(guildID)
}

func (s *Server) wireCommands(guildID string) []map[string]any {
	list := []map[string]any{}
	for i := range s.commands[guildID] {
		list = append(list, s.wireCommand(&s.commands[guildID][i]))
	}
	return list
}

func (s *Server) wireCommand(c *Command) map[string]any {
	w := map[string]any{
		"dm_permission": true, "default_member_permissions": nil, "nsfw": false, "contexts": nil,
		"integration_types": []int{0}, "name_localizations": nil, "description_localizations": nil,
	}
	for name, v := range c.fields {
		w[name] = v
	}
	w["id"], w["application_id"], w["version"], w["type"] = c.ID, s.me.ID, c.version, c.Type
	w["name"], w["description"] = c.Name, c.Description
	if c.Guild != "" {
		w["guild_id"] = c.Guild
	}
	return w
}

func (s *Server) findCommand(r *request) (string, int) {
	guildID := s.commandGuild(r)
	i := slices.IndexFunc(s.commands[guildID], func(c Command) bool { return c.ID == r.param("command") })
	rig.RefuseIf(i < 0, notFound(codeUnknownCommand, "application command"))
	return guildID, i
}

func (s *Server) getCommand(r *request, guildID string, i int) any {
	return s.wireCommand(&s.commands[guildID][i])
}

func (s *Server) deleteCommand(r *request, guildID string, i int) any {
	s.commands[guildID] = slices.Delete(s.commands[guildID], i, i+1)
	return nil
}

// createCommand answers POST …/commands. The new command replaces a command of the same name.
func (s *Server) createCommand(r *request, guildID string) any {
	f := r.form()
	c := readCommand(f)
	f.errs.refuse()
	list := slices.Clone(s.commands[guildID])
	i := slices.IndexFunc(list, c.sameName)
	if i >= 0 {
		list[i] = c
	} else {
		list = append(list, c)
	}
	fresh := s.putCommands(r, guildID, list)
	w := s.wireCommand(&s.commands[guildID][slices.IndexFunc(s.commands[guildID], c.sameName)])
	if fresh > 0 {
		return created{w}
	}
	return w
}

// editCommand answers PATCH …/commands/{command}.
func (s *Server) editCommand(r *request, guildID string, i int) any {
	f := r.form()
	merged := make(map[string]json.RawMessage)
	maps.Copy(merged, s.commands[guildID][i].fields)
	maps.Copy(merged, f.fields)
	f.fields = merged
	c := readCommand(f)
	f.errs.refuse()
	c.ID, c.Guild, c.version = s.commands[guildID][i].ID, guildID, s.ids.next(r.now)
	s.commands[guildID][i] = c
	return s.wireCommand(&c)
}

// overwriteCommands answers PUT …/commands. overwriteCommands deletes commands that are missing in the list of the
// request.
func (s *Server) overwriteCommands(r *request, guildID string) any {
	var items []json.RawMessage
	rig.RefuseIf(json.Unmarshal(r.payload, &items) != nil, badField("LIST_TYPE_CONVERT", "Only iterables may be used in a ListType"))
	var errs formErrors
	list := []Command{}
	for i, item := range items {
		f := readForm(item, &errs, strconv.Itoa(i))
		c := readCommand(f)
		f.badIf(slices.ContainsFunc(list, c.sameName), "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique", "name")
		list = append(list, c)
	}
	errs.refuse()
	s.putCommands(r, guildID, list)
	return s.wireCommands(guildID)
}

func (c Command) sameName(other Command) bool { return c.Type == other.Type && c.Name == other.Name }

// putCommands replaces the commands of a guild. Existing commands keep their ids. putCommands returns the number of new
// commands.
func (s *Server) putCommands(r *request, guildID string, list []Command) (fresh int) {
	count := make(map[int]int)
	for i := range list {
		c := &list[i]
		c.Guild = guildID
		count[c.Type]++
		if j := slices.IndexFunc(s.commands[guildID], c.sameName); j >= 0 {
			c.ID, c.version = s.commands[guildID][j].ID, s.commands[guildID][j].version
			if !sameFields(c.fields, s.commands[guildID][j].fields) {
				c.version = s.ids.next(r.now)
			}
			continue
		}
		c.ID, c.version = s.ids.next(r.now), s.ids.next(r.now)
		fresh++
	}
	for kind, n := range count {
		most := maxMenuCommands
		if kind == 1 {
			most = maxCommands
		}
		rig.RefuseIf(n > most, fail(http.StatusBadRequest, 30032, fmt.Sprintf("Maximum number of application commands reached (%d).", most)))
	}
	daily := s.newCommands[guildID]
	if daily == nil {
		daily = &quota.Fixed{Size: maxDailyCommands, Period: 24 * time.Hour}
		s.newCommands[guildID] = daily
	}
	if wait := daily.WaitFor(r.now, fresh); wait > 0 {
		e := tooMany(wait, scopeUser)
		e.code, e.message = codeDailyCommands, fmt.Sprintf("Max number of daily application command creates has been reached (%d)", maxDailyCommands)
		panic(e)
	}
	for range fresh {
		daily.Take(r.now)
	}
	s.commands[guildID] = list
	return fresh
}

func sameFields(a, b map[string]json.RawMessage) bool {
	return string(rig.Encode(a)) == string(rig.Encode(b))
}

// readCommand decodes and validates a command. Source:
// https://docs.discord.com/developers/interactions/application-commands#application-command-object
func readCommand(f form) Command {
	c := Command{Type: cmp.Or(f.integer("type"), 1), Name: f.text("name", 1, 32), fields: f.fields}
	if c.Type == 1 {
		checkCommandName(f, c.Name)
		c.Description = f.text("description", 1, 100)
		c.Options = readOptions(f, 0)
		if n := commandText(c.Name, c.Description, c.Options); n > maxCommandText {
			f.bad("APPLICATION_COMMAND_TOO_LARGE", fmt.Sprintf("Command exceeds maximum size (%d)", maxCommandText))
		}
	} else if f.has("description") && f.text("description", 0, 100) != "" {
		f.bad("APPLICATION_COMMAND_CONTEXT_MENU_DESCRIPTION", "Context menu commands cannot have description", "description")
	}
	return c
}

func checkCommandName(f form, name string) {
	f.badIf(name != "" && (!commandName.MatchString(name) || strings.ToLower(name) != name), "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid", "name")
}

func commandText(name, description string, options []CommandOption) int {
	n := utf8.RuneCountInString(name) + utf8.RuneCountInString(description)
	for _, o := range options {
		n += commandText(o.Name, o.Description, o.Options)
	}
	return n
}

func readOptions(f form, depth int) []CommandOption {
	var list []CommandOption
	optional := false
	for _, g := range f.forms("options", maxOptions) {
		o := CommandOption{
			Type: g.integer("type"), Name: g.text("name", 1, 32), Description: g.text("description", 1, 100),
			Required: g.flag("required", false), MinLength: g.integer("min_length"), MaxLength: g.integer("max_length"),
		}
		checkCommandName(g, o.Name)
		g.badIf(o.Type < 1 || o.Type > 11 || (o.Type <= 2 && depth > 1), "BASE_TYPE_CHOICES", "Value must be one of {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}.", "type")
		g.badIf(o.Required && optional, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options must be placed before non-required options", "required")
		optional = optional || !o.Required
		if slices.ContainsFunc(list, func(other CommandOption) bool { return other.Name == o.Name }) {
			g.bad("APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option name already exists", "name")
		}
		for _, choice := range g.forms("choices", 25) {
			choice.text("name", 1, 100)
		}
		if g.has("choices") && json.Unmarshal(g.fields["choices"], &o.Choices) != nil {
			g.bad("LIST_TYPE_CONVERT", "Only iterables may be used in a ListType", "choices")
		}
		if o.Type <= 2 {
			o.Options = readOptions(g, depth+1)
			optional = false
		}
		list = append(list, o)
	}
	return list
}
