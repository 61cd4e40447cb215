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

// The commands that something else refers to by their name.
const (
	cmdAsk   = "ask"
	cmdHelp  = "help"
	cmdRetry = "retry"
)

// command is what people can have done by its name.
type command struct {
	name     string
	alias    string                      // another name, which nobody is told
	help     string                      // what it does, in one line: the default of the text command_NAME
	argument string                      // what may follow the name, in one word; empty: nothing
	admin    bool                        // for admins only
	private  bool                        // in private chats only
	run      func(*actor, queue.Message) // nil: what follows the name is a question
	// plain reports whether the words after the name are nothing that people would write to the model. It counts where
	// the bare name is the command; nil: none may follow.
	plain func(args []string) bool
}

// commands are all there are, in the order in which people should read them. Everything that needs a name of a command takes
// it from here: platforms' menus, /help, suggestions, and the program that a terminal runs.
func commands() []command {
	atMostOne := func(args []string) bool { return len(args) <= 1 }
	return []command{
		{name: cmdAsk, help: "ask me something", argument: "question"}, // where the bot sees only commands
		{name: "new", help: "begin a new conversation", run: func(a *actor, m queue.Message) { a.fresh(m, TextNew) }},
		{name: "stop", help: "stop the answer", run: (*actor).stop},
		{name: cmdRetry, help: "ask the last question again", run: (*actor).retry},
		{name: "undo", help: "forget the last question and its answer", run: about((*actor).undo)},
		{name: "approve", help: "let me do what I ask for", argument: "id", run: deciding(agent.Approved), plain: approval.IsPlain},
		{name: "deny", help: "keep me from doing it", argument: "id", run: deciding(agent.Denied), plain: approval.IsPlain},
		{name: "model", help: "show or choose the model", argument: "name", run: about((*actor).choose), plain: atMostOne},
		{name: "status", help: "how this conversation stands", run: about((*actor).status)},
		{name: "usage", help: "what this conversation and you have used", run: about((*actor).usage)},
		{name: cmdMemory, help: "what I remember of you, or forget it", argument: forgetWord, run: about((*actor).memory), plain: asksForMemory},
		{name: "forget", help: "forget everything that you asked here", run: (*actor).forget},
		{name: cmdHelp, alias: "start", help: "list what you can do", run: about((*actor).help)},
		{name: "pair", help: "let somebody in", argument: "code", admin: true, private: true, run: about((*actor).pair), plain: atMostOne},
	}
}

// about is a command that needs only what was written.
func about(run func(*actor, chat.Inbound)) func(*actor, queue.Message) {
	return func(a *actor, m queue.Message) { run(a, m.Inbound) }
}

// deciding is a command that decides about a tool call.
func deciding(v agent.Verdict) func(*actor, queue.Message) {
	return func(a *actor, m queue.Message) { a.decideProposal(m, approval.Said(v, words(m.Inbound))) }
}

// asks reports whether what follows the command is a question.
func (c command) asks() bool { return c.run == nil }

// follows reports whether words after the bare name make it this command.
func (c command) follows(args []string) bool {
	return len(args) == 0 || c.plain != nil && c.plain(args)
}

// CommandNames returns the names of the commands that everybody has, in the order in which people should read them.
// remembers: models have a tool that keeps facts.
func CommandNames(remembers bool) (names []string) {
	for _, c := range offered(remembers) {
		if !c.asks() && !c.admin {
			names = append(names, c.name)
		}
	}
	return names
}

// offered returns the commands of a gateway whose models remember, or do not.
func offered(remembers bool) []command {
	return slices.DeleteFunc(commands(), func(c command) bool { return c.name == cmdMemory && !remembers })
}

// called returns the command with a name.
func (g *Gateway) called(name string) (command, bool) {
	all := offered(g.Remembers)
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// menu returns the commands as platforms offer them.
func (g *Gateway) menu() []chat.CommandSpec {
	var out []chat.CommandSpec
	for _, c := range offered(g.Remembers) {
		out = append(out, chat.CommandSpec{
			Name: c.name, Description: g.Texts[c.textKey()], Argument: c.argument, Asks: c.asks(), Admin: c.admin,
		})
	}
	return out
}

// textKey is the key of the line that says what the command does.
func (c command) textKey() TextKey { return "command_" + TextKey(c.name) }

// listed returns the commands that somebody is told of.
func (a *actor) listed(in chat.Inbound) []command {
	admin := a.g.policy.Rules().Admin(a.person(in))
	return slices.DeleteFunc(offered(a.g.Remembers), func(c command) bool { return c.asks() || c.admin && !admin })
}

// command does what a command says, and reports whether m is one, or nearly. What else looks like one is left to the
// model.
func (a *actor) command(m queue.Message) bool {
	if m.Kind != chat.Command {
		return false
	}
	all := offered(a.g.Remembers)
	i := slices.IndexFunc(all, func(c command) bool {
		return !c.asks() && (c.name == m.Command || c.alias != "" && c.alias == m.Command)
	})
	if i < 0 {
		return a.suggest(m.Inbound)
	}
	switch c := all[i]; {
	case c.admin && !a.g.policy.Rules().Admin(a.person(m.Inbound)):
		a.say(m.Inbound, a.g.Texts[TextNotAdmin])
	case c.private && m.To.Kind != chat.Private:
		a.say(m.Inbound, a.g.Texts[TextPrivateOnly])
	default:
		c.run(a, m)
	}
	return true
}

// suggest names the command that a mistyped one is near, if there is one that the sender may use. It reports
// false for everything else that begins with a slash, which is a question like any other.
func (a *actor) suggest(in chat.Inbound) bool {
	for _, c := range a.listed(in) {
		if mistyped(in.Command, c.name) {
			a.say(in, a.g.Texts.fill(TextDidYouMean, "command", a.slash(in.To)+c.name))
			return true
		}
	}
	return false
}

// named returns in as the command that it names, where a platform has no commands of ours: it has one
// that serves for all of them, or none can be typed in this place. /ask is a question like any other.
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
		// Only what is nothing but a command is one: people write "help me" to the model.
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

// asking returns what a command was given as a question.
func asking(in chat.Inbound) chat.Inbound {
	in.Kind, in.Text, in.Command, in.Args = chat.Text, in.Args, "", ""
	return in
}

// noCommands says that the platform's commands can't be typed somewhere. An adapter that panics must not
// keep a message from being accepted.
func (e *endpoint) noCommands(to chat.Target) (none bool) {
	_ = caught(func() { none = e.out.Sender.Profile(to).NoCommands })
	return none
}

// slash is what people type before a command's name somewhere.
func (a *actor) slash(to chat.Target) string {
	p := a.endpoint.out.Sender.Profile(to)
	if p.NoCommands {
		return p.Slash // mostly nothing: the bare name is the command
	}
	return cmp.Or(p.Slash, "/")
}

// mistyped reports whether typed is a command's name but for one slip, or two where the name is long enough to be
// recognized: a letter that is missing, too many or wrong, or two letters in the wrong order.
func mistyped(typed, name string) bool {
	slips := 1
	if len(name) > 5 {
		slips = 2
	}
	return utf8.RuneCountInString(typed) > 1 && slipsBetween([]rune(typed), []rune(name)) <= slips
}

// slipsBetween is the optimal string alignment distance: the smallest number of insertions, deletions,
// substitutions and swaps of neighbours that make b of a.
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
