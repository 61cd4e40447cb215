package gateway

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"telex/agent"
	"telex/gateway/approval"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// These are the names of the commands to which other code refers.
const (
	cmdAsk   = "ask"
	cmdHelp  = "help"
	cmdRetry = "retry"
)

// command is a command that people can use.
type command struct {
	name     string
	alias    string                      // another name of the command, which is not documented
	help     string                      // description in one line; it is the default of the text command_NAME
	argument string                      // placeholder for the argument, in one word; empty: none
	admin    bool                        // for admins only
	private  bool                        // in private chats only
	alone    bool                        // only the person who typed the command needs to see the answer
	run      func(*actor, queue.Message) // nil: the arguments are a question
	// plain reports whether the words after the command's name can only be its arguments, and not an ordinary sentence. plain
	// is used in chats where people type commands without a slash. If plain is nil, the command has no arguments in chats where
	// people type commands without a slash.
	plain func(args []string) bool
}

// commands returns all commands, in the order in which /help lists them. The platforms' menus, /help, the suggestions
// after a typo and the terminal program all use this list.
func commands() []command {
	atMostOne := func(args []string) bool { return len(args) <= 1 }
	return []command{
		{name: cmdAsk, help: "ask me something", argument: "question"}, // for chats where the platform sends only commands to the bot
		{name: "new", help: "begin a new conversation", run: func(a *actor, m queue.Message) { a.fresh(m, TextNew) }},
		{name: "stop", help: "stop the answer", run: (*actor).stop},
		{name: cmdRetry, help: "ask the last question again", run: (*actor).retry},
		{name: "undo", help: "forget the last question and its answer", run: about((*actor).undo)},
		{name: "approve", help: "approve what I asked to do", argument: "id", run: deciding(agent.Approved), plain: approval.IsPlain},
		{name: "deny", help: "deny what I asked to do", argument: "id", run: deciding(agent.Denied), plain: approval.IsPlain},
		{name: "model", help: "show or choose the model", argument: "name", run: about((*actor).choose), plain: atMostOne},
		{name: "status", help: "show the model, the context and what is running", alone: true, run: about((*actor).status)},
		{name: "usage", help: "show how many tokens were used here and by you today", alone: true, run: about((*actor).usage)},
		{
			name: cmdMemory, help: "show or delete what I remember about you", argument: forgetWord, alone: true,
			run: about((*actor).memory), plain: asksForMemory,
		},
		{name: "forget", help: "forget everything that you asked here", run: (*actor).forget},
		{name: cmdHelp, alias: "start", help: "list what you can do", alone: true, run: about((*actor).help)},
		{name: "pair", help: "let somebody in", argument: "code", admin: true, private: true, run: about((*actor).pair), plain: atMostOne},
	}
}

// about converts a function that needs only the inbound message into a function for the field run of a command.
func about(run func(*actor, chat.Inbound)) func(*actor, queue.Message) {
	return func(a *actor, m queue.Message) { run(a, m.Inbound) }
}

// deciding returns the function for the field run of a command that approves or denies a tool call.
func deciding(v agent.Verdict) func(*actor, queue.Message) {
	return func(a *actor, m queue.Message) { a.decideProposal(m, approval.ParseAnswer(v, words(m.Inbound))) }
}

// asks reports whether the command's arguments are a question to the model, as with /ask.
func (c command) asks() bool { return c.run == nil }

// follows reports whether a text that begins with the command's name, without a slash, is this command. The parameter
// args contains the words after the name.
func (c command) follows(args []string) bool {
	return len(args) == 0 || c.plain != nil && c.plain(args)
}

// CommandNames returns the names of the commands that everybody may use, in the order in which /help lists them.
// remembers reports whether models have the memory tool.
func CommandNames(remembers bool) (names []string) {
	for _, c := range offered(remembers) {
		if !c.asks() && !c.admin {
			names = append(names, c.name)
		}
	}
	return names
}

// offered returns all commands. If the parameter remembers is false, the function offered leaves out the memory command.
func offered(remembers bool) []command {
	return slices.DeleteFunc(commands(), func(c command) bool { return c.name == cmdMemory && !remembers })
}

// called returns the command with the given name. called returns false if no command has this name.
func (g *Gateway) called(name string) (command, bool) {
	all := offered(g.current().Remembers)
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// menu returns the commands that a platform shows in its menu of commands.
func (g *Gateway) menu() []chat.CommandSpec {
	var out []chat.CommandSpec
	for _, c := range offered(g.current().Remembers) {
		out = append(out, chat.CommandSpec{
			Name: c.name, Description: g.texts()[c.textKey()], Argument: c.argument, Asks: c.asks(), Admin: c.admin, Alone: c.alone,
		})
	}
	return out
}

// textKey returns the key of the command's description.
func (c command) textKey() TextKey { return "command_" + TextKey(c.name) }

// listed returns the commands that /help shows to the sender of a message.
func (a *actor) listed(in chat.Inbound) []command {
	admin := a.g.policy.Rules().Admin(a.person(in))
	return slices.DeleteFunc(offered(a.g.current().Remembers), func(c command) bool { return c.asks() || c.admin && !admin })
}

// command runs the command in a message, and reports whether m contains a command or a mistyped one. If a text begins with a
// slash but is not like any command, the method command returns false, and the text becomes a question to the model.
func (a *actor) command(m queue.Message) bool {
	if m.Kind != chat.Command {
		return false
	}
	all := offered(a.g.current().Remembers)
	i := slices.IndexFunc(all, func(c command) bool {
		return !c.asks() && (c.name == m.Command || c.alias != "" && c.alias == m.Command)
	})
	if i < 0 {
		return a.suggest(m.Inbound)
	}
	switch c := all[i]; {
	case c.admin && !a.g.policy.Rules().Admin(a.person(m.Inbound)):
		a.say(m.Inbound, a.g.texts()[TextNotAdmin])
	case c.private && m.To.Kind != chat.Private:
		a.say(m.Inbound, a.g.texts()[TextPrivateOnly])
	default:
		c.run(a, m)
	}
	return true
}

// suggest answers a mistyped command with the nearest command that the sender may use. If no command's name is near enough,
// the method suggest returns false, and the message counts as a question to the model.
func (a *actor) suggest(in chat.Inbound) bool {
	for _, c := range a.listed(in) {
		if mistyped(in.Command, c.name) {
			a.say(in, a.g.texts().fill(TextDidYouMean, "command", a.slash(in.To)+c.name))
			return true
		}
	}
	return false
}

// named detects a command of telex that the platform has not recognized. A platform may have a single command for all
// commands of telex, such as Slack's /telex. In some chats and threads, people can't type commands with a slash, and
// write the command's name as text. named also turns the command /ask into a question to the model.
func (g *Gateway) named(e *endpoint, in chat.Inbound) chat.Inbound {
	switch {
	case in.Kind == chat.Command && in.Command == "" && strings.TrimSpace(in.Args) == "":
		in.Command = cmdHelp
	case in.Kind == chat.Command && in.Command == "":
		name, rest, _ := strings.Cut(strings.TrimSpace(in.Args), " ")
		in.Command = strings.ToLower(strings.TrimPrefix(name, "/"))
		if _, known := g.called(in.Command); !known {
			return asking(in)
		}
		in.Args = strings.TrimSpace(rest)
	case in.Kind == chat.Text && in.Origin == chat.Typed && len(in.Attachments) == 0 && e.noCommands(in.To):
		// The whole text must be a command, because "help me" is a question to the model and not the command help.
		said := strings.Fields(in.Text)
		if len(said) == 0 {
			return in
		}
		c, known := g.called(strings.ToLower(strings.TrimPrefix(said[0], "/")))
		if !known || c.asks() || !c.follows(said[1:]) {
			return in
		}
		in.Kind, in.Command, in.Args = chat.Command, c.name, strings.Join(said[1:], " ")
	}
	if in.Kind == chat.Command && in.Command == cmdAsk {
		return asking(in)
	}
	return in
}

// asking turns the arguments of a command into a question.
func asking(in chat.Inbound) chat.Inbound {
	in.Kind, in.Text, in.Command, in.Args = chat.Text, in.Args, "", ""
	return in
}

// noCommands reports whether people can't type the platform's commands in a chat or thread. noCommands catches a
// panic in the adapter, so that the gateway can still accept the message.
func (e *endpoint) noCommands(to chat.Target) (none bool) {
	_ = caught(func() { none = e.account().out.Sender.Profile(to).NoCommands })
	return none
}

// slash returns the prefix that people type before a command's name in a chat or thread.
func (a *actor) slash(to chat.Target) string {
	p := a.endpoint.account().out.Sender.Profile(to)
	if p.NoCommands {
		return p.Slash // usually empty, because people type the command's name alone
	}
	return cmp.Or(p.Slash, "/")
}

// mistyped reports whether the parameter typed is a command's name with one typo, or two in a long name: a missing, extra or
// wrong letter, or two swapped letters.
func mistyped(typed, name string) bool {
	slips := 1
	if len(name) > 5 {
		slips = 2
	}
	return utf8.RuneCountInString(typed) > 1 && slipsBetween([]rune(typed), []rune(name)) <= slips
}

// slipsBetween returns the optimal string alignment distance: the smallest number of insertions, deletions,
// substitutions and swaps of neighbours that turn a into b.
// https://en.wikipedia.org/wiki/Damerau%E2%80%93Levenshtein_distance#Optimal_string_alignment_distance
func slipsBetween(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			differ := 1
			if a[i] == b[j] {
				differ = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+differ)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
