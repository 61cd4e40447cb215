package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"telex/internal/chat"
	"telex/internal/store/memory"
)

// written is a message that somebody wrote.
type written struct {
	say

	update    int // the first of the platform's updates with it, counted from 1
	accepted  time.Time
	heard     time.Time // when the process that answers learned of it
	heardLast time.Time // when the newest one did
	taken     int       // how many were accepted before, and this one
	dropped   time.Time
	wrote     time.Time
	droppedBy *life
	receiver  *life       // which accepted it
	edits     []time.Time // by its writer
	stops     string      // the turn whose draft has the button that was pressed; empty: it is no such press
	joined    bool        // it was put to a turn that ran, ahead of what waited
}

// world is one schedule as it is played.
type world struct {
	s     schedule
	began time.Time
	store *memory.Store // outlives every process

	mu        sync.Mutex
	person    person
	lives     []*life
	killed    map[int]bool
	settled   bool // nothing is left to do, and nothing that was not for the bot is offered again: it may be by now, and nobody would wait for the answer
	downUntil time.Time
	fullUntil time.Duration

	messages  []*written
	updates   []chat.Inbound
	acked     int
	taking    int           // the update that the process takes next; platforms offer some again that were acknowledged
	newUpdate chan struct{} // closed and replaced when there are more

	turns       map[string]*turnLog
	order       []*turnLog
	calls       []*call
	arrivals    []*call
	failed      []*call // that never left their process
	told        []block
	penalties   []penalty
	blocks      []chat.Block
	moved       map[chat.ChatID]chat.ChatID
	movedAt     time.Time
	bad         map[string]time.Time // until when the platform fails with one message
	reminded    time.Time
	reminders   int       // how often
	knocked     time.Time // when a stranger was given a code last
	texts       int       // calls but for typing
	indicators  int
	writes      int
	hooks       []hook
	paces       map[chat.UserID][]time.Time // the turns of people that were counted
	counted     map[turnsOf]int
	agreed      int // writes by which replicas agree
	signalsLost atomic.Int64
	ids         int
	inbox       int // messages that were accepted

	questions []*question
	consents  []consented
	deeds     map[string]*deed
	done      int               // effects of calls
	readAs    map[string]string // Markdown that a model wrote before calls or at its end, and what a person reads of it
	reacted   int
	thinking  int // reactions that will come

	counts counts
	notes  []string
	wrong  []string
}

func newWorld(s schedule) *world {
	return &world{
		s: s, began: time.Now(), store: memory.New(), killed: map[int]bool{}, newUpdate: make(chan struct{}),
		paces: map[chat.UserID][]time.Time{}, counted: map[turnsOf]int{}, deeds: map[string]*deed{}, readAs: map[string]string{}, turns: map[string]*turnLog{}, moved: map[chat.ChatID]chat.ChatID{}, bad: map[string]time.Time{},
		person: person{drafts: map[chat.Target]version{}, ids: map[chat.Target]int64{}}, counts: counts{},
	}
}

// complain notes a violation. The caller holds the mutex.
func (w *world) complain(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf("at %.3f: ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf("%10.3f -- ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) log(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(format, args...)
}

// happening is something at a time of the schedule.
type happening struct {
	at time.Duration
	do func()
}

// play plays the schedule to its end and returns what is wrong. It must be called in a bubble.
func (s schedule) play(*testing.T) *world {
	w := newWorld(s)
	for slot := range max(1, s.replicas) {
		w.begin(slot)
	}
	for _, h := range w.happenings() {
		time.Sleep(h.at - time.Since(w.began))
		h.do()
	}
	w.settle()
	w.mu.Lock()
	n := len(w.calls)
	w.settled = true
	w.mu.Unlock()
	if s.replicas == 0 { // F38, F45: nothing comes after the end
		time.Sleep(time.Hour)
	} else {
		time.Sleep(time.Minute)
	}
	synctest.Wait()
	w.mu.Lock()
	if len(w.calls) != n {
		w.complain("F38: %d calls after everything had ended", len(w.calls)-n)
	}
	lives := slices.Clone(w.lives)
	w.mu.Unlock()
	for _, l := range lives { // all at once: the next receiver would be offered again what nobody was to answer, and might answer it now
		l.cancel()
	}
	for _, l := range lives {
		<-l.ended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judge()
	return w
}

// happenings returns what happens at times, in order.
func (w *world) happenings() []happening {
	var list []happening
	for i, s := range w.s.says {
		w.messages = append(w.messages, &written{say: s})
		list = append(list, happening{s.at, func() { w.write(i) }})
		if s.again {
			list = append(list, happening{s.at + time.Second, func() { w.write(i) }})
		}
	}
	for i := range w.s.kills {
		k := &w.s.kills[i]
		switch k.where {
		case atTime:
			list = append(list, happening{k.at, func() {
				if l := w.alive(k.slot); l != nil {
					l.die(k)
				}
			}})
		case inOrder:
			list = append(list, happening{k.at, func() { w.stop(k) }})
		}
	}
	for _, a := range w.s.accidents {
		list = append(list, happening{a.at, func() { w.happen(a) }})
	}
	slices.SortStableFunc(list, func(a, b happening) int { return int(a.at - b.at) })
	return list
}

// happen lets something happen to a chat.
func (w *world) happen(a accident) {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := w.target(a.place)
	switch a.kind {
	case "delete":
		if m := w.person.newest(to.Chat); m != nil {
			m.deletedBy = "person"
			w.counts.add("fault: the person deletes a message", 1)
			w.note("the person deletes %s", m.id)
		}
	case "edit":
		w.edit(a.place)
	case "full":
		w.fullUntil = time.Since(w.began) + a.lasts
	case "move":
		if next := to.Chat + "moved"; to.Kind == chat.Group && w.moved[to.Chat] == "" && to.Chat == "group" {
			w.moved[to.Chat], w.movedAt = next, time.Now()
			w.counts.add("fault: chat moved", 1)
			w.note("%s moves to %s", to.Chat, next)
		}
	}
}

// edit lets a person edit the newest question of a place.
func (w *world) edit(place int) {
	for _, in := range slices.Backward(w.updates) {
		if m := w.messages[numberOf(in.ID)]; m.place == place && m.kind == "text" {
			m.edits = append(m.edits, time.Now())
			in.Kind, in.Text, in.Resume = chat.Edited, in.Text+" edited", number(len(w.updates)+1)
			w.counts.add("questions that people edit", 1)
			w.note("%s edits %s", m.user, in.ID)
			w.offer(in)
			return
		}
	}
}

// target is where a place is now. Places 1 and 2 are threads of one group.
func (w *world) target(place int) chat.Target {
	homes := [...]chat.Target{{Chat: "ann"}, {Chat: "group", Kind: chat.Group}, {Chat: "group", Thread: "t", Kind: chat.Group}}
	to := chat.Target{Chat: chat.ChatID("other" + number(place))}
	if place < len(homes) {
		to = homes[place]
	}
	if next, moved := w.moved[to.Chat]; moved {
		to.Chat = next
	}
	return to
}

// tooBig is longer than any message may be, in bytes.
const tooBig = 64<<10 + 1

// placeOf is the place of a conversation, whatever the id of its chat was or is.
func (w *world) placeOf(c chat.ChatID, thread chat.ThreadID) int {
	for place := range w.s.places {
		to := w.target(place)
		if to.Thread == thread && (to.Chat == c || to.Chat == w.moved[c]) {
			return place
		}
	}
	return 0
}

// write lets somebody write message n, perhaps once more.
func (w *world) write(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeLocked(n)
}

func (w *world) writeLocked(n int) {
	m := w.messages[n]
	if m.update > 0 { // the platform offers it again
		again := w.updates[m.update-1]
		again.Resume = number(len(w.updates) + 1)
		w.offer(again)
		return
	}
	m.update, m.wrote = len(w.updates)+1, time.Now()
	in := chat.Inbound{
		To: w.target(m.place), Sender: chat.Sender{ID: m.user}, ID: chat.MessageID("m" + number(n)),
		Text: "q" + number(n) + "q", Addressed: !m.unnamed, Follows: m.unnamed, Resume: number(len(w.updates) + 1), At: time.Now(), More: m.more,
	}
	in.Reply = in.To.Kind == chat.Group
	w.note("%s writes m%d in %s: %s %s", m.user, n, in.To.Chat, m.kind, m.args)
	draft := int64(0)
	if m.kind == "stop" && m.user != stranger {
		draft, m.stops = w.person.button(in.To)
	}
	if draft != 0 { // the button is nearer than the command
		in.Kind, in.Action, in.Text = chat.Button, chat.DraftAction(draft), ""
		w.counts.add("presses of the button of a draft", 1)
		w.offer(in)
		return
	}
	switch m.kind {
	case "text":
	case "yes":
		in.Text = "Yes!"
	case "no":
		in.Text = "no"
	case "press":
		in.Kind, in.Action, in.Text = chat.Button, m.args, ""
	case "big":
		in.Text = strings.Repeat(in.Text, tooBig/len(in.Text)+1)
	default:
		in.Kind, in.Command, in.Text, in.Args = chat.Command, m.kind, "/"+m.kind, m.args
	}
	w.offer(in)
}

// offer is one more update of the platform.
func (w *world) offer(in chat.Inbound) {
	w.updates = append(w.updates, in)
	close(w.newUpdate)
	w.newUpdate = make(chan struct{})
}

// update returns the platform's i-th update, or what is closed once there are more.
func (w *world) update(i int) (*chat.Inbound, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i < len(w.updates) {
		return &w.updates[i], nil
	}
	return nil, w.newUpdate
}

func (w *world) outageNow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outage() != nil
}

// repeat returns the first update that a process is offered: some that were acknowledged are offered again.
func (w *world) repeat() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taking = w.acked; !w.settled {
		w.taking = max(0, w.acked-w.s.repeats)
	}
	return w.taking
}

// acknowledge says that a process took update i.
func (w *world) acknowledge(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taking, w.acked = i+1, max(w.acked, i+1)
}

// accepted notes that a message is stored.
func (w *world) accepted(in chat.Inbound) {
	m := w.messages[numberOf(in.ID)]
	w.judgeStored(m, in)
	if !m.accepted.IsZero() {
		w.complain("F50: message %s is accepted twice", in.ID)
	}
	w.inbox++
	m.accepted, m.taken = time.Now(), w.inbox
	if w.s.replicas == 0 {
		m.heard, m.heardLast = m.accepted, m.accepted
	}
	w.note("m%d is accepted", numberOf(in.ID))
}

func numberOf(id chat.MessageID) int {
	n := 0
	_, _ = fmt.Sscanf(string(id), "m%d", &n)
	return n
}

// mostTime is how long a schedule may take: longer than any wait that a fault asks for.
const mostTime = 50 * time.Hour

// settle waits until nothing is left to do.
func (w *world) settle() {
	most := mostTime
	if w.s.replicas > 0 {
		most = 4 * time.Hour // no answer takes longer
	}
	for step := time.Second; time.Since(w.began) < most; step = min(2*step, time.Minute) {
		if w.idle() {
			return
		}
		w.remind()
		time.Sleep(step)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complain("things are left to do after %v", most)
}

// quiet is how long there are no calls although something is left to do: longer than any wait that a fault asks for.
const quiet = 70 * time.Minute

// remind lets somebody write where something is left to do, and nobody tries any more: what could not be shown in its
// time waits for the next message. In a chat that moved nobody writes: where no call told the process of the move, it waits for the
// next process.
func (w *world) remind() {
	if w.remindLocked(); len(w.moved) > 0 && w.reminders == 2 {
		w.reminders++
		for slot := range max(1, w.s.replicas) {
			w.stop(&kill{where: inOrder, slot: slot})
		}
	}
}

func (w *world) remindLocked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	quiet := quiet
	if w.s.replicas > 0 {
		quiet = 17 * time.Minute // longer than a final is tried
	}
	if n := len(w.calls); n > 0 && time.Since(w.calls[n-1].at) < quiet || time.Since(w.reminded) < quiet {
		return
	}
	w.reminded = time.Now()
	w.reminders++
	for _, t := range w.order {
		if t.released.IsZero() && t.ended.IsZero() {
			w.except(waitsForNext)
			w.messages = append(w.messages, &written{say: say{place: t.place, user: "ann", kind: "help"}})
			w.writeLocked(len(w.messages) - 1)
		}
	}
}

// idle says that every update is taken and every turn has ended.
func (w *world) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.thinking > 0 || w.acked < len(w.updates) || w.taking < w.acked || time.Now().Before(w.downUntil.Add(time.Second)) || len(w.left()) > 0 {
		return false
	}
	return true
}
