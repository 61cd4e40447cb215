//go:build !race

package main

import "testing"

// TestHostileMCPServers runs the built program with tool servers that are huge, slow, malformed, lying, flooding and
// forking, a few at a time. A person asks for two calls of each server's tools: dig, which the operator has approved
// in advance, and wipe, which claims to be read-only and which nobody approved. The daemon answers every question,
// needs little memory, makes no other calls, and leaves no process behind, whether it is stopped or killed.
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
