package main

import (
	"strings"
	"syscall"
	"testing"
)

// kill kills the process with SIGKILL, which looks like a crash.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// beginParty asks the bot a question about a person's party, and lets the calls of the two read-only tools end at once.
// Then beginParty waits until the bot asks the person to approve the third call.
func beginParty(bench *workbench, n network, model remote, person int, name string) *place {
	n.t.Helper()
	bench.letGo("stock", name)
	bench.letGo("prices", name)
	question, rules := party(name)
	p := n.begin(model, person, question, rules)
	p.party = name
	p.awaitText(saysSecond, mayI)
	return p
}

// The daemon is killed while it waits for a person's approval. The person presses the approval button, which the killed
// process showed, before or after the next process starts. Whenever the person presses the button, the approved tool
// must run once, and the answer must end in the same message.
func TestKilledWhileAProposalWaits(t *testing.T) {
	t.Parallel()
	bench := newWorkbench(t)
	networks, model, daemon := startPlatformsWith(t, sections{streaming: quick, more: bench.section()})
	daemon.awaitLog("MCP server listed its tools", 1)
	var places []*place
	for _, n := range networks {
		places = append(places, beginParty(bench, n, model, 1, n.name+", pressed after"))
	}
	// Telegram keeps a button press for the next process. Discord and Slack do not keep a button press, and tell the
	// person at once that the bot is offline.
	away := beginParty(bench, networks[0], model, 2, "telegram, pressed before")
	asked := make(map[*place]post)
	for _, p := range append(places, away) {
		asked[p] = p.awaitText(mayI)
	}
	daemon.kill()
	away.press(away.person, away.where, asked[away], "Approve")
	daemon = daemon.again()
	bench.awaitCall("order", away.party)
	daemon.awaitLog("receiving", 3)
	for _, p := range places {
		if n := bench.runs("order", p.party); n != 0 {
			t.Errorf("%s: the tool ran before anybody approved it", p.party)
		}
		p.press(p.person, p.where, asked[p], "Approve")
		bench.awaitCall("order", p.party)
	}
	places = append(places, away)
	for _, p := range places {
		bench.letGo("order", p.party)
	}
	daemon.awaitLog("turn ended", len(places))
	for _, p := range places {
		t.Log(p.transcript())
		if m := p.checkFinal(saysAll); m.id != asked[p].id {
			t.Errorf("%s: the question stood in message %s, the answer in %s", p.party, asked[p].id, m.id)
		}
		if n := bench.runs("order", p.party); n != 1 {
			t.Errorf("%s: the tool ran %d times, want once", p.party, n)
		}
		if s, r := bench.runs("stock", p.party), bench.runs("prices", p.party); s != 1 || r != 1 {
			t.Errorf("%s: the tools that only read ran %d and %d times, want once each", p.party, s, r)
		}
	}
	checkAudit(t, daemon, len(places), "approved")
}

// The daemon is killed right after an approval, while the tool runs. The tool must not run again, and the model must
// read that the outcome of the call is unknown.
func TestKilledWhileAnApprovedToolRuns(t *testing.T) {
	t.Parallel()
	bench := newWorkbench(t)
	networks, model, daemon := startPlatformsWith(t, sections{streaming: quick, more: bench.section()})
	daemon.awaitLog("MCP server listed its tools", 1)
	var places []*place
	asked := make(map[*place]post)
	for _, n := range networks {
		p := beginParty(bench, n, model, 1, n.name)
		places = append(places, p)
		asked[p] = p.awaitText(mayI)
		p.press(p.person, p.where, asked[p], "Approve")
		bench.awaitCall("order", p.party)
	}
	daemon.kill()
	for _, p := range places {
		bench.letGo("order", p.party)
	}
	daemon = daemon.again()
	daemon.awaitLog("turn ended", len(places))
	told := make(map[string]bool)
	for _, r := range model.requests() {
		if strings.Contains(string(r.Body), "it is not known whether this call was carried out") {
			told[r.Question] = true
		}
	}
	for _, p := range places {
		t.Log(p.transcript())
		if m := p.checkFinal(saysAll); m.id != asked[p].id {
			t.Errorf("%s: the question stood in message %s, the answer in %s", p.party, asked[p].id, m.id)
		}
		if n := bench.runs("order", p.party); n != 1 {
			t.Errorf("%s: the tool ran %d times, want once", p.party, n)
		}
		if question, _ := party(p.party); !told[question] {
			t.Errorf("%s: the model was not told that the outcome is unknown", p.party)
		}
	}
}

// The daemon is killed while a call waits for approval. A person approves the call after the next daemon has started, and
// before the tool server has started. The daemon must make this call once the tool server runs.
func TestKilledWithAServerThatComesLate(t *testing.T) {
	t.Parallel()
	bench := newWorkbench(t)
	networks, model, daemon := startPlatformsWith(t, sections{streaming: quick, more: bench.section()})
	daemon.awaitLog("MCP server listed its tools", 1)
	p := beginParty(bench, networks[0], model, 1, "telegram")
	asked := p.awaitText(mayI)
	daemon.kill()
	open := bench.shut()
	daemon = daemon.again()
	daemon.awaitLog("running a turn of an earlier process again", 1)
	p.press(p.person, p.where, asked, "Approve")
	daemon.awaitLog("a tool call was decided", 1)
	open()
	bench.awaitCall("order", p.party)
	bench.letGo("order", p.party)
	daemon.awaitLog("turn ended", 1)
	t.Log(p.transcript())
	if m := p.checkFinal(saysAll); m.id != asked.id || bench.runs("order", p.party) != 1 {
		t.Errorf("the tool ran %d times, the answer stands in message %s and began in %s", bench.runs("order", p.party), m.id, asked.id)
	}
}
