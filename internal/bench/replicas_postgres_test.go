//go:build postgres

package main

import (
	"bytes"
	"testing"
	"time"
)

// TestPostgreSQLReplicas checks that the measurement of several daemons on one database works. The test's loads are too small
// for meaningful figures.
func TestPostgreSQLReplicas(t *testing.T) {
	t.Parallel()
	binary := buildTelex(t)
	list := []scenario{
		{name: "crowd", loads: []load{{5, 60}}, replicas: []int{2}},
		{name: "busy", replicas: []int{2}, busy: busy{people: 20, bots: 2, length: 2 * time.Second}},
		{name: "hourly", replicas: []int{2}, hourly: hourly{conversations: 100, bots: 2, hours: 2, hour: 2 * time.Second}},
	}
	var out bytes.Buffer
	results, err := runAll(t.Context(), list, binary, len(list), &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	measured := make(map[string]map[measure]float64)
	for _, r := range results {
		measured[r.Scenario+" "+r.Bot] = r.Figures
		for _, m := range []measure{lost, doubled, tooMany, violations} {
			if r.Figures[m] != 0 {
				t.Errorf("%s, %s: %s is %v, want 0", r.Scenario, r.Bot, m, r.Figures[m])
			}
		}
	}
	for name, figures := range map[string][]measure{
		"crowd telex":          {stalenessMean, cpuPerThousand},
		"crowd PostgreSQL, 2":  {stalenessMean, stalenessToOne, cpuPerThousand, peakMemory},
		"busy telex":           {answersPerSecond, cpuPerAnswer},
		"busy PostgreSQL, 2":   {answersPerSecond, cpuPerAnswer},
		"hourly PostgreSQL, 2": {statementsFirst, statementsLast, statementGrowth, idleStatements, restStatements, peakMemory},
	} {
		for _, m := range figures {
			if measured[name][m] <= 0 {
				t.Errorf("%s: %s is %v, want it measured", name, m, measured[name][m])
			}
		}
	}
}
