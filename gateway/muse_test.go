package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telex/agent"
	"telex/gateway"
)

// muser is a Runner that sends thoughts before text.
type muser struct{}

func (muser) Run(_ context.Context, _ agent.Turn, emit func(agent.Event)) (agent.Result, error) {
	for _, thought := range []string{"The person asks for the tides. ", "The moon matters. ", "So does"} {
		emit(agent.Reasoning{Delta: thought})
		time.Sleep(4 * time.Second)
	}
	emit(agent.Text{Delta: "High water is "})
	time.Sleep(4 * time.Second)
	emit(agent.Text{Delta: "at six."})
	return agent.Result{Text: "High water is at six.", Stop: agent.StopDone}, nil
}

func TestThinkingIsShownIfConfigured(t *testing.T) {
	for _, aloud := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := open(t, func(o *gateway.Options) { o.Runner, o.ShowReasoning = muser{}, aloud })
			h.say(t, ask("tides?"))
			later(20 * time.Second)
			equal(t, "messages", h.sees(), []string{"High water is at six."})
			versions := strings.Join(h.messages[0].versions, " | ")
			for _, thought := range []string{"asks for the tides", "The moon matters"} {
				if strings.Contains(versions, thought) != aloud {
					t.Errorf("aloud %t: a person saw %s", aloud, versions)
				}
			}
			if strings.Contains(versions, "So does") {
				t.Errorf("half a thought was shown: %s", versions)
			}
		})
	}
}
