//go:build !race

package main

import "testing"

// TestHostileMCPServers runs the built program with MCP servers that misbehave. The servers send huge, malformed or
// false data, respond slowly, flood the daemon with messages, or start other processes. A person asks for two calls to
// each server. The operator has approved the tool dig in advance. The tool wipe falsely claims to be read-only, and
// nobody has approved the tool. The daemon must answer every question, need little memory and make no other calls. The
// daemon must leave no process behind, whether it is stopped or killed.
func TestHostileMCPServers(t *testing.T) {
	t.Parallel()
	all := hostileCases()
	if len(all) < 100 {
		t.Errorf("there are %d cases", len(all))
	}
	sum := &figures{}
	t.Cleanup(func() {
		t.Logf("%d cases: %d questions answered, %d calls that were asked for, %d that were not, %d processes left, peak memory %d MiB (%s)",
			sum.cases, sum.answers, sum.calls, sum.unasked, sum.processes, sum.peak>>20, sum.worst)
	})
	meetAll(t, buildTelex(t), all, sum)
}
