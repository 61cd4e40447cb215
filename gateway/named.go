package gateway

import (
	"cmp"
	"slices"
	"strings"

	"telex/gateway/approval"
	"telex/gateway/queue"
	"telex/internal/chat"
)

// named returns in as the command that it names, where a platform has no commands of ours: it has one
// that serves for all of them, or none can be typed in this place. /ask is a question like any other.
func (g *Gateway) named(e *endpoint, in chat.Inbound) chat.Inbound {
	switch {
	case in.Kind == chat.Command && in.Command == "" && strings.TrimSpace(in.Args) == "":
		in.Command = cmdHelp
	case in.Kind == chat.Command && in.Command == "":
		name, rest, _ := strings.Cut(strings.TrimSpace(in.Args), " ")
		if in.Command = strings.ToLower(strings.TrimPrefix(name, "/")); !slices.ContainsFunc(g.commands(), isCalled(in.Command)) {
			return asking(in)
		}
		in.Args = strings.TrimSpace(rest)
	case in.Kind == chat.Text && in.Origin == chat.Typed && len(in.Attachments) == 0 && e.noCommands(in.To):
		// Only what is nothing but a command is one: people write "help me" to the model.
		said := strings.Fields(in.Text)
		if len(said) == 0 {
			return in
		}
		name, commands := strings.ToLower(strings.TrimPrefix(said[0], "/")), g.commands()
		i := slices.IndexFunc(commands, isCalled(name))
		if i < 0 || commands[i].Asks || !bare(name, said[1:]) {
			return in
		}
		in.Kind, in.Command, in.Args = chat.Command, name, strings.Join(said[1:], " ")
	}
	if in.Kind == chat.Command && in.Command == cmdAsk {
		return asking(in)
	}
	return in
}

// bare says that a command's name and these words are nothing that people would write to the model.
func bare(name string, args []string) bool {
	switch name {
	case cmdModel, cmdPair:
		return len(args) <= 1
	case cmdApprove, cmdDeny:
		return approval.IsPlain(args)
	case cmdMemory:
		return len(args) == 0 || len(args) == 2 && strings.EqualFold(args[0], forgetWord)
	default:
		return len(args) == 0
	}
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

// isCalled says whether a command has a name.
func isCalled(name string) func(chat.CommandSpec) bool {
	return func(c chat.CommandSpec) bool { return c.Name == name }
}

// asking returns what a command was given as a question.
func asking(in chat.Inbound) chat.Inbound {
	in.Kind, in.Text, in.Command, in.Args = chat.Text, in.Args, "", ""
	return in
}

// stopAction begins the ID of the button that stops a turn, whose id follows.
const stopAction = "stop:"

// ours reports whether a button is one that replies have.
func ours(action string) bool {
	_, decides := approval.Pressed(action)
	return decides || strings.HasPrefix(action, stopAction)
}

// press does what a button says, should it still be about something.
func (a *actor) press(m queue.Message) {
	if answer, ok := approval.Pressed(m.Action); ok {
		a.decideProposal(m, answer)
		return
	}
	id, _ := strings.CutPrefix(m.Action, stopAction)
	left := slices.ContainsFunc(a.left, func(rec chat.Turn) bool { return rec.ID == id })
	if left || a.turn != nil && a.turn.id == id {
		a.stop(m)
		return
	}
	a.cutParked(func(t *turn) bool { return t.id == id })
	a.drop(m.Inbound)
}

// Button says where replies have a button that stops them.
type Button uint8

// The choices.
const (
	ButtonAuto Button = iota // where commands can't be typed
	ButtonOn
	ButtonOff
)

// stopButton returns the button of a turn's reply; nil where it has none.
func (a *actor) stopButton(rec chat.Turn) *chat.Action {
	if a.endpoint.StopButton == ButtonOff || !a.endpoint.buttons {
		return nil
	}
	return &chat.Action{ID: stopAction + rec.ID, Label: a.g.Texts[TextStopButton]}
}
