package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// counts maps the name of each situation to the number of its occurrences.
type counts map[string]int

func (c counts) add(what string, n int) { c[what] += n }

// total adds up the counts of many schedules.
type total struct {
	mu     sync.Mutex
	counts counts
}

func (t *total) add(c counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, n := range c {
		t.counts.add(k, n)
	}
}

func (t *total) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&b, "%9d  %s\n", t.counts[k], k)
	}
	return b.String()
}

// situations returns the situations that must occur in a large set of schedules. If a situation never occurs, the
// schedules do not test it.
func situations() []string {
	return []string{
		"tool calls: " + look, "tool calls: " + change, "tool calls: " + alter,
		"questions: approved", "questions: denied", "questions: nobody decided in time", "standing approvals",
		"effects that were approved", "effects that were approved once for all",
		"answers: denied", "answers: nobody decided", "answers: not run", "answers: unknown",
		"turns that went on behind their calls",
		"questions that stay: nothing can be changed there", "questions that stand apart",
		"kill: " + beforeWrite, "kill: " + afterWrite,
		"reactions: " + doApprove, "reactions: " + doAlways, "reactions: " + doOld, "reactions: yes", "reactions: /approve",
		"reactions to what is decided", "questions that people edit", "questions in a thread that don't name the bot",
		"rich messages",
		"fault: " + isForbidden, "fault: " + isAuth, "fault: " + isBad,
	}
}

// rareSituations returns the situations that must occur in a full set of schedules, but may be missing in the small set
// that CI plays. In the small set, each rare situation occurs only about ten times, and the exact number depends on the
// order in which goroutines run.
func rareSituations() []string {
	return []string{
		"kill: " + beforeDeed, "kill: " + afterDeed,
		"reactions: " + doDeny, "reactions: no", "reactions: /deny", "reactions: /approve id", "reactions: text",
		"reactions: stop", "reactions: new", "reactions while nobody is there", "reactions by an admin", "reactions by somebody else",
		"questions that a later process asks again", "presses of the button of a draft",
	}
}

// situationsOfReplicas returns the additional situations of schedules in which several processes share the store.
func situationsOfReplicas() []string {
	return []string{
		"kill: " + leaseLost, "kill: " + inOrder, "turns that another replica takes", "messages that another replica received",
		"edits that are passed to the owner of the chat", "clocks that differ",
		withoutStore, withoutPlatform, pausedReplica, signalLost, answerLost,
	}
}

// The constant enough is the number of schedules after which each situation, except a rare one, must have occurred.
const enough = 800

// The constant all is the number of schedules after which each rare situation must have occurred. After so many
// schedules, the judge must also have used each exception, except those of rareExceptions. An exception that no
// schedule needs could hide real faults.
const all = 22_500

// missing returns the situations that should have occurred and did not. If replicas is true, missing also checks the
// situations of schedules with replicas. missing returns nothing if fewer schedules were played than the constant
// enough says, or if a kind of platform had no schedule.
func (t *total) missing(replicas bool) (none []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts["schedules"] < enough || slices.ContainsFunc(kinds(), func(k kind) bool { return t.counts["schedules: "+k.name] == 0 }) {
		return nil
	}
	want := situations()
	if replicas {
		want = append(want, situationsOfReplicas()...)
	}
	if t.counts["schedules"] >= all {
		want = append(want, rareSituations()...)
		rare := rareExceptions()
		for e := range exceptions() {
			if _, named := rare[e]; !named {
				want = append(want, "exception: "+string(e))
			}
		}
	}
	for _, s := range want {
		if t.counts[s] == 0 {
			none = append(none, s)
		}
	}
	return none
}

// summarize counts the situations that occurred in a schedule after it was played.
func (w *world) summarize() {
	w.counts.add("schedules", 1)
	w.counts.add("schedules: "+w.s.kind.name, 1)
	w.counts.add("schedules by measure: "+string(w.s.measure), 1)
	w.counts.add("schedules by style: "+string(w.s.style), 1)
	w.counts.add("processes", len(w.lives))
	w.counts.add("clocks that differ", len(w.s.clocks))
	w.counts.add(signalLost, int(w.signalsLost.Load()))
	w.counts.add("calls", len(w.calls))
	w.counts.add("turns", len(w.order))
	w.counts.add("messages that people wrote", len(w.messages))
	for _, t := range w.order {
		if !t.released.IsZero() {
			w.counts.add("reply: none, asked again with the next message", 1)
		}
	}
}
