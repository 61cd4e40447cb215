package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"telex/standin/discord"
	"telex/standin/openai"
)

// In TestThreePlatforms, one daemon answers thirty people at once on three platforms. The daemon must stay within the
// limits that each platform publishes.
func TestThreePlatforms(t *testing.T) {
	t.Parallel()
	const each = 10
	networks, model, daemon := startPlatforms(t)
	asked := make(map[string]map[string]string) // questions by platform name and conversation
	for _, n := range networks {
		asked[n.name] = make(map[string]string)
		for i := range each {
			question := fmt.Sprintf("words: %d", 90+7*i+len(n.name))
			asked[n.name][n.ask(i, question)] = question
		}
	}
	daemon.awaitLog("turn ended", len(networks)*each)
	lastToken := make(map[string]time.Time)
	for _, r := range model.requests() {
		lastToken[r.Question] = r.LastToken
	}
	for _, n := range networks {
		for where, question := range asked[n.name] {
			var texts []string
			for _, versions := range n.sees(where) {
				texts = append(texts, versions[len(versions)-1])
				for _, v := range versions[:len(versions)-1] {
					if !strings.HasSuffix(v, strings.TrimSpace(cursor)) {
						t.Errorf("%s: a preview without a cursor: %q", n.name, v)
					}
				}
			}
			if got := strings.Join(texts, " "); got != openai.Answer(question) {
				t.Errorf("%s: %q is answered with\n%q, want\n%q", n.name, question, texts, openai.Answer(question))
			}
		}
		var stats struct {
			Calls           int            `json:"calls"`
			Edits           int            `json:"edits"`
			TooManyRequests int            `json:"too_many_requests"`
			Violations      map[string]any `json:"violations"`
		}
		text := n.get("/control/stats")
		if err := json.Unmarshal([]byte(text), &stats); err != nil {
			t.Fatalf("%s: %v", n.name, err)
		}
		if stats.TooManyRequests != 0 {
			t.Errorf("%s: %d calls were answered 429: %s", n.name, stats.TooManyRequests, text)
		}
		if stats.Edits == 0 {
			t.Errorf("%s: nothing was shown while it was written", n.name)
		}
		for kind, count := range stats.Violations {
			if n, ok := count.(float64); ok && n != 0 {
				t.Errorf("violation: %s: %v", kind, count)
			}
		}
		t.Logf("%-8s %d conversations, %d calls, %d edits, %d of them answered 429", n.name, each, stats.Calls, stats.Edits, stats.TooManyRequests)
	}
	t.Logf("memory of the daemon: %s", memoryOf(t, daemon))
	daemon.stop()
}

// memoryOf returns the memory figures that Linux reports for a process. On other systems, memoryOf returns an error
// text.
func memoryOf(t *testing.T, p *process) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return "unknown: " + err.Error()
	}
	var out []string
	for line := range strings.Lines(string(status)) {
		if name, size, _ := strings.Cut(line, ":"); name == "VmHWM" || name == "VmRSS" {
			out = append(out, name+" "+strings.TrimSpace(size))
		}
	}
	return strings.Join(out, ", ")
}

// In TestUncertainSends, connections are cut after the platform has received a message. No answer may be duplicated,
// because telex searches the platform for the message or, on Telegram, tests with an edit whether it exists (D5, F13).
func TestUncertainSends(t *testing.T) {
	t.Parallel()
	networks, _, daemon := startPlatforms(t)
	creates := map[string]string{"telegram": "sendMessage", "discord": "createMessage", "slack": "chat.postMessage"}
	const each = 4
	asked := make(map[string][]string)
	questions := make(map[string]string)
	for _, n := range networks {
		n.post("/control/fault", map[string]any{"method": creates[n.name], "times": each, "action": "cut_after"})
		for i := range each {
			question := fmt.Sprintf("words: %d", 60+7*i+len(n.name))
			where := n.ask(i, question)
			asked[n.name] = append(asked[n.name], where)
			questions[n.name+where] = question
		}
	}
	for _, n := range networks {
		for _, where := range asked[n.name] {
			answer := openai.Answer(questions[n.name+where])
			shown := n.await(where, answer)
			if len(shown) > 1 {
				t.Errorf("%s: %d messages, want one: %q", n.name, len(shown), shown)
			}
		}
	}
	daemon.stop()
	if logged := daemon.logged("a message of unknown outcome may stand beside the reply"); len(logged) > 0 {
		t.Errorf("the log says %v", logged)
	}
	t.Logf("%d answers, %d creates cut after they took effect", len(networks)*each, len(networks)*each)
}

// In TestDiscordGatewayDrops, the connection to the gateway is cut again and again, and Discord sometimes refuses to
// resume the session. The bot must answer each question exactly once, even one that a person asks while the connection
// is cut.
func TestDiscordGatewayDrops(t *testing.T) {
	t.Parallel()
	networks, _, daemon := startPlatforms(t)
	d := networks[1]
	const drops = 20
	var places, answers []string
	for i := range drops {
		if i%10 == 9 { // Discord will discard the session, and without the session, the bot would miss a person's first message
			d.await(places[i-1], answers[i-1])
		}
		question := fmt.Sprintf("words: %d", 20+i)
		places, answers = append(places, d.ask(i, question)), append(answers, openai.Answer(question))
		if i%10 == 9 { // the session is lost, so a new one begins and reads the missed messages
			d.post("/control/gateway", discord.Disturbance{Kind: discord.GatewayRefuse, Times: 1})
		}
		before := decode[discord.Stats](d.remote, "/control/stats")
		d.post("/control/gateway", discord.Disturbance{Kind: discord.GatewayDrop})
		d.awaitEvent("the gateway is connected again", func() bool {
			now := decode[discord.Stats](d.remote, "/control/stats")
			return now.Resumes+now.Identifies > before.Resumes+before.Identifies
		})
	}
	for i, where := range places {
		if shown := d.await(where, answers[i]); len(shown) != 1 {
			t.Errorf("%d messages, want 1: %q", len(shown), shown)
		}
	}
	stats := decode[discord.Stats](d.remote, "/control/stats")
	if stats.Violations.Total() != 0 {
		t.Errorf("violations: %+v", stats.Violations)
	}
	t.Logf("%d drops: %d resumes, %d refused, %d identifies, %d events replayed", drops, stats.Resumes, stats.RefusedResumes, stats.Identifies, stats.Replayed)
	daemon.stop()
}

// In TestKilledOnThreePlatforms, the daemon is killed again and again while people ask questions on three platforms.
// Every question must be answered, even one that was sent while no daemon ran. On platforms that recognize repeated
// creates, no question may be answered twice (D10, F43, F44).
func TestKilledOnThreePlatforms(t *testing.T) {
	t.Parallel()
	networks, _, daemon := startPlatforms(t)
	asked := make(map[string]map[string][]string) // answers by platform name and conversation
	for _, n := range networks {
		asked[n.name] = make(map[string][]string)
	}
	ask := func(round int) {
		for _, n := range networks {
			question := fmt.Sprintf("words: %d", 40+6*round+len(n.name)) // short enough for one message on each platform
			where := n.ask(round%4, question)
			asked[n.name][where] = append(asked[n.name][where], openai.Answer(question))
		}
	}
	complete := func(n network, where string) bool {
		var shown []string
		for _, versions := range n.sees(where) {
			shown = append(shown, versions[len(versions)-1])
		}
		want := asked[n.name][where]
		if n.name == "telegram" { // on Telegram, a duplicate is possible and not an error
			shown = slices.DeleteFunc(shown, func(text string) bool { return !slices.Contains(want, text) })
			shown = slices.Compact(shown)
		}
		return slices.Equal(shown, want)
	}
	await := func() {
		t.Helper()
		for _, n := range networks {
			for where, want := range asked[n.name] {
				n.awaitEvent(fmt.Sprintf("%s: %d answers", n.name, len(want)), func() bool { return complete(n, where) },
					func() string { return fmt.Sprintf("%q is seen, want %q", n.sees(where), want) })
			}
		}
	}
	ask(0) // after this round, the store has a position for every endpoint from which the endpoint can continue to receive
	await()
	random := rand.New(rand.NewPCG(20, 26))
	const kills = 8
	for round := 1; round <= kills; round++ {
		ask(round)
		if random.IntN(2) == 0 { // in half of the rounds, wait, so that the answer may have begun when the daemon is killed
			time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond) // processes have no virtual time
		}
		daemon.signal(syscall.SIGKILL)
		<-daemon.ended
		if round%3 == 0 {
			ask(round + kills) // these questions are sent while no daemon runs
		}
		daemon = daemon.again()
		if round%2 == 0 {
			await()
		}
	}
	await()
	daemon.stop()
	for _, n := range networks {
		for where := range asked[n.name] {
			if !complete(n, where) {
				t.Errorf("%s: %q does not stand any more", n.name, asked[n.name][where])
			}
		}
	}
	t.Logf("%d kills, %d questions", kills, len(networks)*(1+kills+kills/3))
}
