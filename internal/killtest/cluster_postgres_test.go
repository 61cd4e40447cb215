//go:build postgres

package main

import (
	"bytes"
	"testing"
	"time"
)

// Several daemons share a database, and the test kills, pauses and restarts some of them. Everybody must nevertheless see the
// answer to every question, and no other text of the bot. The test uses fewer daemons and fewer people than `make cluster`.
func TestPostgreSQLCluster(t *testing.T) {
	t.Parallel()
	binary := buildTelex(t)
	short := clusterOptions{
		binary: binary, replicas: 3, chats: 30, length: 50 * time.Second, every: 25 * time.Second, think: 15 * time.Second, seed: 1,
	}
	rolling := short
	rolling.rolling = true
	for name, o := range map[string]clusterOptions{"killed": short, "restarted in order": rolling} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			r, err := o.run(t.Context(), &out)
			if err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			r.print(&out)
			t.Log("\n" + out.String())
			if r.talkVerdict.bad() {
				t.Errorf("got %+v, want nothing lost, doubled, unfinished, out of order, beyond a limit, or otherwise wrong", r.talkVerdict)
			}
			// Allow twice the maximum recovery time, because the machine may be busy.
			if r.Recovery.Max > 2*maxRecovery.Seconds() {
				t.Errorf("replies were taken up after %+v", r.Recovery)
			}
			for name, stood := range r.Disturbed {
				if most := r.Quiet[name].P99 + 2*maxInterruption.Seconds(); o.rolling && stood.Max > most {
					t.Errorf("on %s, replies stood still for %+v, want at most %v s", name, stood, most)
				}
			}
			if least := map[bool]int{false: 2, true: 3}[o.rolling]; len(r.Events) < 2*least || r.Answers < o.chats {
				t.Errorf("%d events and %d answers are too few to show anything", len(r.Events), r.Answers)
			}
			if len(r.ByReplica) != o.replicas {
				t.Errorf("got answers of %v, want all %d replicas to answer", r.ByReplica, o.replicas)
			}
		})
	}
}
