package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"telex/gateway"
)

// At the end of a schedule, the simulation stops all processes. When the receiving process stops, the platform delivers
// the last updates again to the next receiver. The bot may now have to answer a message that it ignored before. No turn
// may begin from a message that is delivered again, because the simulation would not wait for the end of the turn.
func TestRegressionReceivesNothingAtTheEnd(t *testing.T) {
	t.Parallel()
	slow := talk("a0w0x a0w1x")
	slow.deltas[1].after = longPause
	s := story("edit", slow, talk("a1w0x"))
	s.replicas, s.kind.caps.OneReceiver, s.follows, s.repeats = 3, true, true, 2
	s.says = []say{{user: "ann", kind: "text", place: thread, unnamed: true}, {user: "ann", kind: "text", place: thread}}
	// When the simulation ends, the first process is the one that receives updates. The second process stops slowly,
	// and the third process could become the receiver in the meantime.
	s.kills = []kill{
		{where: atTime, slot: 1, at: time.Millisecond, down: 10 * time.Second}, {where: atTime, slot: 2, at: time.Millisecond, down: 11 * time.Second},
	}
	s.cuts = []cut{{slot: 1, what: cutStore, from: 74500 * time.Millisecond, until: 78 * time.Second}}
	perform(t, s)
}

// The receiving process dies after every turn has ended. The platform delivers the last updates again to the next
// receiver, and no turn may begin from them.
func TestRegressionReceivesNothingAfterADeath(t *testing.T) {
	t.Parallel()
	for n := range 12 { // repeated, since it is random which process dies
		t.Run(fmt.Sprint("killed after write ", 150+n), func(t *testing.T) {
			t.Parallel()
			s := story("edit", talk("a0w0x"), talk("a1w0x"))
			s.replicas, s.kind.caps.OneReceiver, s.follows, s.repeats = 2, true, true, 2
			s.says = []say{{user: "ann", kind: "text", place: thread, unnamed: true}, {user: "ann", kind: "text", place: thread}}
			s.kills = []kill{{where: afterWrite, n: 150 + n, down: time.Second}}
			perform(t, s)
		})
	}
}

// D1: a replica is paused while it makes a create call. The next owner of the chat searches for the message before the
// create call takes effect, finds nothing, and sends another message.
func TestRegressionCreateSlowerThanALease(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"edit-and-find", "edit-with-keys-and-find"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := story(kind, talk("a0w0x a0w1x"))
			s.replicas, s.profile.KeyFor, s.config.MinTokens = 2, min(s.profile.KeyFor, time.Second), 100
			s.kills = []kill{{where: atTime, slot: 1, at: time.Millisecond, down: 7 * time.Second}}
			s.says[0].at = 6 * time.Second // by then, the other replica owns the chat
			s.cuts = []cut{{slot: 0, what: cutAll, from: 6500 * time.Millisecond, until: 30 * time.Second}}
			s.faults = map[int]fault{0: {kind: slowAnswer, after: 14 * time.Second}}
			perform(t, s)
		})
	}
}

// lateEdit returns a schedule in which a replica is paused while it edits a message. The next owner of the chat makes
// the message show the final text before the edit of the paused replica takes effect.
func lateEdit() schedule {
	s := story("edit", talk(numbered(15)))
	s.replicas = 2
	s.kills = []kill{{where: atTime, slot: 1, at: time.Millisecond, down: 7 * time.Second}}
	s.says[0].at = 6 * time.Second // by then, the other replica owns the chat
	s.cuts = []cut{{slot: 0, what: cutAll, from: 7500 * time.Millisecond, until: 30 * time.Second}}
	s.faults = map[int]fault{1: {kind: slowAnswer, after: 9 * time.Second}}
	return s
}

// D10: the edit of a paused replica takes effect after the next owner of the chat has shown the final text. In the end,
// the message must not show the cursor of that edit.
func TestRegressionEditSlowerThanALease(t *testing.T) {
	t.Parallel()
	w := perform(t, lateEdit())
	equal(t, "what the person sees", w.see(0), []string{numbered(15)})
}

// A replica that can't reach the store can't know that another replica accepted a command to stop its answer. Soon
// after the replica can reach the store again, it must stop the answer.
func TestRegressionUndoneBesideTheOwner(t *testing.T) {
	t.Parallel()
	s := story("edit", calling("a0w0x", "a0w1x", change, change))
	s.tools, s.approval, s.replicas = true, time.Hour, 2
	s.reactions = []reaction{{kind: doAlways, after: time.Second}}
	s.kills = []kill{{where: atTime, slot: 1, at: time.Millisecond, down: 6500 * time.Millisecond}}
	s.says[0].at = 6 * time.Second // by then, the other replica owns the chat and receives every second update
	s.says = append(s.says, say{at: 8200 * time.Millisecond, user: "ann", kind: "help"}, say{at: 8500 * time.Millisecond, user: "ann", kind: "undo"})
	s.cuts = []cut{{slot: 0, what: cutStore, from: 8300 * time.Millisecond, until: 9600 * time.Millisecond}}
	if w := perform(t, s); w.effects() != 2 {
		t.Errorf("%d calls took effect\n%s", w.effects(), strings.Join(w.story(), "\n"))
	}
}

// A chat gets a new id, and one replica owns the old chat while another owns the new chat. A message that waits in the
// old chat must not interrupt the answer in the new chat.
func TestRegressionRetryFromBeforeAMove(t *testing.T) {
	t.Parallel()
	for _, waits := range []say{{kind: "retry"}, {kind: "text"}} {
		t.Run(waits.kind, func(t *testing.T) {
			t.Parallel()
			first, second := talk("a0w0x"), talk("a2w0x a2w1x")
			first.deltas[0].after, second.deltas[1].after = time.Minute, 2*time.Minute
			s := story("edit", first, talk("a1w0x"), second)
			s.replicas, s.busy = 2, gateway.Interrupt
			waits.at, waits.place, waits.user = time.Second, 1, "ann"
			s.says = []say{{place: 1, user: "ben", kind: "text"}, waits, {at: 3 * time.Second, place: 1, user: "ann", kind: "text"}}
			s.accidents = []accident{{at: 2 * time.Second, place: 1, kind: "move"}}
			if w := perform(t, s); !slices.Contains(w.see(1), "a2w0x a2w1x") {
				t.Errorf("people see %q", w.see(1))
			}
		})
	}
}

// A process wakes up from a pause in which another process has become the receiver. The awakened process tries to
// receive once more and gets nothing. The end of the simulation must not wait until this process has received all
// updates.
func TestRegressionReceivesNothingAfterAPause(t *testing.T) {
	t.Parallel()
	slow := talk("a0w0x a0w1x")
	slow.deltas[1].after = 20 * time.Second // long enough for the paused process to wake up
	s := story("edit", slow)
	s.replicas, s.kind.caps.OneReceiver, s.repeats = 2, true, 1
	s.kills = []kill{{where: atTime, slot: 1, at: time.Millisecond, down: 8 * time.Second}}
	s.says[0].at = 8500 * time.Millisecond // by then, the other replica is the receiver
	s.cuts = []cut{{slot: 0, what: cutPlatform, from: 8200 * time.Millisecond, until: time.Minute}, {slot: 0, what: cutAll, from: 9 * time.Second, until: 25 * time.Second}}
	perform(t, s)
}

// D10: an edit of a dead replica may still take effect, so the next owner of the chat plans to repeat its own edit to
// the final text. If the next owner stops before it repeats its edit, the following process must repeat the edit. A
// message that arrives while the next owner stops must not make this owner repeat the edit too soon.
func TestRegressionCheckIsLeftWhileStopping(t *testing.T) {
	t.Parallel()
	asks := calling("a1w0x", "a1w1x", change)
	asks.deltas[0].after = 2500 * time.Millisecond // by then, the process is stopping
	s := story("edit", talk(numbered(15)), asks)
	s.replicas, s.tools, s.approval = 2, true, time.Hour
	s.reactions = []reaction{{kind: doAlways, after: 500 * time.Millisecond}}
	s.kills = []kill{
		{where: atTime, slot: 1, at: time.Millisecond, down: 6500 * time.Millisecond},
		{where: atTime, slot: 0, at: 7450 * time.Millisecond, down: 6500 * time.Millisecond},
		{where: inOrder, slot: 1, at: 18 * time.Second, down: time.Second},
	}
	s.says[0].at = 6 * time.Second // by then, the other replica owns the chat
	s.says = append(s.says, say{at: 16 * time.Second, user: "ann", kind: "text"})
	perform(t, s)
}
