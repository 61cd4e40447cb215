package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/standin/openai"
)

// The model writes these texts before its first tool calls, before the call that changes something, and at the end.
const (
	saysFirst  = "Let me see what there is, and what the rest of it costs."
	saysSecond = "There is enough of the bread, so that only the cheese has to be ordered."
	saysLast   = "It is on its way, and will be there before the guests."
	saysAll    = saysFirst + "\n\n" + saysSecond + "\n\n" + saysLast
)

// Lines that people see between the texts of the model.
const (
	countsStock = "desk: Count what is there"
	looksUp     = "desk: Look up prices"
	orders      = "desk: Order it"
	mayI        = "Allow this?"
)

// party returns a question and the rules by which the imitated model answers it. The answer consists of a text, two
// parallel tool calls, a text, a call that changes something, and a text. The rules apply only to a question that
// contains the given name.
func party(name string) (question string, rules []openai.Rule) {
	question = "What do we need for the party of " + name + "?"
	call := func(tool string) string { return fmt.Sprintf("call=%q", fmt.Sprintf(`desk_%s {"for":%q}`, tool, name)) }
	for _, do := range []string{
		fmt.Sprintf("say=%q %s %s again", saysFirst, call("stock"), call("prices")),
		fmt.Sprintf("say=%q %s again", saysSecond, call("order")),
		fmt.Sprintf("say=%q", saysLast),
	} {
		rules = append(rules, openai.Rule{Match: question, Times: 1, Do: do})
	}
	return question, rules
}

// quick is a streaming section with which replies appear early and change often, so that tests see much in a short
// time.
const quick = "{enabled: true, min_tokens: 4, edit_interval: 0.3, telegram: {enabled: true}, discord: {enabled: true}, slack: {enabled: true}}"

// place is a conversation on one of the platforms.
type place struct {
	network
	person int
	where  string
	asked  time.Time
	party  string // the name in the question, by which the model's rules recognize the question
}

// begin starts a conversation in which the imitated model answers as the given rules say.
func (n network) begin(model remote, person int, question string, rules []openai.Rule) *place {
	n.t.Helper()
	for _, r := range rules {
		model.post("/control/rule", r)
	}
	p := &place{network: n, person: person, asked: time.Now()}
	p.where = n.ask(person, question)
	return p
}

// awaitShown waits until the bot's newest message in the conversation satisfies ok, and returns it.
func (p *place) awaitShown(what string, ok func(s shown) bool) (newest post) {
	p.t.Helper()
	p.awaitEvent(p.name+": "+what, func() bool {
		list := p.posts(p.where)
		if len(list) == 0 {
			return false
		}
		newest = list[len(list)-1]
		return ok(newest.last())
	}, func() string { return fmt.Sprintf("it shows %q", p.sees(p.where)) })
	return newest
}

// awaitText waits until the bot's newest message in the conversation contains the given texts.
func (p *place) awaitText(parts ...string) post {
	p.t.Helper()
	return p.awaitShown(fmt.Sprintf("%q", parts), func(s shown) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(s.text, part) })
	})
}

// transcript returns everything that a person saw in the conversation, with the time since the question.
func (p *place) transcript() string {
	var b strings.Builder
	for _, m := range p.posts(p.where) {
		fmt.Fprintf(&b, "%s, message %s\n", p.name, m.id)
		for _, v := range m.versions {
			fmt.Fprintf(&b, "%6.2fs  %s", v.at.Sub(p.asked).Seconds(), strings.ReplaceAll(v.text, "\n", "\n         "))
			if len(v.buttons) > 0 {
				fmt.Fprintf(&b, "\n         [%s]", strings.Join(v.labels(), "] ["))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// checkFinal checks that the conversation has only one message and that this message equals the answer.
func (p *place) checkFinal(answer string) post {
	p.t.Helper()
	list := p.posts(p.where)
	if len(list) != 1 {
		p.t.Fatalf("%s: %d messages, want one:\n%s", p.name, len(list), p.transcript())
	}
	if last := list[0].last(); last.text != answer || len(last.buttons) > 0 {
		p.t.Errorf("%s: in the end it shows %q with the buttons %q, want %q", p.name, last.text, last.labels(), answer)
	}
	return list[0]
}

// checkStages checks that a message showed each stage, in this order. A stage is a list of texts that must be visible
// at the same time.
func (p *place) checkStages(m post, stages ...[]string) {
	p.t.Helper()
	at := 0
	for _, stage := range stages {
		i := slices.IndexFunc(m.versions[at:], func(s shown) bool {
			seen := s.text + "\n[" + strings.Join(s.labels(), "] [") + "]"
			return !slices.ContainsFunc(stage, func(part string) bool { return !strings.Contains(seen, part) })
		})
		if i < 0 {
			p.t.Errorf("%s: %q was not seen, or not in its place", p.name, stage)
			continue
		}
		at += i
	}
}

// transport describes how replies are sent on the three platforms, and what people see because of that.
type transport struct {
	name, streaming string
	// unseen lists the platforms on which read-only tools are not shown while they run.
	unseen []string
	// silent lists the platforms on which no tool is shown.
	silent []string
	// moved lists the platforms on which the answer is not a message before the person is asked for approval.
	moved []string
}

func transports() []transport {
	const more = "enabled: true, min_tokens: 4, edit_interval: 0.3"
	return []transport{
		{name: "edits", streaming: quick},
		{
			name:      "a draft, nothing, a stream",
			streaming: fmt.Sprintf("{%s, telegram: {enabled: true, transport: draft}, discord: {transport: \"off\"}, slack: {enabled: true, transport: native}}", more),
			unseen:    []string{"discord", "slack"},
			silent:    []string{"discord"},
			moved:     []string{"telegram", "discord"},
		},
	}
}

// One answer consists of a text, two parallel tool calls, a text, a call that a person approves with a button, and a
// text. On each platform, the answer must be one message. The message shows the tools while they run, and only the text
// at the end.
func TestToolsOnThreePlatforms(t *testing.T) {
	t.Parallel()
	for _, tt := range transports() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}

func (tt transport) run(t *testing.T) {
	bench := newWorkbench(t)
	networks, model, daemon := startPlatformsWith(t, sections{streaming: tt.streaming, more: bench.section()})
	daemon.awaitLog("MCP server listed its tools", 1)
	var places []*place
	for _, n := range networks {
		question, rules := party(n.name)
		places = append(places, n.begin(model, 1, question, rules))
	}
	first := make(map[string]string) // by platform: id of the first message
	for _, p := range places {
		if bench.awaitCall("prices", p.name); !slices.Contains(tt.unseen, p.name) {
			first[p.name] = p.awaitText(saysFirst, "⚙ "+countsStock, "⚙ "+looksUp).id
		}
		bench.letGo("stock", p.name)
	}
	for _, p := range places {
		if !slices.Contains(tt.unseen, p.name) {
			p.awaitText("⚙ "+looksUp, "✓ "+countsStock)
		}
		bench.letGo("prices", p.name)
	}
	for _, p := range places {
		asks := p.awaitText(saysSecond, mayI, "desk_order", fmt.Sprintf(`"for": %q`, p.name))
		if n := bench.runs("order", p.name); n != 0 {
			t.Errorf("%s: the tool ran before anybody approved it", p.name)
		}
		if slices.Contains(tt.moved, p.name) || first[p.name] == "" {
			first[p.name] = asks.id
		}
		p.press(p.person, p.where, asks, "Approve")
	}
	for _, p := range places {
		if bench.awaitCall("order", p.name); !slices.Contains(tt.silent, p.name) {
			p.awaitText("⚙ " + orders)
		}
		bench.letGo("order", p.name)
	}
	daemon.awaitLog("turn ended", len(places))
	for _, p := range places {
		tt.check(t, p, bench, first[p.name])
	}
	checkAudit(t, daemon, len(places), "approved")
}

// check checks what a person saw while the answer grew and at the end.
func (tt transport) check(t *testing.T, p *place, bench *workbench, first string) {
	t.Helper()
	t.Log(p.transcript())
	m := p.checkFinal(saysAll)
	if m.id != first {
		t.Errorf("%s: the answer began in message %s and ends in %s", p.name, first, m.id)
	}
	stages := [][]string{
		{saysFirst, "⚙ " + countsStock, "⚙ " + looksUp},
		{saysFirst, "✓ " + countsStock, "⚙ " + looksUp},
		{saysFirst, saysSecond, mayI, "[Approve] [Deny] [Always here]"},
		{saysFirst, saysSecond, "⚙ " + orders},
		{saysAll},
	}
	if slices.Contains(tt.unseen, p.name) {
		stages = stages[2:]
	}
	if slices.Contains(tt.silent, p.name) {
		stages = slices.Delete(stages, 1, 2)
	}
	p.checkStages(m, stages...)
	if n := bench.runs("order", p.name); n != 1 {
		t.Errorf("%s: the tool ran %d times, want once", p.name, n)
	}
}

// checkAudit checks that the log contains n decisions about tool calls. Each logged decision must be the given one and
// name the person who made the decision.
func checkAudit(t *testing.T, daemon *process, n int, decision string) {
	t.Helper()
	list := daemon.logged("a tool call was decided")
	if len(list) != n {
		t.Errorf("the log says of %d calls what was decided, want %d", len(list), n)
	}
	for _, e := range list {
		if e.text("decision") != decision || e.text("tool") != "desk_order" || e.text("by") == "" || e.text("proposal") == "" || e.text("turn") == "" {
			t.Errorf("the log says %v, want that it was %s", e, decision)
		}
		line, _ := json.Marshal(e)
		t.Logf("%s", line)
	}
}
