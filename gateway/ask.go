package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"telex/gateway/access"
	"telex/internal/chat"
)

// This file contains the commands that only answer or store a choice.

// Accounts stores which model people chose in a conversation, and reads the stored usage.
type Accounts interface {
	// Choose stores the model that people chose in a conversation. An empty model removes the choice.
	Choose(ctx context.Context, c chat.Conversation, model string) error
	// Used returns the total usage of the turns that the argument selects.
	Used(ctx context.Context, of chat.UsageOf) (chat.Used, error)
}

// help lists the commands. If the sender is an admin, the list includes the commands for admins. If an admin adds the
// argument "texts", the method help lists the keys of the configurable texts instead.
func (a *actor) help(in chat.Inbound) {
	if args := words(in); a.g.policy.Rules().Admin(a.person(in)) && len(args) == 1 && strings.EqualFold(args[0], "texts") {
		var b strings.Builder
		for _, k := range TextKeys() {
			fmt.Fprintf(&b, "`%s`\n", k)
		}
		a.say(in, b.String())
		return
	}
	var list []string
	for _, c := range a.listed(in) {
		list = append(list, a.slash(in.To)+c.name+" – "+a.g.texts()[c.textKey()])
	}
	attachments := ""
	if a.endpoint.account().fetcher != nil {
		attachments = a.g.texts()[TextAttachments]
	}
	a.say(in, a.g.texts().fill(TextHelp, "attachments", attachments, "commands", strings.Join(list, "\n")))
}

// choose shows the model of the conversation. If the command has an argument, the method choose sets the model.
func (a *actor) choose(in chat.Inbound) {
	stored, err := a.past()
	if err != nil {
		a.fail(in, "session could not be read", err)
		return
	}
	args := words(in)
	if len(args) == 0 {
		now := a.settings(a.g.current(), stored.Session, in.Sender.ID).model.Name
		a.say(in, a.g.texts().fill(TextModels, "model", now, "models", a.g.listModels(now), "slash", a.slash(in.To)))
		return
	}
	now := a.g.current()
	m, ok := now.model(in.Args)
	if n, err := strconv.Atoi(args[0]); !ok && err == nil && len(args) == 1 && n >= 1 && n <= len(now.Models) {
		m, ok = now.Models[n-1], true
	}
	if !ok {
		a.say(in, a.g.texts().fill(TextNoModel, "models", a.g.listModels("")))
		return
	}
	if err := a.g.store.accounts.Choose(a.g.deliveries, a.conversation, m.Name); err != nil {
		a.fail(in, "the chosen model was not stored", err)
		return
	}
	a.say(in, a.g.texts().fill(TextModelChosen, "model", m.Name))
}

// listModels lists the models and marks the current one.
func (g *Gateway) listModels(now string) string {
	var lines []string
	for i, m := range g.current().Models {
		line := fmt.Sprintf("%d. `%s`", i+1, m.Name)
		if m.Name == now {
			line += " ✓"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// The method status answers /status with the state of the conversation.
func (a *actor) status(in chat.Inbound) {
	s, err := a.past()
	if err != nil {
		a.fail(in, "session could not be read", err)
		return
	}
	used, err := a.g.store.accounts.Used(a.g.deliveries, chat.UsageOf{Conversation: a.conversation})
	if err != nil {
		a.fail(in, "usage could not be read", err)
		return
	}
	m := a.settings(a.g.current(), s.Session, in.Sender.ID).model
	state, waiting := a.g.texts()[TextIdle], a.queue.Len()
	if a.turn != nil {
		waiting += a.turn.offers.Len()
		state = a.g.texts().fill(TextBusy, "time", time.Since(a.turn.began).Round(time.Second).String())
		if a.turn.approvals.Waiting() {
			state = a.g.texts()[TextAwaits]
		}
	}
	window := "∞"
	if m.Window > 0 {
		window = group(m.Window)
	}
	a.say(in, a.g.texts().fill(TextStatus,
		"model", m.Name, "answered", cmp.Or(used.Last, "–"), "context", group(s.Tokens()), "window", window,
		"messages", strconv.Itoa(len(s.Messages)), "compactions", strconv.Itoa(s.Compactions),
		"state", state, "waiting", strconv.Itoa(waiting)))
}

// The method usage answers /usage with the usage of the conversation, and with today's usage of the person.
func (a *actor) usage(in chat.Inbound) {
	from, to := access.Day(time.Now())
	here, err := a.g.store.accounts.Used(a.g.deliveries, chat.UsageOf{Conversation: a.conversation})
	if err != nil {
		a.fail(in, "usage could not be read", err)
		return
	}
	today, err := a.g.store.accounts.Used(a.g.deliveries, chat.UsageOf{Person: a.person(in), From: from, To: to})
	if err != nil {
		a.fail(in, "usage could not be read", err)
		return
	}
	a.say(in, a.g.texts().fill(TextUsage,
		"here", tokens(here), "here_answers", strconv.Itoa(here.Turns),
		"today", tokens(today), "today_answers", strconv.Itoa(today.Turns)))
}

// The function tokens formats the number of used tokens.
func tokens(u chat.Used) string {
	about := ""
	if u.Estimated {
		about = "about "
	}
	return about + group(u.Prompt+u.Completion)
}

// group formats a number with thousands separators.
func group(n int) string {
	s := strconv.Itoa(n)
	var parts []string
	for len(s) > 3 {
		parts = append(parts, s[len(s)-3:])
		s = s[:len(s)-3]
	}
	parts = append(parts, s)
	slices.Reverse(parts)
	return strings.Join(parts, ",")
}

// pair shows an admin the pairing requests and the admitted people. With arguments, the method pair approves a request
// or revokes an admission.
func (a *actor) pair(in chat.Inbound) {
	me, args := a.person(in), words(in)
	switch {
	case len(args) == 0:
		a.say(in, a.g.texts().fill(TextPairs, "waiting", listPairingRequests(a.g.policy.PairingRequests()), "admitted", listAdmitted(a.g.policy.Admitted()),
			"slash", a.slash(in.To)))
	case len(args) == 2 && strings.EqualFold(args[0], "revoke"):
		a.revoke(in, me, args[1])
	default:
		code := args[len(args)-1] // on the command line, people type "telex pair approve CODE", so pair accepts "approve" too
		admitted, err := a.g.policy.Approve(a.g.deliveries, code, me.String())
		switch {
		case errors.Is(err, access.ErrCode):
			a.say(in, a.g.texts()[TextNoCode])
		case err != nil:
			a.fail(in, "pairing request could not be approved", err)
		default:
			a.say(in, a.g.texts().fill(TextAdmitted, "person", described(admitted.Person, admitted.Name)))
		}
	}
}

func (a *actor) revoke(in chat.Inbound, by chat.Person, who string) {
	p, err := ParsePerson(who)
	if err == nil {
		err = a.g.policy.Revoke(a.g.deliveries, p, by.String())
	}
	switch {
	case errors.Is(err, access.ErrNobody), errors.Is(err, errNoPerson):
		a.say(in, a.g.texts().fill(TextNobody, "slash", a.slash(in.To)))
	case err != nil:
		a.fail(in, "an admission could not be revoked", err)
	default:
		a.say(in, a.g.texts().fill(TextRevoked, "person", "`"+p.String()+"`"))
	}
}

var errNoPerson = errors.New("a person is written endpoint:user:ID")

// ParsePerson parses the output of Person.String.
func ParsePerson(s string) (chat.Person, error) {
	endpoint, rest, _ := strings.Cut(s, ":")
	id, found := strings.CutPrefix(rest, "user:")
	if endpoint == "" || !found || id == "" {
		return chat.Person{}, errNoPerson
	}
	return chat.Person{Endpoint: chat.EndpointID(endpoint), User: chat.UserID(id)}, nil
}

func listPairingRequests(ks []chat.PairingRequest) string {
	var lines []string
	for _, k := range ks {
		lines = append(lines, "`"+k.Code+"` "+described(k.Person, k.Name))
	}
	return orNobody(lines)
}

func listAdmitted(as []chat.Admission) string {
	var lines []string
	for _, a := range as {
		lines = append(lines, described(a.Person, a.Name))
	}
	return orNobody(lines)
}

func orNobody(lines []string) string {
	if len(lines) == 0 {
		return "–"
	}
	return strings.Join(lines, "\n")
}

// described formats a person. The person chose the name, so the function described formats the name as code, where
// Markdown in the name has no effect.
func described(p chat.Person, name string) string {
	if name = strings.ReplaceAll(name, "`", "'"); name == "" {
		return "`" + p.String() + "`"
	}
	return "`" + p.String() + "` `" + name + "`"
}
